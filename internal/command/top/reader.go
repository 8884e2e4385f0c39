// Package top shows the rates of a running program, by function and by context, on a terminal. It
// reads the live directory of the program, and writes nothing to it.
//
// # Terminology
//
// A reading is all counts at one time. A page is the difference of two readings, sorted: the
// rates between them. A program that records new contexts is read anew, which takes longer
// than reading counts again; so the time between two readings is at least twenty times as long as
// the last one took, and top uses a twentieth of a core at most.
//
// A record of context IDs has no counts of calls. What it counts are events, if the program was
// built with them, and what the encoder does.
package top

import (
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/pinned"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/profile"
)

// A Reader reads the live directory of a program.
type Reader struct {
	dir    string
	metric string // "" for the usual one

	rec    *record.Record
	tree   *cct.Recounter    // nil of values that were sampled
	events *decode.EventTree // of a record of context IDs
	cost   time.Duration     // of the last reading
}

// NewReader reads the live directory dir for the first time.
func NewReader(dir, metric string) *Reader { return &Reader{dir: dir, metric: metric} }

// A Reading is what a program had recorded at one time.
type Reading struct {
	Time    time.Time
	Running bool
	Tree    *cct.Tree // its nodes have the counts of the last reading, not of this one
	Counts  []uint64  // by node
	Process profile.Process
	Values  []profile.Metric // that there are
	Note    string           // what the rows are if they are no parts of a sum, else ""
}

// Read reads the counts again, and all of the directory if there is more to it than before.
func (r *Reader) Read() (*Reading, error) {
	begin := time.Now()
	place, _ := store.Probe(r.dir)
	running := place.Running()
	if err := r.refresh(); err != nil {
		return nil, err
	}
	got := &Reading{Time: begin, Running: running, Process: r.rec.Processes[0]}
	expand := r.expanded
	if r.rec.IDs != nil {
		expand = r.encoded
	}
	if err := expand(got); err != nil {
		return nil, err
	}
	got.Counts = make([]uint64, len(got.Tree.Nodes))
	for i, n := range got.Tree.Nodes {
		got.Counts[i] = n.Count
	}
	r.cost = time.Since(begin)
	return got, nil
}

// refresh brings the record up to date.
func (r *Reader) refresh() error {
	if r.rec != nil && r.rec.IDs == nil {
		grew, err := r.rec.Recount()
		if err != nil || !grew {
			return err
		}
	}
	rec, err := record.Open(pinned.Files(r.dir))
	if err != nil {
		return store.In(r.dir, err)
	}
	r.rec, r.tree = rec, nil
	return nil
}

// expanded makes the tree of the value that is shown, with its counts.
func (r *Reader) expanded(got *Reading) (err error) {
	for _, c := range r.rec.Columns {
		got.Values = append(got.Values, c.Metric)
	}
	name := r.metric
	if name == "" {
		name = cct.Usual(r.rec.Profile).Name
	}
	if name != profile.Calls.Name || r.rec.Column(name) == nil {
		got.Tree, err = cct.Of(r.rec.Profile, name)
		return err
	}
	if r.tree == nil {
		r.tree = cct.NewRecounter(r.rec.Profile)
	} else {
		r.tree.Recount()
	}
	got.Tree = r.tree.Tree
	return nil
}

// has reports whether the record has the metric that is asked for, as far as it can be read.
func (r *Reader) has(metric string) bool {
	return r.refresh() == nil && r.rec.IDs == nil && r.rec.Column(metric) != nil
}

// share is how much longer the time between readings is than one takes.
const share = 20

// Pause returns how long to wait before the next reading: as long as is wanted, or more if
// that would cost too much.
func (r *Reader) Pause(wanted time.Duration) time.Duration { return max(wanted, share*r.cost) }
