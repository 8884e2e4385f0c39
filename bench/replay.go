package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/records"
	"github.com/stemma-go/stemma/bench/internal/table"
	"github.com/stemma-go/stemma/internal/replay"
	"github.com/stemma-go/stemma/profile"
)

// How it works.
//
// A recording of all calls of a program that makes 200 million a second would be
// too large to keep, and recording would change the program. Instead the exact
// tree of one run is walked, and the walk is the stream: it has each context of
// the program, with the sites and the depths that it had, and visits them in an order
// of its own. So the table compares encoders with each other on a real call graph;
// it does not predict what one costs the program.

// replayNodes bounds the trees that streams are made of: with recursion in full
// some programs have hundreds of millions of contexts.
const replayNodes = 200_000

// replayTime estimates replay.
func (s *session) replayTime() time.Duration {
	return time.Duration(len(s.fewer())) * (s.buildTime() + 2*runTime + 10*time.Second)
}

// replay drives all encoders with the same calls.
func (s *session) replay() error {
	t := &table.Table{
		Name: "replay", Title: "All encoders on the same calls", Left: 2,
		Head: []string{"program", "encoder", "calls", "contexts", "nodes", "edges", "encoded", "numCC", "maxID", "ccStack", "depth", "max",
			"compares", "epochs", "costs us", "interned", "log bytes", "memory KB", "truncated", "collisions", "checked", "wrong"},
		Notes: []string{"stemma replay explains the columns (stemma help replay). The calls lead through the exact tree of one run, recursion in full, up to " +
			fmt.Sprint(replayNodes) + " contexts: each is entered once, depth first, and once more for each doubling of its count. " +
			"So graph, contexts and depths are those of the program, and the order and the weights are not. pcce is given the graph that is called, " +
			"not all that a static analysis finds. dacce-edges is DACCE as published, with one addition value for each edge; dacce is what stemma builds in. " +
			"The papers never run two encoders on the same calls but for PCCE and DACCE, see the table above."},
	}
	v := engineVariant("cct", "-recursion=full", fmt.Sprint("-nodes=", replayNodes))
	for _, p := range s.fewer() {
		s.once(p, v, func(_ *measure.Record, _ float64, live *profile.Live) error {
			tell("replay " + p.Name)
			r, err := replayTree(filepath.Join(s.bench.Work, "stream"), live.Profile)
			if err != nil {
				return err
			}
			for _, row := range r.Rows {
				t.Add(append([]string{p.Name, row.Encoder, fmt.Sprint(r.Calls), fmt.Sprint(r.Contexts)}, replayCells(row)...)...)
			}
			if n := r.Mismatches(); n > 0 {
				return fmt.Errorf("%d contexts were decoded wrongly", n)
			}
			return nil
		})
	}
	s.tables = append(s.tables, t)
	return nil
}

// replayTree writes the stream of p to a file and replays it. pcce needs the whole
// graph before the first call, so the file is read twice.
func replayTree(name string, p *profile.Profile) (*replay.Result, error) {
	defer os.Remove(name)
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := records.WriteStream(f, p); err != nil {
		return nil, err
	}
	var opened []*os.File
	defer func() {
		for _, f := range opened {
			f.Close()
		}
	}()
	return replay.Run(func() (*replay.Reader, error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		opened = append(opened, f)
		return replay.NewReader(f, name)
	}, replay.DefaultOptions())
}

// replayCells are the columns of a row of stemma replay, in its order.
func replayCells(r replay.Row) []string {
	var cells []string
	for _, v := range []any{r.Nodes, r.Edges, r.Encoded, r.NumCC, r.MaxID, r.StackOps, number(r.StackMean, 2), r.StackMax, r.Compares,
		r.Epochs, r.EncodeUS, r.Interned, r.LogBytes, r.Bytes >> 10, r.Truncated, r.Collisions, r.Checked, r.Mismatches} {
		cells = append(cells, fmt.Sprint(v))
	}
	return cells
}
