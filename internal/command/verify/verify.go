// Package verify compares recorded contexts with the stack walks beside them.
package verify

import (
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"sync/atomic"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/profile"
)

// Options say what is printed: mismatches if verbose is set, the first show of them. The
// others are counted.
type Options struct {
	Verbose bool
	Show    int
	Built   bool // the program was built for it just now
}

// Dirs compares what the live directories hold and prints the result.
// Mismatches make it return an base.Error without a message.
func Dirs(w io.Writer, paths []string, o *Options) error {
	v := &verifier{w: w, o: o, kinds: make(map[string]uint64)}
	for _, path := range paths {
		place, err := store.Probe(path)
		if err != nil {
			return err
		}
		dirs, err := place.Records()
		if err != nil {
			return err
		}
		if len(dirs) == 0 || !place.Dir {
			return fmt.Errorf("%s: no record; want a live directory, or a directory of live directories", path)
		}
		for _, dir := range dirs {
			if err := v.dir(dir); err != nil {
				return store.In(dir, err)
			}
		}
	}
	return v.result()
}

// How the comparison works.
//
// A program that was built with the checker writes, at a sample of its entries and
// calls, the node that it is in, and the stack that the runtime's own walker finds.
// Both become lists of frames: the node by cct.Walker, from the metadata of the
// compiler; the stack from the runtime's tables. The two have nothing in common
// but the program.
//
// Natives and wrappers are taken out of the stack, as contexts of nodes have none.
// A stack ends where its goroutine began, so the context of the go statement is
// appended to it. Where recursion was folded, both lists are folded.

// A verifier compares checks with decoded contexts and counts the outcomes.
// checked, unknown and failed count records, and events the moments that they
// stand for: equal stacks at one place are one record. fold folds recursion as the
// program of the profile in hand did, so that real stacks can be compared.
type verifier struct {
	w        io.Writer
	o        *Options
	walker   *cct.Walker
	decoder  *decode.Decoder // nil for a tree
	fold     func(node int) func([]cct.PathFrame) []cct.PathFrame
	checked  uint64
	inlined  uint64 // inlined calls that were compared by their counts
	traces   uint64 // samples that the program compared with walks itself
	sampled  bool   // there may be such
	events   uint64
	unknown  uint64 // records of truncated contexts
	failed   uint64
	kinds    map[string]uint64
	cuts     map[string]uint64 // of unknown, by reason
	warnings []string
}

// mismatchKinds are the kinds in the order in which they are printed.
var mismatchKinds = []string{"function", "inlined", "file", "line", "depth", "missing", "count", "trace"}

// dir compares all records of one live directory.
// A record that cannot be read ends it with an error, and the others are not
// compared: what follows a damaged one cannot be found.
func (v *verifier) dir(dir string) error {
	over := progress.Step("reading "+dir, "", nil)
	rec, err := record.Open(os.DirFS(dir))
	if over(); err != nil {
		return err
	}
	var done atomic.Int64
	defer progress.Step("comparing "+dir, "checks", func() (int64, int64) { return done.Load(), 0 })()
	v.walker, v.decoder = cct.NewWalker(rec.Profile), nil
	if rec.IDs != nil {
		v.decoder = decode.New(rec)
		v.walker = v.decoder.Walker()
	}
	v.fold = foldOf(rec.Profile, v.walker)
	v.warnings = append(v.warnings, report.Warnings(rec.Profile)...)
	stopped := uint64(math.MaxUint64)
	err = rec.Checks(func(c *livedir.Check) error {
		done.Add(1)
		if c.Ended {
			stopped = c.Events
		} else {
			v.check(c)
		}
		return nil
	})
	v.counts(rec.Profile, stopped)
	v.samples(rec.Profile)
	return err
}

// samples adds what a program that takes samples has compared itself: each incremental trace with a walk of the
// unwinder. An entry whose frame had gone unnoticed is a mismatch as well.
func (v *verifier) samples(p *profile.Profile) {
	for _, process := range p.Processes {
		s := process.Sampling
		if s == nil {
			continue
		}
		wrong := s.Stat("mismatches") + s.Stat("dead")
		v.sampled = true
		v.traces += s.Stat("checked")
		v.checked += s.Stat("checked")
		v.failed += wrong
		v.kinds["trace"] += wrong
	}
}

// foldOf returns how the program folded the path to a node. Only the node's own function
// can be that of a back edge: faults, and wrappers, which paths do not show, hang below
// the home of the innermost function that is shown. Where a back edge had no node, calls
// through it cannot be told from the function's first one.
func foldOf(p *profile.Profile, w *cct.Walker) func(node int) func([]cct.PathFrame) []cct.PathFrame {
	lostEdges := slices.ContainsFunc(p.Lost(), func(l profile.Loss) bool { return l.Kind == profile.LossEdges })
	return func(node int) func([]cct.PathFrame) []cct.PathFrame {
		switch {
		case p.Full():
			return func(path []cct.PathFrame) []cct.PathFrame { return path }
		case lostEdges || !cct.Shown(&p.Funcs[p.Nodes[node].Func]):
			return w.FoldPath
		}
		return w.FoldCallers
	}
}

// check compares one record. Below the frames of the walk stands the context
// in which the goroutine was started, as it was recorded: that one is checked
// by records of its own.
func (v *verifier) check(c *livedir.Check) {
	v.events += c.Events
	if v.decoder != nil {
		v.checkContext(c)
		return
	}
	if c.Node == profile.None || c.Start == profile.None {
		v.checked++
		v.mismatch(c, "missing", 0, nil, nil)
		return
	}
	decoded, ok := v.walker.Path(c.Node, c.Cell)
	began, startOK := v.walker.Path(c.Start, c.StartCell)
	if !ok || !startOK {
		v.unknown++
		return
	}
	truth := append(v.known(c), began...)
	fold := v.fold(c.Node)
	decoded, truth = fold(decoded), fold(truth)
	v.checked++
	if kind, at := difference(decoded, truth, c.Cell == profile.None); kind != "" {
		v.mismatch(c, kind, at, decoded, truth)
	}
}

// known returns the frames of the stack walk that contexts have.
func (v *verifier) known(c *livedir.Check) []cct.PathFrame {
	truth := make([]cct.PathFrame, len(c.Frames))
	for i, f := range c.Frames {
		truth[i] = cct.PathFrame{Func: cct.DisplayName(f.Func), File: f.File, Line: f.Line, Inlined: f.Inlined,
			Wrapper: f.Wrapper}
	}
	return v.walker.Known(truth)
}

// checkContext compares one record of a program with context IDs, as check does.
// Nothing is folded: IDs keep all levels of recursion.
func (v *verifier) checkContext(c *livedir.Check) {
	stack, err := v.decoder.Decode(c.ID)
	truth := v.known(c)
	if err != nil {
		v.checked++
		v.undecoded(c, c.ID, err, truth)
		return
	}
	if c.StartID != (ctxid.ID{}) {
		start, err := v.decoder.Decode(c.StartID)
		if err != nil {
			v.checked++
			v.undecoded(c, c.StartID, err, truth)
			return
		}
		if start.Cut() != "" {
			v.truncated(start.Cut())
			return
		}
		truth = append(truth, start.Path()...)
	}
	if stack.Cut() != "" {
		v.truncated(stack.Cut())
		return
	}
	v.checked++
	decoded := stack.Path()
	if kind, at := difference(decoded, truth, v.decoder.AtEntry(c.ID)); kind != "" {
		v.mismatch(c, kind, at, decoded, truth)
	}
}

// truncated counts a context that is cut, for a reason.
func (v *verifier) truncated(reason string) {
	v.unknown++
	if v.cuts == nil {
		v.cuts = make(map[string]uint64)
	}
	v.cuts[reason]++
}

// undecoded counts an ID that cannot be decoded.
func (v *verifier) undecoded(c *livedir.Check, id ctxid.ID, err error, truth []cct.PathFrame) {
	if v.o.Verbose && v.failed < uint64(v.o.Show) {
		fmt.Fprintf(v.w, "%s: %v\n", ctxid.Append(nil, id), err)
	}
	v.mismatch(c, "missing", 0, nil, truth)
}

// difference returns the kind and place of the first difference, or "". At the
// entry of a node its innermost frame has no line to compare, and frames whose
// place the program's tables do not know have no file.
// at is an index of frames, innermost 0. The order of the comparisons decides on
// the kind if a frame differs in several ways.
func difference(decoded, truth []cct.PathFrame, entry bool) (kind string, at int) {
	for i := range min(len(decoded), len(truth)) {
		d, t := decoded[i], truth[i]
		switch {
		case d.Inlined != t.Inlined:
			return "inlined", i
		case d.Func != t.Func:
			return "function", i
		case t.File == "":
			// The compiler has dropped the mark of what is inlined here.
		case d.File != t.File:
			return "file", i
		case d.Line != t.Line && !(entry && i == 0):
			return "line", i
		}
	}
	if len(decoded) != len(truth) {
		return "depth", min(len(decoded), len(truth))
	}
	return "", 0
}

// mismatch counts a mismatch and prints the first ones.
// decoded and truth may be nil, if there is nothing to show.
func (v *verifier) mismatch(c *livedir.Check, kind string, at int, decoded, truth []cct.PathFrame) {
	v.failed++
	v.kinds[kind]++
	if v.o.Verbose && v.failed <= uint64(v.o.Show) {
		v.show(c, kind, at, decoded, truth)
	}
}

// show prints both stacks, after folding, with a mark at the difference.
func (v *verifier) show(c *livedir.Check, kind string, at int, decoded, truth []cct.PathFrame) {
	if v.decoder != nil {
		fmt.Fprintf(v.w, "mismatch of kind %s in frame %d, context %s, %s, goroutine began in %s\n",
			kind, at, ctxid.Append(nil, c.ID), humanize.Plural(c.Events, "event"),
			ctxid.Append(nil, c.StartID))
		v.stack("recorded", decoded, at)
		v.stack("stack walk", truth, at)
		return
	}
	where := "entry"
	if c.Cell != profile.None {
		where = fmt.Sprint("cell ", c.Cell)
	}
	fmt.Fprintf(v.w,
		"mismatch of kind %s in frame %d, node at offset %d, %s, %s, goroutine began at node %d, cell %d\n",
		kind, at, c.Offset, where, humanize.Plural(c.Events, "event"), c.Start, c.StartCell)
	v.stack("recorded", decoded, at)
	v.stack("stack walk", truth, at)
}

// stack prints one stack, innermost frame first.
func (v *verifier) stack(what string, path []cct.PathFrame, at int) {
	fmt.Fprintf(v.w, "\t%s:\n", what)
	for i, f := range path {
		point, inlined := " ", ""
		if i == at {
			point = ">"
		}
		if f.Inlined {
			inlined = " (inlined)"
		}
		fmt.Fprintf(v.w, "\t  %s %s %s:%d%s\n", point, f.Func, f.File, f.Line, inlined)
	}
}

// result prints the sums. Nothing to compare is an error as well: it would
// otherwise look like success.
func (v *verifier) result() error {
	for _, line := range v.warnings {
		fmt.Fprintf(v.w, "warning: %s\n", line)
	}
	fmt.Fprintf(v.w, "checked %d %s, %d %s\n", v.checked, humanize.Noun(v.checked, "context"), v.failed,
		humanize.Noun(v.failed, "mismatch", "mismatches"))
	if v.inlined > 0 {
		fmt.Fprintf(v.w, "\tcompared the counts of %s\n", humanize.Plural(v.inlined, "inlined call"))
	}
	if v.traces > 0 {
		fmt.Fprintf(v.w, "\tcompared the traces of %s\n", humanize.Plural(v.traces, "sample"))
	}
	for _, kind := range mismatchKinds {
		if n := v.kinds[kind]; n > 0 {
			fmt.Fprintf(v.w, "\t%-10s %d\n", kind, n)
		}
	}
	if v.unknown > 0 {
		fmt.Fprintf(v.w, "\t%d truncated %s not compared\n", v.unknown,
			humanize.Noun(v.unknown, "context was", "contexts were"))
		for _, reason := range slices.Sorted(maps.Keys(v.cuts)) {
			fmt.Fprintf(v.w, "\t%d of them, %.2f %% of all: %s\n", v.cuts[reason],
				100*float64(v.cuts[reason])/float64(v.unknown+v.checked), reason)
		}
	}
	switch {
	case v.failed > 0:
		return &base.Error{Code: base.ExitFailure}
	case v.checked == 0 && v.sampled:
		return fmt.Errorf("verify: nothing was checked: the program took no sample whose trace is incremental; let " +
			"it run longer, and leave out -walk and -sampler")
	case v.checked == 0 && v.o.Built && os.Getenv("STEMMA_CHECK_EVERY") == "1":
		return fmt.Errorf("verify: nothing was checked: the program entered no instrumented function")
	case v.checked == 0 && v.o.Built:
		return fmt.Errorf("verify: nothing was checked: the program ended before the first check; set " +
			"STEMMA_CHECK_EVERY=1 to check each function entry")
	case v.checked == 0:
		return fmt.Errorf("verify: nothing was checked; build the program with 'stemma build -verify', run it, and " +
			"name its live directory")
	}
	return nil
}
