package sampling

import (
	"time"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// shortEvery are the paper's intervals, and shortSamplers its samplers.
var (
	shortEvery    = []string{"10ms", "1ms", "100us"}
	shortSamplers = []string{"sps", "isps"}
)

// shortRounds is how often each build of short runs; all take turns.
const shortRounds = 7

// shortTime estimates short: two builds, and runs of half a second.
func shortTime(s *session.Session) time.Duration {
	return 2*s.BuildTime() + time.Duration(shortRounds*(1+len(shortSamplers)*len(shortEvery)))*time.Second/2
}

// short measures a program whose goroutines end soon, where the paper finds incremental tracing dearer than full walks:
// what is known of a goroutine's stack is of no use to a later sample, and its trace must be completed at its end.
func short(s *session.Session) *table.Table {
	t := &table.Table{
		Name: "sampling-short", Title: "Goroutines that end soon (ICPE'15, section 7.1)", Left: 2,
		Head: []string{"sampler", "every", "ns a goroutine", "to plain", "interval"},
		Notes: []string{"micro/short: each goroutine works for a microsecond or two, 20 calls deep, and ends; CPU " +
			"time of the process, median of rounds in which all take turns. The paper: with many threads that " +
			"live shortly isps costs more than sps."},
	}
	plain := s.BuildMicro("short", measure.Plain)
	sampled := s.BuildMicro("short", session.EngineVariant("sample"))
	if plain == nil || sampled == nil {
		return t
	}
	var base []float64
	times := make(map[string][]float64)
	for range shortRounds {
		r := plain.Run(nil)
		if r == nil {
			return t
		}
		base = append(base, r.Figures["goroutine"])
		for _, sampler := range shortSamplers {
			for _, every := range shortEvery {
				r := sampled.Run([]string{"STEMMA_SAMPLING=sampler=" + sampler + ",every=" + every})
				if r == nil {
					return t
				}
				times[sampler+every] = append(times[sampler+every], r.Figures["goroutine"])
			}
		}
	}
	addShort(t, base, times)
	return t
}

// addShort adds the rows: times are by sampler and interval, base those of plain.
func addShort(t *table.Table, base []float64, times map[string][]float64) {
	t.Add("plain", "", session.Number(stats.Median(base), 0), "", "")
	for _, sampler := range shortSamplers {
		for _, every := range shortEvery {
			list := times[sampler+every]
			ratio := stats.MedianInterval(stats.Ratios(list, base))
			t.Add(sampler, every, session.Number(stats.Median(list), 0), session.Number(ratio.Median, 3),
				session.Span(ratio))
		}
	}
}
