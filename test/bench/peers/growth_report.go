package main

import (
	"fmt"
	"strconv"
	"strings"
)

func writeGrowth(b *strings.Builder, rows int, f growthFigures) {
	b.WriteString("| |")
	for _, step := range growthSteps {
		fmt.Fprintf(b, " %s rows |", thousands(int(step*float64(rows))))
	}
	b.WriteString(" last step | wanted |\n|---|" + strings.Repeat("---|", len(growthSteps)+2) + "\n")
	writeIntake(b, rows, f.loads)
	for _, q := range f.questions {
		fmt.Fprintf(b, "| %s |", q.name)
		for i := range q.values {
			b.WriteString(" " + q.figure(i) + " |")
		}
		wanted := ""
		if q.name != "count by level" && q.name != "count of everything" {
			wanted = "below rows^0.5"
		}
		fmt.Fprintf(b, " rows^%.2f | %s |\n", exponent(q.values), wanted)
	}
	b.WriteString("\n| memory with the most rows | peak | allowed | of which (MiB) |\n|---|---|---|---|\n")
	for _, m := range f.memory {
		fmt.Fprintf(b, "| %s | %d MiB | %d MiB | %s |\n", m.name, m.peak/mebi, m.bound/mebi, m.why)
	}
	fmt.Fprintf(b, "\n| %s rows in %d requests | CPU to settled | ratio | segments | wanted |\n", thousands(rows), spreads)
	b.WriteString("|---|---|---|---|---|\n")
	for i, s := range f.spread {
		cpu, ratio, wanted := s.median(), "1", ""
		if i > 0 {
			ratio, wanted = strconv.FormatFloat(cpu/f.spread[0].median(), 'f', 2, 64), "≤ 1.5"
		}
		fmt.Fprintf(b, "| %s | %s s | %s | %.0f | %s |\n", s.name, number(cpu), ratio, s.segments, wanted)
	}
	for _, q := range f.questions {
		for _, remark := range q.remarks {
			fmt.Fprintf(b, "\n- %s: %s", q.name, remark)
		}
	}
}

func writeIntake(b *strings.Builder, rows int, loads []intake) {
	costs := make([]float64, len(loads)) // µs a row
	b.WriteString("| intake, CPU a row |")
	for i, l := range loads {
		costs[i] = l.cpu.Seconds() * 1e6 / (growthSteps[i] * float64(rows))
		fmt.Fprintf(b, " %.2f µs |", costs[i])
	}
	last := len(costs) - 1
	fmt.Fprintf(b, " %+.0f %% | within 15 %% |\n| intake, peak memory |", 100*(costs[last]/costs[last-1]-1))
	for _, l := range loads {
		fmt.Fprintf(b, " %d MiB |", l.memory/mebi)
	}
	b.WriteString(" | bounded |\n| disk a row |")
	for i, l := range loads {
		fmt.Fprintf(b, " %.0f bytes |", float64(l.disk)/(growthSteps[i]*float64(rows)))
	}
	b.WriteString(" | |\n")
}

// median returns seconds.
func (s *spreadFigure) median() float64 {
	all := make([]float64, len(s.cpu))
	for i, cpu := range s.cpu {
		all[i] = cpu.Seconds()
	}
	return median(all)
}

// thousands writes a number with a comma before every three digits.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
