package main

import (
	"fmt"
	"time"

	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// requestsTime estimates requests.
func (s *session) requestsTime() time.Duration { return 30 * time.Second }

// requestDepths are the depths that micro/requests measures.
var requestDepths = []int{10, 100, 1000}

// requests measures what a sample costs that a program asks for (ICPE'15, section 5.3).
func (s *session) requests() error {
	m := s.buildMicro("requests", engineVariant("sample", "-start=off"))
	if m == nil {
		return nil
	}
	rounds := s.options.rounds
	figures := make(map[string][]float64)
	for range rounds {
		if r := m.run(nil); r != nil {
			for name, ns := range r.figures {
				figures[name] = append(figures[name], ns)
			}
		}
	}
	t := s.requestTable(figures, rounds)
	s.tables = append(s.tables, t)
	return nil
}

// requestTable makes the table of figures by name. A depth that was not measured in every round has no row.
func (s *session) requestTable(figures map[string][]float64, rounds int) *table.Table {
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
			return number(stats.Median(differences(of(name), down))/float64(depth), 1)
		}
		with := stats.MedianInterval(sample)
		t.Add(fmt.Sprint(depth), number(with.Median, 1), span(with), number(stats.Median(of("callers")), 1),
			frame("down-sample"), frame("down-callers"))
		s.metrics = append(s.metrics, metric{fmt.Sprint("Request/depth=", depth), with.Median, "ns/op"})
	}
	return t
}
