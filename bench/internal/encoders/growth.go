package encoders

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/stemma-go/stemma/bench/internal/chart"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/records"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/table"
	"github.com/stemma-go/stemma/internal/record"
)

// logSize is how much engine lucce has logged at a moment.
type logSize struct {
	after    time.Duration // since it was first seen
	entries  int           // changes of the graph: edges and steps of the numbering
	versions int           // roots, and where ids began again
}

// sizeOf returns how large the log of a record is.
func sizeOf(p *record.Record, after time.Duration) logSize {
	return logSize{after, int(p.IDs.Log.Entries), len(p.IDs.Interned) - 1}
}

// A watch reads the live directory in out while the program runs.
type watch struct {
	out   string
	sizes []logSize
	begin time.Time
	quit  context.CancelFunc
	done  sync.WaitGroup
}

// watchEvery is the time between two looks: one takes about ten milliseconds.
const watchEvery = 250 * time.Millisecond

// newWatch begins to look whether there is a record in out. Until there is, for
// instance while the program is built, there is nothing to see.
func newWatch(out string) *watch {
	ctx, quit := context.WithCancel(context.Background())
	w := &watch{out: out, quit: quit}
	w.done.Go(func() { w.run(ctx.Done()) })
	return w
}

func (w *watch) run(quit <-chan struct{}) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
			w.look()
		}
	}
}

func (w *watch) look() {
	live, err := records.Open(w.out)
	if err != nil || live.IDs == nil {
		return // not yet, or not any more
	}
	if w.begin.IsZero() {
		w.begin = time.Now()
	}
	w.sizes = append(w.sizes, sizeOf(live, time.Since(w.begin)))
}

// stop ends the watch and returns what it has seen, and for how long it has seen
// something.
func (w *watch) stop() (sizes []logSize, length time.Duration) {
	w.quit()
	w.done.Wait()
	if !w.begin.IsZero() {
		length = time.Since(w.begin)
	}
	return w.sizes, length
}

// growthReport is how the logs of engine lucce grow.
type growthReport struct {
	table  *table.Table
	figure *chart.Figure
}

// growthShares are the parts of a run at whose ends the table has the log.
var growthShares = []float64{0.1, 0.25, 0.5, 0.75}

// newGrowthReport returns the empty table and figure.
func newGrowthReport() *growthReport {
	head := []string{"program", "run s"}
	for _, share := range growthShares {
		head = append(head, fmt.Sprintf("entries at %.0f %%", 100*share))
	}
	head = append(head, "at the end")
	for _, share := range growthShares {
		head = append(head, fmt.Sprintf("versions at %.0f %%", 100*share))
	}
	return &growthReport{
		table: &table.Table{
			Name: "log", Title: "Growth of the log with lucce", Left: 1, Head: append(head, "at the end", "truncated"),
			Notes: []string{"Of the time of one run, seen every 0.25 s. Entries: changes of the call graph and its " +
				"numbering. Versions: 32 bytes for each context in which ids began again " +
				"(recursion, mostly), goroutine or root; the same context gives the same version. The paper says " +
				"that each change of the graph is logged, and that recursion changes it at each level, " +
				"without numbers."},
		},
		figure: &chart.Figure{Name: "log", Title: "Growth of the log with lucce", X: "seconds", Y: "entries",
			LogY: true, Steps: true},
	}
}

// growth runs p with engine lucce and adds the growth of its log.
func growth(s *session.Session, p *program.Program, g *growthReport) {
	w := newWatch(filepath.Join(s.Bench.Work, p.Name, "out"))
	defer w.stop()
	s.Once(p, session.EngineVariant("lucce"), func(r *measure.Recorded, _ float64, live *record.Record) error {
		if live.IDs == nil {
			return fmt.Errorf("engine lucce has recorded no contexts")
		}
		sizes, length := w.stop()
		g.add(p.Name, sizes, sizeOf(live, length), r.Truncated)
		return nil
	})
}

// add adds a program with what was seen while it ran, and at its end.
func (g *growthReport) add(name string, sizes []logSize, end logSize, truncated uint64) {
	entries := []string{name, session.Number(end.after.Seconds(), 1)}
	var versions []string
	for _, share := range growthShares {
		at := sizeAt(sizes, time.Duration(share*float64(end.after)))
		entries = append(entries, fmt.Sprint(at.entries))
		versions = append(versions, fmt.Sprint(at.versions))
	}
	entries = append(entries, fmt.Sprint(end.entries))
	g.table.Add(append(append(entries, versions...), fmt.Sprint(end.versions), fmt.Sprint(truncated))...)
	if len(g.figure.Lines) < figureLines {
		l := chart.Line{Name: name}
		for _, at := range append(sizes, end) {
			l.X, l.Y = append(l.X, at.after.Seconds()), append(l.Y, float64(at.entries))
		}
		g.figure.Lines = append(g.figure.Lines, l)
	}
}

// sizeAt returns the last size that was seen at or before a moment, or the first.
func sizeAt(sizes []logSize, after time.Duration) (last logSize) {
	for i, s := range sizes {
		if i == 0 || s.after <= after {
			last = s
		}
	}
	return last
}
