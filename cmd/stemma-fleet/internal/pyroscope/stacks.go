package pyroscope

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/internal/export"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/profile"
)

// A builder makes one profile of samples with stacks: what [export.Parts] does, the other way round. All samples are
// learned before the first is added, since a node has as many counters as its function, which has one for each call
// that is inlined into it. Strings come from a server: whatever they are, the profile is valid.
type builder struct {
	p       *profile.Profile
	strings map[string]uint32
	funcs   map[funcKey]*function
	labels  map[string]uint32 // functions of kind FuncLabels, by all that they set
	places  map[string]uint32 // functions of kind FuncPlace, by their frames
	index   *profile.NodeIndex
}

// A funcKey is what tells functions apart.
type funcKey struct {
	kind       profile.FuncKind
	name, file string
	line       int64
	wrapper    bool
}

// A function is one of the profile, with the calls in it.
type function struct {
	id      uint32
	inlined map[inlinedKey]int32
	cells   map[siteKey]uint32
}

// An inlinedKey is what tells the inlined calls of a function apart.
type inlinedKey struct {
	parent int32
	line   int64
	callee funcKey
}

// A siteKey is what tells the call sites of a function apart.
type siteKey struct {
	inlined int32
	line    int64
	kind    profile.SiteKind
}

// newBuilder returns a builder for some metrics.
func newBuilder(from profile.Process, metrics []profile.Metric) *builder {
	b := &builder{p: profile.New(metrics...), strings: map[string]uint32{"": 0}, funcs: make(map[funcKey]*function),
		labels: make(map[string]uint32), places: make(map[string]uint32)}
	b.p.Processes = []profile.Process{from}
	b.p.Funcs[0].Name = b.text("stemma.root")
	return b
}

// perCounter reports whether a metric belongs to calls, also to inlined ones. Others belong to what the runtime counts
// below a call, such as the allocations of a type.
func perCounter(m profile.Metric) bool {
	switch m.Name {
	case profile.Calls.Name, profile.Ops.Name, profile.ContextCPU.Name:
		return !m.Sampled
	}
	return !m.Sampled && m.Own()
}

// learn makes the functions, call sites and places of the samples.
func (b *builder) learn(p *pprof.Profile, m profile.Metric) error {
	for _, one := range p.Sample {
		if err := check(one); err != nil {
			return err
		}
		if m.Sampled {
			for _, l := range one.Location {
				b.place(l)
			}
			continue
		}
		b.walk(one.Location, m.PerCounter, func(uint32, uint32) {})
	}
	return nil
}

// errCut is the error of an answer in which counts are not where they were.
var errCut = errors.New("small contexts are cut off, and put together as 'other'; let Pyroscope answer whole " +
	"profiles (-querier.max-flamegraph-nodes-on-select-merge-profile=false), or read what -store has")

// isCut reports whether a frame stands for what Pyroscope has cut off. Functions of programs have a package.
func isCut(l pprof.Line) bool { return l.Function.Name == "other" && l.Function.Filename == "" }

// check returns an error for a sample that is no stack with one number of 0 or more.
func check(one *pprof.Sample) error {
	if len(one.Value) != 1 || one.Value[0] < 0 {
		return fmt.Errorf("a sample with the values %v, want one of 0 or more", one.Value)
	}
	for _, l := range one.Location {
		if len(l.Line) == 0 || slices.ContainsFunc(l.Line, func(l pprof.Line) bool { return l.Function == nil }) {
			return errors.New("a sample with a place that has no function")
		}
		if slices.ContainsFunc(l.Line, isCut) {
			return errCut
		}
	}
	return nil
}

// add adds the samples of a metric. All metrics have been learned.
func (b *builder) add(p *pprof.Profile, m profile.Metric) {
	if b.index == nil {
		b.index = profile.NewNodeIndex(b.p, len(p.Sample))
	}
	for _, one := range p.Sample {
		node, counter := uint32(0), uint32(0)
		enter := func(cell, fn uint32) { node = b.index.Node(node, cell, fn) }
		if m.Sampled {
			for _, l := range slices.Backward(one.Location) {
				enter(0, b.place(l))
			}
		} else {
			counter = b.walk(one.Location, m.PerCounter, enter)
		}
		if m.PerCounter {
			counter += b.p.Nodes[node].First
		} else {
			counter = node
		}
		b.p.Column(m.Name).Values[counter] += uint64(one.Value[0])
	}
}

// profile returns the profile. Recursion is as it was pushed: folded, if that leaves everything where it is. Functions
// that led to others where they were on the path already have been adapters.
func (b *builder) profile() *profile.Profile {
	const adapter = profile.FuncAdapter | profile.FuncNew
	folded := b.misplaced()
	for _, fn := range folded {
		b.p.Funcs[fn].Flags |= adapter
	}
	if (len(folded) == 0 || len(b.misplaced()) == 0) && !slices.ContainsFunc(b.p.Funcs, recursive) {
		return b.p
	}
	for _, fn := range folded {
		b.p.Funcs[fn].Flags &^= adapter
	}
	b.p.Processes[0].Full = true
	return b.p
}

// recursive reports whether a call is inlined into one of its own function.
func recursive(f profile.Func) bool {
	for _, in := range f.Inlined {
		if in.Callee == f.Name {
			return true
		}
		for up := in.Parent; up != profile.None; up = f.Inlined[up].Parent {
			if f.Inlined[up].Callee == in.Callee {
				return true
			}
		}
	}
	return false
}

// misplaced returns the functions with something below one of their nodes that folding would put elsewhere.
func (b *builder) misplaced() (list []uint32) {
	homes := b.p.Homes()
	seen := make(map[uint32]bool)
	add := func(node uint32) {
		if fn := b.p.Nodes[node].Func; homes[node] != node && !seen[fn] {
			seen[fn] = true
			list = append(list, fn)
		}
	}
	for i, n := range b.p.Nodes {
		add(n.Parent)
		for k := range b.p.Columns {
			c := &b.p.Columns[k]
			counts := c.Of(b.p, i) // a place has none
			if c.PerCounter && len(counts) > 1 && slices.Max(counts[1:]) > 0 {
				add(uint32(i))
			}
		}
	}
	return list
}

// walk goes from the outermost location of a sample to the innermost one, and calls enter for each node on the way. It
// returns the counter of the innermost one that the sample is of: that of an inlined call, if it is of one.
func (b *builder) walk(locations []*pprof.Location, inlined bool, enter func(cell, fn uint32)) (counter uint32) {
	at := len(locations) - 1
	cell := uint32(layout.RootOther)
	if at >= 0 {
		name := outermost(locations[at]).Function.Name
		for i, root := range layout.RootNames {
			if name != "["+root+"]" {
				continue
			}
			if cell = uint32(i); len(locations[at].Line) == 1 && at > 0 { // a root has no number of its own
				at--
			}
		}
	}
	if cell == layout.RootOverflow {
		enter(cell, b.function(funcKey{kind: profile.FuncOverflow, name: "stemma.overflow"}).id)
		cell = 0
	}
	var set []label
	for ; at >= 0; at-- {
		lines := locations[at].Line
		if l, ok := labelOf(lines); ok {
			set = with(set, l)
			if at == 0 || len(lines) > 1 || !isLabel(locations[at-1].Line) {
				enter(cell, b.labelling(set))
				cell = 0
			}
			if len(lines) == 1 {
				continue
			}
		}
		if k := amountOf(lines); at == 0 && k.kind != profile.FuncOrdinary {
			enter(cell, b.function(k).id)
			return 0
		}
		if at == 0 && !inlined { // what is inlined has no number of its own: it is a call here
			for len(lines) > 1 {
				f := b.function(compiled(lines))
				enter(cell, f.id)
				cell = b.site(f, siteKey{profile.None, lines[len(lines)-1].Line, profile.SiteCall})
				lines = lines[:len(lines)-1]
			}
		}
		f, in := b.function(compiled(lines)), int32(profile.None)
		enter(cell, f.id)
		for k := len(lines) - 1; k > 0; k-- {
			in = b.inlined(f, inlinedKey{in, lines[k].Line, keyOf(lines[k-1].Function)})
		}
		if at == 0 {
			return b.counter(f, in)
		}
		kind := profile.SiteCall
		if at > 1 && outermost(locations[at-1]).Function.Name == export.GoStart {
			kind = profile.SiteGo
			at--
		}
		cell = b.site(f, siteKey{in, lines[0].Line, kind})
	}
	return 0
}

// outermost returns the function of a location that the others of it are inlined into.
func outermost(l *pprof.Location) pprof.Line { return l.Line[len(l.Line)-1] }

func keyOf(f *pprof.Function) funcKey {
	return funcKey{kind: profile.FuncOrdinary, name: f.Name, file: f.Filename, line: f.StartLine}
}

// compiled returns the key of the function that lines are of. What is inlined into a root or into labels was inlined
// into a wrapper, which no stack shows.
func compiled(lines []pprof.Line) funcKey {
	k := keyOf(lines[len(lines)-1].Function)
	k.wrapper = len(lines) > 1 && k.file == "" && strings.HasPrefix(k.name, "[")
	return k
}

// amounts are the kinds of functions that stand for what the runtime counts, by their names in stacks.
var amounts = []struct {
	prefix string
	kind   profile.FuncKind
}{
	{"new(", profile.FuncAlloc}, {"wait(", profile.FuncWait}, {"delay(", profile.FuncDelay}, {"run(", profile.FuncRun},
	{"existing(", profile.FuncExisting},
}

// amountOf returns the function that lines stand for, if they stand for what the runtime counts. A function of a
// program has a file.
func amountOf(lines []pprof.Line) funcKey {
	f := lines[0].Function
	for _, a := range amounts {
		name, ok := strings.CutPrefix(f.Name, a.prefix)
		if ok && len(lines) == 1 && f.Filename == "" && strings.HasSuffix(name, ")") {
			name = strings.TrimSuffix(name, ")")
			if a.kind == profile.FuncAlloc && name == "bytes" {
				name = "" // without a type
			}
			return funcKey{kind: a.kind, name: name}
		}
	}
	return funcKey{kind: profile.FuncOrdinary}
}

// A label is set, or taken away if it has no value, where a frame [KEY=VALUE] stands.
type label struct{ key, value string }

func labelOf(lines []pprof.Line) (l label, ok bool) {
	f := lines[len(lines)-1].Function
	if f.Filename != "" || !strings.HasPrefix(f.Name, "[") || !strings.HasSuffix(f.Name, "]") {
		return label{}, false
	}
	l.key, l.value, ok = strings.Cut(f.Name[1:len(f.Name)-1], "=")
	return l, ok && l.key != ""
}

func isLabel(lines []pprof.Line) bool {
	_, ok := labelOf(lines)
	return ok
}

// with returns labels as they are when one more is set.
func with(set []label, l label) []label {
	set = slices.DeleteFunc(slices.Clone(set), func(old label) bool { return old.key == l.key })
	if l.value != "" {
		set = append(set, l)
		slices.SortFunc(set, func(a, b label) int { return strings.Compare(a.key, b.key) })
	}
	return set
}

// text returns the index of a string.
func (b *builder) text(s string) uint32 {
	i, ok := b.strings[s]
	if !ok {
		i = uint32(len(b.p.Strings))
		b.strings[s] = i
		b.p.Strings = append(b.p.Strings, s)
	}
	return i
}

// newFunc appends a function, and returns its index.
func (b *builder) newFunc(f profile.Func) uint32 {
	b.p.Funcs = append(b.p.Funcs, f)
	return uint32(len(b.p.Funcs) - 1)
}

// function returns the function with a key.
func (b *builder) function(k funcKey) *function {
	f := b.funcs[k]
	if f == nil {
		made := profile.Func{Kind: k.kind, Name: b.text(k.name), File: b.text(k.file), Line: lineOf(k.line),
			Counters: 1}
		if k.wrapper {
			made.Flags = profile.FuncWrapper
		}
		f = &function{b.newFunc(made), make(map[inlinedKey]int32), make(map[siteKey]uint32)}
		b.funcs[k] = f
	}
	return f
}

// lineOf returns a line of a server, 0 if it is none.
func lineOf(n int64) uint32 {
	if n < 0 || n > 1<<31 {
		return 0
	}
	return uint32(n)
}

// labelling returns the function of kind FuncLabels for labels.
func (b *builder) labelling(set []label) uint32 {
	key := fmt.Sprintf("%q", set)
	id, ok := b.labels[key]
	if !ok {
		f := profile.Func{Kind: profile.FuncLabels, Cells: 1, Counters: 1}
		for _, l := range set {
			f.Frames = append(f.Frames, profile.Frame{Func: b.text(l.key), File: b.text(l.value)})
		}
		id = b.newFunc(f)
		b.labels[key] = id
	}
	return id
}

// place returns the function of kind FuncPlace for a location.
func (b *builder) place(l *pprof.Location) uint32 {
	var frames []profile.Frame
	for _, line := range l.Line {
		f := line.Function
		frames = append(frames, profile.Frame{Func: b.text(f.Name), File: b.text(f.Filename),
			Line: lineOf(line.Line), Start: lineOf(f.StartLine)})
	}
	key := fmt.Sprint(frames)
	id, ok := b.places[key]
	if !ok {
		id = b.newFunc(profile.Func{Kind: profile.FuncPlace, Frames: frames})
		b.places[key] = id
	}
	return id
}

// inlined returns the inlined call of f with a key.
func (b *builder) inlined(f *function, k inlinedKey) int32 {
	i, ok := f.inlined[k]
	if !ok {
		of := &b.p.Funcs[f.id]
		i = int32(len(of.Inlined))
		f.inlined[k] = i
		of.Inlined = append(of.Inlined, profile.Inlined{Parent: k.parent, Callee: b.text(k.callee.name),
			File: b.fileIn(of, k.parent), Line: lineOf(k.line), Counter: profile.None,
			CalleeFile: b.text(k.callee.file), CalleeLine: lineOf(k.callee.line)})
	}
	return i
}

// fileIn returns the file of what is inlined into a function, or of the function itself.
func (b *builder) fileIn(f *profile.Func, inlined int32) uint32 {
	if inlined == profile.None {
		return f.File
	}
	return f.Inlined[inlined].CalleeFile
}

// counter returns the counter of an inlined call of f, or of f itself.
func (b *builder) counter(f *function, inlined int32) uint32 {
	if inlined == profile.None {
		return 0
	}
	of := &b.p.Funcs[f.id]
	in := &of.Inlined[inlined]
	if in.Counter == profile.None {
		in.Counter = int32(of.Counters)
		of.Counters++
	}
	return uint32(in.Counter)
}

// site returns the cell of the call site of f with a key.
func (b *builder) site(f *function, k siteKey) uint32 {
	cell, ok := f.cells[k]
	if !ok {
		of := &b.p.Funcs[f.id]
		cell = of.Cells
		of.Cells++
		f.cells[k] = cell
		of.Sites = append(of.Sites, profile.Site{Kind: k.kind, Inlined: k.inlined, File: b.fileIn(of, k.inlined),
			Line: lineOf(k.line), Cell: int32(cell), Counter: profile.None})
	}
	return cell
}
