// Package requests measures samples that a program asks for.
package requests

import (
	"fmt"
	"time"

	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// Time estimates requests.
func Time(s *session.Session) time.Duration { return 30 * time.Second }

// requestDepths are the depths that micro/requests measures.
var requestDepths = []int{10, 100, 1000}

// Run measures what a sample costs that a program asks for (ICPE'15, section 5.3).
func Run(s *session.Session) error {
	m := s.BuildMicro("requests", session.EngineVariant("sample", "-start=off"))
	if m == nil {
		return nil
	}
	rounds := s.Options.Rounds
	figures := make(map[string][]float64)
	for range rounds {
		if r := m.Run(nil); r != nil {
			for name, ns := range r.Figures {
				figures[name] = append(figures[name], ns)
			}
		}
	}
	t := requestTable(s, figures, rounds)
	s.Tables = append(s.Tables, t)
	return nil
}

// requestTable makes the table of figures by name. A depth that was not measured in every round has no row.
func requestTable(s *session.Session, figures map[string][]float64, rounds int) *table.Table {
	t := &table.Table{
		Name: "requests", Title: "Cost of a sample that a program asks for",
		Head: []string{"depth", "Sample ns", "interval", "Callers ns", "frame, Sample", "frame, Callers"},
		Notes: []string{
			fmt.Sprintf("Nanoseconds, median of batches of 16 calls, and of %d rounds. Sample: of stemma.Sample in a "+
				"function that is called, with the return, which is intercepted. Callers: runtime.Callers there, with "+
				"room for all frames.", rounds),
			"frame: what each frame costs in all, where a program goes down so many frames, takes one stack, " +
				"and returns: what is more than without, divided by the depth.",
		},
	}
	for _, depth := range requestDepths {
		of := func(name string) []float64 { return figures[fmt.Sprint(name, "/depth=", depth)] }
		sample, down := of("sample"), of("down")
		if len(sample) < rounds || rounds == 0 {
			continue
		}
		frame := func(name string) string {
			return session.Number(stats.Median(stats.Differences(of(name), down))/float64(depth), 1)
		}
		with := stats.MedianInterval(sample)
		t.Add(fmt.Sprint(depth), session.Number(with.Median, 1), session.Span(with),
			session.Number(stats.Median(of("callers")), 1),
			frame("down-sample"), frame("down-callers"))
		s.Metric(fmt.Sprint("Request/depth=", depth), with.Median, "ns/op")
	}
	return t
}
