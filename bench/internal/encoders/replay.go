package encoders

import (
	"fmt"
	"time"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/table"
	"github.com/stemma-go/stemma/internal/command/replay"
	"github.com/stemma-go/stemma/internal/record"
)

// How it works.
//
// One run of each program is recorded, with every entry of a function, until the log
// is full or the tree is; from there on the program runs on almost as usual. So
// the stream is the beginning of a run, with the order and the weights that it
// had. Recording slows a program down, so goroutines may take turns in another way
// than without it.

const (
	// replayEvents bounds the log. A program that makes 200 million calls a second
	// would fill any disk.
	replayEvents = 4_000_000

	// replayNodes bounds the trees: with recursion in full some programs have
	// hundreds of millions of contexts.
	replayNodes = 1_000_000
)

// ReplayTime estimates replay.
func ReplayTime(s *session.Session) time.Duration {
	return time.Duration(len(s.Fewer())) * (s.BuildTime() + 2*session.RunTime + 15*time.Second)
}

// Replay drives all encoders with the same calls.
func Replay(s *session.Session) error {
	t := &table.Table{
		Name: "replay", Title: "All encoders on the same calls", Left: 2,
		Head: []string{"program", "encoder", "calls", "contexts", "nodes", "edges", "encoded", "left out", "numCC",
			"maxID",
			"ccStack", "depth", "max",
			"compares", "epochs", "costs us", "interned", "log bytes", "memory KB", "truncated", "collisions",
			"checked", "wrong"},
		Notes: []string{"stemma replay explains the columns (stemma help replay). The calls are those of one run, in " +
			"their order, as stemma build -record=calls " +
			"has logged them: up to " + fmt.Sprint(replayEvents) +
			" entries, and as long as the tree has no more than " + fmt.Sprint(replayNodes) +
			" contexts. pcce is given the graph that is called, " +
			"not all that a static analysis finds, without weights; pcce-profile has these, and the targets of " +
			"indirect calls, from the same run. left out: edges by which ids would overflow. dacce-edges is DACCE " +
			"with one addition value for each edge, dacce-counts with the paper's counts of repetitions as well; " +
			"neither has its markers (PAPERS.md). dacce has a value for each site, as programs have, but no " +
			"ids for loops. lucce-versions is Lucce nearly as published, lucce a copy of what programs have. " +
			"The papers never run two encoders on the same calls but for PCCE and DACCE, see the table above."},
	}
	v := session.EngineVariant("cct", "-record=calls", fmt.Sprint("-nodes=", replayNodes))
	v.Env = []string{fmt.Sprint("STEMMA_CALLS_SIZE=", 8*replayEvents)}
	for _, p := range s.Fewer() {
		s.Once(p, v, func(_ *measure.Recorded, _ float64, live *record.Record) error {
			session.Tell("replay " + p.Name)
			r, err := replayCalls(live, p.Name)
			if err != nil {
				return err
			}
			for _, row := range r.Rows {
				t.Add(append([]string{p.Name, row.Encoder, fmt.Sprint(r.Calls), fmt.Sprint(r.Contexts)},
					replayCells(row)...)...)
			}
			for _, note := range r.Notes {
				t.Notes = append(t.Notes, p.Name+": "+note+".")
			}
			if n := r.Mismatches(); n > 0 {
				return fmt.Errorf("%d contexts were decoded wrongly", n)
			}
			return nil
		})
	}
	s.Tables = append(s.Tables, t)
	return nil
}

// replayCalls replays what a program recorded. pcce needs the whole graph before the
// first call, so the log is read twice.
func replayCalls(live *record.Record, name string) (*replay.Result, error) {
	var opened []*replay.Reader
	defer func() {
		for _, r := range opened {
			r.Close()
		}
	}()
	return replay.Run(func() (*replay.Reader, error) {
		r, err := replay.NewRecorded(live, name)
		if err == nil {
			opened = append(opened, r)
		}
		return r, err
	}, replay.DefaultOptions())
}

// replayCells are the columns of a row of stemma replay, in its order.
func replayCells(r replay.Row) []string {
	var cells []string
	for _, v := range []any{r.Nodes, r.Edges, r.Encoded, r.LeftOut, r.NumCC,
		r.MaxID, r.StackOps, session.Number(r.StackMean, 2),
		r.StackMax, r.Compares,
		r.Epochs, r.EncodeUS, r.Interned, r.LogBytes, r.Bytes >> 10, r.Truncated, r.Collisions, r.Checked,
		r.Mismatches} {
		cells = append(cells, fmt.Sprint(v))
	}
	return cells
}
