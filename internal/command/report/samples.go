package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/profile"
)

// amount writes a value of the tree in its unit.
func (r *reporter) amount(n uint64) string { return humanize.Amount(r.t.Type, n) }

// SamplingLines returns what was sampled and how, for each process that was, of many for some, and what it cost. What
// is missing is among the [Warnings].
func SamplingLines(p *profile.Profile) []string {
	if !p.Sampled() {
		return nil
	}
	if cct.OfCalls(p) {
		return []string{humanize.Plural(p.Total(profile.Samples), "sample") + " of calls"}
	}
	lines := []string{fmt.Sprintf("%s on CPU for %s · %s of waiting goroutines for %s",
		humanize.Plural(p.Total(profile.Samples), "sample"), humanize.Milliseconds(p.Total(profile.CPU)),
		humanize.Plural(p.Total(profile.SampledWaits), "sample"), humanize.Milliseconds(p.Total(profile.SampledWait)))}
	for _, proc := range p.Processes[:min(len(p.Processes), store.MaxListed)] {
		if sm := proc.Sampling; sm != nil {
			lines = append(lines, samplingLine(sm))
		}
	}
	return lines
}

// neverDue reports whether there are samplers, and none of them has ever been due to take a sample.
func neverDue(p *profile.Profile) bool {
	there := false
	for _, proc := range p.Processes {
		if proc.Sampling != nil {
			if there = true; proc.Sampling.Stat(ticks) > 0 {
				return false
			}
		}
	}
	return there
}

// ticks is how often a sampler was due.
var ticks = layout.StatNames[layout.StatTicks]

// samplingLine describes the sampler of one process.
func samplingLine(s *profile.Sampling) string {
	line := profile.Printable(fmt.Sprintf("%s, walk %s, every %v", s.Sampler, s.Walk, s.Interval))
	if n := s.Stat("processCPU"); n > 0 {
		line += " · the program used " + humanize.Milliseconds(n) + " of CPU"
	}
	if n := s.Stat("samplerCPU"); n > 0 {
		line += ", its sampler another " + humanize.Milliseconds(n) // which is not in the program's
	}
	if len(s.Latency) > 0 {
		line += fmt.Sprintf(" · taken %v after they were due (median; 99 %%: %v)", s.Quantile(0.5), s.Quantile(0.99))
	}
	return line
}

// samplingCounters are all that the sampler counted, for those who look for a fault in it.
func samplingCounters(s *profile.Sampling) string {
	var counts []string
	for _, st := range s.Stats {
		counts = append(counts, st.Kind+" "+humanize.Commas(st.Count))
	}
	return profile.Printable(strings.Join(counts, ", "))
}

// Metrics returns the values that -metric may name.
func Metrics() (names []string) {
	for _, t := range profile.Metrics {
		if !slices.Contains(names, t.Name) { // waits may be exact or sampled
			names = append(names, t.Name)
		}
	}
	return names
}
