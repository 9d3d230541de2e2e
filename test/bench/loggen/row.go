package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

const timeLayout = "2006-01-02T15:04:05.000000Z"

// generator makes rows one after the other.
type generator struct {
	random *rand.Rand
	total  int // sum of the services' weights
}

func newGenerator(seed uint64) *generator {
	g := &generator{random: rand.New(rand.NewPCG(seed, seed))}
	for _, s := range services {
		g.total += s.weight
	}
	return g
}

// appendRow appends one line, with its line feed.
func (g *generator) appendRow(b []byte, at time.Time) []byte {
	s := g.service()
	level := g.level()
	message := fmt.Sprintf("%s req=%d user=u%d", g.sentence(s), g.random.IntN(1<<30), g.random.IntN(100_000))

	b = append(b, `{"_time":"`...)
	b = at.UTC().AppendFormat(b, timeLayout)
	b = append(b, `","service":"`...)
	b = append(b, s.name...)
	b = append(b, `","level":"`...)
	b = append(b, level...)
	b = append(b, `","host":"host-`...)
	b = strconv.AppendInt(b, int64(g.random.IntN(50)), 10)
	b = append(b, `","pod":"`...)
	b = append(b, s.name...)
	b = append(b, '-')
	b = strconv.AppendInt(b, int64(g.random.IntN(200)), 10)
	b = append(b, `","trace_id":"`...)
	b = hex.AppendEncode(b, g.traceID())
	b = append(b, `","status":`...)
	b = strconv.AppendInt(b, int64(g.status(level)), 10)
	b = append(b, `,"duration_ms":`...)
	b = strconv.AppendFloat(b, math.Exp(g.random.NormFloat64()*1.2+3), 'f', 3, 64)
	b = append(b, `,"message":`...)
	b = appendString(b, message)
	return append(b, '}', '\n')
}

// appendString appends s as a JSON string.
func appendString(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always marshals
	}
	return append(b, text...)
}

func (g *generator) service() service {
	n := g.random.IntN(g.total)
	for _, s := range services {
		if n -= s.weight; n < 0 {
			return s
		}
	}
	return services[len(services)-1]
}

func (g *generator) level() string {
	switch x := g.random.Float64(); {
	case x < 0.01:
		return "error"
	case x < 0.06:
		return "warn"
	case x < 0.2:
		return "debug"
	default:
		return "info"
	}
}

func (g *generator) status(level string) int {
	switch {
	case level == "error":
		return 500
	case g.random.IntN(20) == 0:
		return 404
	default:
		return 200
	}
}

func (g *generator) traceID() []byte {
	id := make([]byte, 0, 16)
	for range 2 {
		n := g.random.Uint64()
		for i := range 8 {
			id = append(id, byte(n>>(8*i)))
		}
	}
	return id
}

// sentence fills a template of the service: %w is a word, %n a number, %a an address and %h a hexadecimal id.
func (g *generator) sentence(s service) string {
	template := s.templates[g.random.IntN(len(s.templates))]
	var text strings.Builder
	for i := 0; i < len(template); i++ {
		if template[i] != '%' || i+1 == len(template) {
			text.WriteByte(template[i])
			continue
		}
		i++
		switch template[i] {
		case 'w':
			text.WriteString(words[g.random.IntN(len(words))])
		case 'n':
			text.WriteString(strconv.Itoa(g.random.IntN(4000)))
		case 'a':
			fmt.Fprintf(&text, "10.%d.%d.%d", g.random.IntN(4), g.random.IntN(40), g.random.IntN(250))
		case 'h':
			fmt.Fprintf(&text, "%012x", g.random.Uint64N(1<<14)*0x9e3779b1)
		default:
			text.WriteByte(template[i])
		}
	}
	return text.String()
}
