package sampling

import (
	"fmt"
	"time"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/records"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/table"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// figure6Settings are all triggers with both weightings. The paper samples every 100th call there, which is the
// period of the program's own loop; a prime number shows that this is not what is wrong.
func figure6Settings() (list []setting) {
	for _, trigger := range []string{"calls:100", "calls:307", "func:307", "time:100us"} {
		list = append(list, setting{trigger, allNewEdges}, setting{trigger, lastEdge})
	}
	return list
}

// figure6Time estimates figure6, whose runs take tenths of a second.
func figure6Time() time.Duration { return 2 * time.Duration(len(figure6Settings())) * 2 * time.Second }

// figure6 makes the paper's figure 6 as a table: the weights of its two edges. Exactly, the second has 100 times that
// of the first.
func figure6(s *session.Session) *table.Table {
	t := &table.Table{
		Name: "acct-figure6", Title: "A calls B 10 times, which calls C 100 times (ACCT, figure 6)", Left: 3,
		Head: []string{"engine", "trigger", "weights", "samples", "A to B", "B to C", "ratio", "exact"},
		Notes: []string{"micro/figure6, with the accumulator beside the exact tree, and alone. ratio: B to C by A to " +
			"B. The paper: with all-new-edges both edges always have the same weight, whatever triggers the " +
			"samples; last-edge solves the problem."},
	}
	for _, engine := range []string{"cct+acct", "acct"} {
		for _, c := range figure6Settings() {
			v := session.EngineVariant(engine, "-trigger="+c.trigger, "-weights="+c.weights)
			if e, ok := edgesOf(s, v); ok {
				t.Add(engine, c.trigger, c.weights, session.Number(e.samples, 0), session.Number(e.toB, 0),
					session.Number(e.toC, 0), session.Number(e.toC/max(e.toB, 1), 1), "100")
			}
		}
	}
	return t
}

// figure6Edges are the weights of the two edges.
type figure6Edges struct{ samples, toB, toC float64 }

// edgesOf runs the program once. What goes wrong is among the problems.
func edgesOf(s *session.Session, v measure.Variant) (e figure6Edges, ok bool) {
	m := s.BuildMicro("figure6", v)
	if m == nil {
		return e, false
	}
	r := m.Run(nil)
	if r == nil {
		return e, false
	}
	live, err := records.Open(r.Out)
	if err == nil {
		e, err = figure6Of(live.Profile)
	}
	if err != nil {
		s.Problem("figure6, %s: %v", v.Name, err)
	}
	return e, err == nil
}

// figure6Of reads the edges of a profile's approximate tree. Each function is called from one place.
func figure6Of(p *profile.Profile) (e figure6Edges, err error) {
	t, err := cct.Of(p, profile.Samples.Name)
	if err != nil {
		return e, err
	}
	for _, n := range t.Nodes {
		switch t.Funcs[n.Func].Name {
		case "main.b":
			e.toB += float64(n.Count)
		case "main.c":
			e.toC += float64(n.Count)
		}
		e.samples += float64(n.Count)
	}
	if e.toC == 0 {
		return e, fmt.Errorf("no sample of c, want some of the %d contexts there", len(t.Nodes))
	}
	return e, nil
}
