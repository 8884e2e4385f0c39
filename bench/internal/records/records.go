// Package records reads from live directories what the tables and figures need
// beyond the totals of a report.
package records

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/internal/record/livedir"
)

// Open opens the one live directory in out. Programs that are measured start no
// instrumented processes, so several are a mistake.
func Open(out string) (*record.Record, error) {
	dirs, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil {
		return nil, err
	}
	if len(dirs) != 1 {
		return nil, fmt.Errorf("%s: %d live directories, want 1", out, len(dirs))
	}
	r, err := record.Open(os.DirFS(dirs[0]))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dirs[0], err)
	}
	return r, nil
}

// Step is the state of an encoding from a re-encoding on.
type Step struct {
	After time.Duration // since the start of the program; 0 for the first epoch, which encodes nothing
	Nodes int           // functions with a caller that is encoded
	Edges int           // that are encoded
	MaxID uint32
}

// Progress returns the epochs of an encoding in order (DACCE, figure 9).
// Epochs that the record lacks are left out.
func Progress(p *record.Record) []Step {
	if p.IDs == nil {
		return nil
	}
	dict := &p.IDs.Dict
	var steps []Step
	for i, e := range dict.Epochs {
		if !e.Known {
			continue
		}
		s := Step{MaxID: e.MaxID}
		if i > 0 {
			s.After = e.Time.Sub(p.Processes[0].Start)
		}
		for fn := range p.Funcs {
			if n := len(dict.InEdges(uint32(i), uint32(fn))); n > 0 {
				s.Nodes++
				s.Edges += n
			}
		}
		steps = append(steps, s)
	}
	return steps
}

// Depths counts captured contexts by depth: that of the goroutine's own stack, in
// frames as a traceback shows them, without inlined ones; and that of the
// ccStack (DACCE, figure 10).
type Depths struct {
	Stack, CCStack Histogram
}

// DepthsOf reads the records of the checker.
func DepthsOf(r *record.Record) (Depths, error) {
	d := Depths{make(Histogram), make(Histogram)}
	c := r.IDs
	if c == nil {
		return d, fmt.Errorf("no context IDs in the record")
	}
	return d, r.Checks(func(k *livedir.Check) error {
		d.add(c, k)
		return nil
	})
}

// add counts a capture. That of the end has no context, and how deep the ccStack of one that was cut was, is not known.
func (d *Depths) add(c *ids.Encoding, k *livedir.Check) {
	if k.Ended {
		return
	}
	frames := 0
	for _, f := range k.Frames {
		if !f.Inlined && !f.Wrapper {
			frames++
		}
	}
	d.Stack[frames] += k.Events
	if depth, ok := ccStackDepth(c, ctxid.Split(k.ID.Hi, k.ID.Lo).Node); ok {
		d.CCStack[depth] += k.Events
	}
}

// ccStackDepth returns how many entries of a goroutine's ccStack are below the
// entry n: down to the go statement or root that it began with, which is no push. It reports false if that was cut.
func ccStackDepth(c *ids.Encoding, n uint32) (depth int, ok bool) {
	for n != 0 {
		node, ok := c.Node(n)
		switch {
		case !ok || node.Kind == layout.InternCut:
			return 0, false
		case node.Kind == layout.InternGo || node.Kind == layout.InternRoot:
			return depth, true
		}
		if node.Kind != layout.InternAt {
			depth++
		}
		n = node.Parent
	}
	return depth, true
}

// Histogram counts events by value.
type Histogram map[int]uint64

// Total returns the number of events.
func (h Histogram) Total() uint64 {
	sum := uint64(0)
	for _, n := range h {
		sum += n
	}
	return sum
}

// Cumulative returns the values in order, and for each the share of events, in
// per cent, that have at most this value.
func (h Histogram) Cumulative() (values, percent []float64) {
	keys := make([]int, 0, len(h))
	for v := range h {
		keys = append(keys, v)
	}
	slices.Sort(keys)
	total, sum := float64(h.Total()), uint64(0)
	for _, v := range keys {
		sum += h[v]
		values, percent = append(values, float64(v)), append(percent, 100*float64(sum)/total)
	}
	return values, percent
}

// Quantile returns the smallest value that at least a share q of the events
// does not exceed, -1 if there are no events.
func (h Histogram) Quantile(q float64) int {
	values, percent := h.Cumulative()
	for i, p := range percent {
		if p >= 100*q-1e-9 {
			return int(values[i])
		}
	}
	return -1
}

// Mean returns the mean value, NaN if there are no events.
func (h Histogram) Mean() float64 {
	total, sum := h.Total(), 0.0
	if total == 0 {
		return math.NaN()
	}
	for v, n := range h {
		sum += float64(v) * float64(n)
	}
	return sum / float64(total)
}
