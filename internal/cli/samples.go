package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// amount writes a count of the tree in its unit.
func (r *reporter) amount(n uint64) string {
	if r.t.Metric.Unit == "ns" {
		return milliseconds(n)
	}
	return commas(n)
}

// milliseconds writes a number of nanoseconds.
func milliseconds(ns uint64) string {
	return fmt.Sprintf("%s.%03d ms", commas(ns/1e6), ns/1e3%1e3)
}

// what names the counts of a tree, for the head of a column.
func what(t *cct.Tree) string {
	if t.Metric.Name == "" {
		return "calls"
	}
	return t.Metric.Name
}

// whole names what a share of a tree is a share of.
func whole(t *cct.Tree) string {
	switch t.Metric.Name {
	case "":
		return "the calls"
	case "cpu":
		return "the time on CPU"
	case "wait":
		return "the time spent waiting"
	}
	return "the samples"
}

// flatSamples prints the functions in which most time was spent: by themselves, and with
// what they called.
func (r *reporter) flatSamples() {
	r.printf("%15s %7s %7s  %s\n", what(r.t), "%", "below%", "function")
	stats, below := r.t.ByFunction(), r.t.InclusiveByFunction()
	for _, s := range stats[:r.cut(len(stats))] {
		r.printf("%15s %s %s  %s\n", r.amount(s.Calls), r.percent(s.Calls), r.percent(below[s.Func]), r.t.Funcs[s.Func].Name)
	}
	r.more(len(stats), "function")
}

// samplingLines tells what was sampled and how, a line for each process that
// was, and what it cost.
func samplingLines(p *profile.Profile) []string {
	if p.Samples == nil {
		return nil
	}
	s := p.Samples
	lines := []string{fmt.Sprintf("%s samples on CPU for %s · %s of waiting goroutines for %s · %s frames in context",
		commas(s.Total(profile.WeightCPUs)), milliseconds(s.Total(profile.WeightCPU)),
		commas(s.Total(profile.WeightWaits)), milliseconds(s.Total(profile.WeightWait)), commas(uint64(len(s.Nodes)-1)))}
	for _, proc := range p.Processes {
		if sm := proc.Sampling; sm != nil {
			lines = append(lines, samplingLine(sm))
		}
	}
	return lines
}

// samplingLine describes the sampler of one process.
func samplingLine(s *profile.Sampling) string {
	line := fmt.Sprintf("%s, walk %s, every %v", s.Sampler, s.Walk, s.Interval)
	if len(s.Latency) > 0 {
		line += fmt.Sprintf(" · latency %v median, %v 99 %%", s.Quantile(0.5), s.Quantile(0.99))
	}
	var counts []string
	for _, st := range s.Stats {
		if st.Kind == "samplerCPU" {
			line += fmt.Sprintf(" · sampler thread %v CPU", time.Duration(st.Count).Round(time.Microsecond))
			continue
		}
		counts = append(counts, commas(st.Count)+" "+st.Kind)
	}
	return line + " · " + strings.Join(counts, ", ")
}
