package duck

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/memory"
	bindings "github.com/duckdb/duckdb-go-bindings"
)

// pair is a 128-bit value as DuckDB stores it, lower half first.
type pair struct{ lower, upper uint64 }

// intervalT is DuckDB's duckdb_interval.
type intervalT struct {
	months, days int32
	micros       int64
}

// format writes the values of a type that leaves as text.
func (c *column) format(vec bindings.Vector, n int, bitmap *memory.Buffer) (offsets, text *memory.Buffer, err error) {
	var one func(i int) string
	switch c.id {
	case bindings.TypeUUID:
		v := values[pair](vec, n)
		one = func(i int) string { return uuidText(v[i]) }
	case bindings.TypeUHugeInt:
		v := values[pair](vec, n)
		one = func(i int) string { return uhugeText(v[i]) }
	case bindings.TypeInterval:
		v := values[intervalT](vec, n)
		one = func(i int) string { return intervalText(v[i]) }
	case bindings.TypeTimeTZ:
		v := values[uint64](vec, n)
		one = func(i int) string { return timeTZText(v[i]) }
	case bindings.TypeBit:
		v := values[stringT](vec, n)
		one = func(i int) string { return bitText(v[i].bytes()) }
	case bindings.TypeEnum:
		index, err := c.enumIndex(vec, n)
		if err != nil {
			return nil, nil, err
		}
		one = func(i int) string { return c.values[index(i)] }
	default:
		return nil, nil, fmt.Errorf("no text form of type %s", c.name)
	}
	ends, out := make([]int32, n+1), []byte{}
	for i := range n {
		if isValid(bitmap, i) {
			out = append(out, one(i)...)
		}
		ends[i+1] = int32(len(out))
	}
	return int32Buffer(ends), memory.NewBufferBytes(out), nil
}

// uuidText undoes the flipped top bit by which DuckDB makes UUIDs sort as signed integers.
func uuidText(v pair) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], v.upper^(1<<63))
	binary.BigEndian.PutUint64(b[8:], v.lower)
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func uhugeText(v pair) string {
	if v.upper == 0 {
		return strconv.FormatUint(v.lower, 10)
	}
	n := new(big.Int).SetUint64(v.upper)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(v.lower)).String()
}

// intervalText follows DuckDB: parts that are zero are left out, the time of day is one signed part.
func intervalText(v intervalT) string {
	var parts []string
	unit := func(n int32, name string) {
		if n == 0 {
			return
		}
		if n != 1 && n != -1 {
			name += "s"
		}
		parts = append(parts, strconv.Itoa(int(n))+" "+name)
	}
	unit(v.months/12, "year")
	unit(v.months%12, "month")
	unit(v.days, "day")
	if v.micros != 0 || len(parts) == 0 {
		parts = append(parts, clockText(v.micros))
	}
	return strings.Join(parts, " ")
}

const (
	microsPerSecond = 1_000_000
	secondsPerHour  = 3600
)

// clockText writes micros as [-]HH:MM:SS[.ffffff], hours unbounded, the fraction without trailing zeros.
func clockText(micros int64) string {
	sign, abs := "", uint64(micros)
	if micros < 0 {
		sign, abs = "-", -uint64(micros)
	}
	secs, frac := abs/microsPerSecond, abs%microsPerSecond
	s := fmt.Sprintf("%s%02d:%02d:%02d", sign, secs/secondsPerHour, secs/60%60, secs%60)
	if frac == 0 {
		return s
	}
	return s + "." + strings.TrimRight(fmt.Sprintf("%06d", frac), "0")
}

// timeTZText unpacks 40 bits of micros and 24 bits of zone, which counts down from the largest offset so that values sort.
func timeTZText(v uint64) string {
	const maxOffset = 16*secondsPerHour - 1
	offset := maxOffset - int(v&(1<<24-1))
	sign := "+"
	if offset < 0 {
		sign, offset = "-", -offset
	}
	zone := fmt.Sprintf("%s%02d", sign, offset/secondsPerHour)
	if rest := offset % secondsPerHour; rest != 0 {
		zone += fmt.Sprintf(":%02d", rest/60)
		if rest%60 != 0 {
			zone += fmt.Sprintf(":%02d", rest%60)
		}
	}
	return clockText(int64(v>>24)) + zone
}

// bitText reads DuckDB's BIT: the first byte counts the padding bits at the front of the second.
func bitText(b []byte) string {
	if len(b) < 2 {
		return ""
	}
	var sb strings.Builder
	for i := int(b[0]); i < (len(b)-1)*8; i++ {
		sb.WriteByte('0' + b[1+i/8]>>(7-i%8)&1)
	}
	return sb.String()
}
