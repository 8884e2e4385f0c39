package costmodel

import (
	"bufio"
	"debug/buildinfo"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/sealed"
	"github.com/stemma-go/stemma/profile"
)

// A Program says what the counters of operations of each function stand for in a program that was built for a machine,
// which 'stemma costs' has done. It is kept as a profile of engine costs, without nodes, whose weights of class int are
// instructions and whose process has the machine as a note.
type Program struct {
	p *profile.Profile
}

// Machine returns the machine: GOOS/GOARCH.
func (c *Program) Machine() string { return c.p.Processes[0].Notes[0] }

// Table returns the name that a [Table] of the machine would have.
func (c *Program) Table() string { return strings.ReplaceAll(c.Machine(), "/", "-") }

// Release returns the Go release that it was built by.
func (c *Program) Release() string { return c.p.Processes[0].GoVersion }

// Funcs returns how many functions there are.
func (c *Program) Funcs() int { return len(c.p.Funcs) - 1 }

// Write writes it to a file for [Open].
func (c *Program) Write(w io.Writer) error { return c.p.Write(w) }

// Open reads a file that Write has written.
func Open(name string) (*Program, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := profile.Read(bufio.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(p.Processes) != 1 || p.Processes[0].Engine != engine.Costs || len(p.Processes[0].Notes) != 1 {
		return nil, fmt.Errorf("%s: a record, and no file of 'stemma costs'", name)
	}
	return &Program{p}, nil
}

// OfProgram reads what the compiler has left in an executable.
func OfProgram(name string) (*Program, error) {
	f, err := elf.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := buildinfo.ReadFile(name)
	if err != nil {
		return nil, err
	}
	machine := make(map[string]string)
	for _, s := range info.Settings {
		machine[s.Key] = s.Value
	}
	p := profile.New()
	p.Processes = []profile.Process{{Engine: engine.Costs, GoVersion: info.GoVersion, Args: []string{info.Path},
		Notes: []string{machine["GOOS"] + "/" + machine["GOARCH"]}}}
	symbols, err := f.Symbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		return nil, fmt.Errorf("%s: the program has no symbols; build it without -ldflags=-s", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	index := map[string]uint32{"": 0}
	for _, s := range symbols {
		if !strings.HasPrefix(s.Name, layout.CostsPrefix) {
			continue
		}
		fn, err := readFunc(f, s, p, index)
		if err != nil {
			return nil, fmt.Errorf("%s: symbol %s: %w", name, profile.Printable(s.Name), err)
		}
		p.Funcs = append(p.Funcs, fn)
	}
	if len(p.Funcs) == 1 {
		return nil, fmt.Errorf("%s: there are no costs; build it with 'stemma costs'", name)
	}
	return &Program{p}, p.CheckValid()
}

// readFunc reads what a symbol says of a function. index has the strings of p.
func readFunc(f *elf.File, s elf.Symbol, p *profile.Profile, index map[string]uint32) (fn profile.Func, err error) {
	if int(s.Section) >= len(f.Sections) {
		return fn, fmt.Errorf("section %d is not one of %d", s.Section, len(f.Sections))
	}
	section := f.Sections[s.Section]
	data := make([]byte, s.Size)
	if _, err := section.ReadAt(data, int64(s.Value-section.Addr)); err != nil {
		return fn, err
	}
	table := []uint32{0}
	n, size := binary.Uvarint(data)
	for data = data[max(size, 0):]; n > 0; n-- {
		length, size := binary.Uvarint(data)
		if size <= 0 || length > uint64(len(data)-size) {
			return fn, io.ErrUnexpectedEOF
		}
		text := string(data[size:][:length])
		data = data[size+int(length):]
		if _, ok := index[text]; !ok {
			index[text] = uint32(len(p.Strings))
			p.Strings = append(p.Strings, text)
		}
		table = append(table, index[text])
	}
	d := &livedir.FuncReader{Decoder: &sealed.Decoder{Data: data, Where: "blob"}, Table: table}
	fn = d.Function()
	return fn, d.End()
}

// In returns, by function of a profile with operations, what its counters stand for: instructions, whatever the class
// of a weight. Others are functions with operations that the program does not have, or that have other ones there.
func (c *Program) In(p *profile.Profile) (known map[uint32][]profile.Weight, others []uint32) {
	byName := make(map[string]*profile.Func)
	for i := range c.p.Funcs {
		f := &c.p.Funcs[i]
		byName[c.p.Strings[f.Name]] = f
	}
	known = make(map[uint32][]profile.Weight)
	counts := countsOf(p)
	for i := range p.Funcs {
		f := &p.Funcs[i]
		if f.Kind != profile.FuncOrdinary || f.CountedClass() == profile.AnyClass {
			continue
		}
		x := &matching{p: p, program: c.p, f: f, t: byName[p.Strings[f.Name]], counts: counts[i]}
		if !x.matches() {
			others = append(others, uint32(i))
			continue
		}
		known[uint32(i)] = x.weights()
	}
	return known, others
}

// countsOf adds up the counters of each function of a profile.
func countsOf(p *profile.Profile) [][]float64 {
	list := make([][]float64, len(p.Funcs))
	for i, n := range p.Nodes {
		counts := p.NodeCounts(i)
		if list[n.Func] == nil {
			list[n.Func] = make([]float64, len(counts))
		}
		for c, n := range counts {
			list[p.Nodes[i].Func][c] += float64(n)
		}
	}
	return list
}

// A matching is of a function of a profile with one of a program.
type matching struct {
	p, program *profile.Profile
	f, t       *profile.Func
	counts     []float64 // by counter of f
	placed     []int32   // by placed counter of t, the counter of f, or None
	calls      []int32   // by inlined call of t, that of f
}

// counter returns the counter of f that counter c of t is, or None. In a file that is damaged it may not be there.
func (x *matching) counter(c uint32) int32 {
	switch {
	case c == 0:
		return 0
	case int64(c) > int64(len(x.placed)):
		return profile.None
	}
	return x.placed[c-1]
}

// matches reports whether both have the same operations behind each counter, or almost: so they have the same flow
// graphs, or almost. Where a program is instrumented, the compiler may keep an operation that it leaves out otherwise,
// and a block with it. A machine may have others.
func (x *matching) matches() bool {
	if x.t == nil || x.f.Line != x.t.Line || x.base(x.p, x.f) != x.base(x.program, x.t) {
		return false // another one of that name, in a file of an architecture say
	}
	if len(x.f.Placed) == len(x.t.Placed) {
		if x.placed = x.f.Placed; x.alike() {
			return true
		}
	}
	x.placed = align(operations(x.f), operations(x.t), x.f.Placed)
	return x.alike()
}

// base returns the name of the file of a function of p.
func (x *matching) base(p *profile.Profile, f *profile.Func) string {
	return path.Base(p.Strings[f.File])
}

// alike reports whether the counters have about the same operations in both: three in four of what was executed, and no
// more than one in twenty behind counters that the other one has not. Where nothing was, that is as if all had been
// once.
func (x *matching) alike() bool {
	counted, found := make(map[int32]int64), map[int32]bool{0: true}
	for _, w := range x.f.Weights {
		if w.Class == uint32(layout.OpCounted) {
			counted[int32(w.Counter)] += int64(w.N)
		}
	}
	times := func(c int32) float64 {
		if int(c) < len(x.counts) {
			return x.counts[c]
		}
		return 1
	}
	executed := 0.0
	for c, n := range counted {
		executed += float64(n) * times(c)
	}
	for _, c := range x.placed {
		found[c] = true
	}
	for _, w := range x.t.Weights {
		if c := x.counter(w.Counter); w.Class == uint32(layout.OpCounted) && c != profile.None {
			counted[c] -= int64(w.N)
		}
	}
	differ, missing := 0.0, 0.0
	for c, n := range counted {
		ops := math.Abs(float64(n)) * times(c)
		if differ += ops; !found[c] {
			missing += ops
		}
	}
	return differ <= math.Abs(executed)/4 && missing <= math.Abs(executed)/20
}

// unknown are the operations behind a counter that was merged with others.
const unknown = math.MinInt64

// operations returns the operations that each placed counter of f stands for.
func operations(f *profile.Func) []int64 {
	sums, merged := make(map[int32]int64), make(map[int32]int)
	for _, w := range f.Weights {
		if w.Class == uint32(layout.OpCounted) {
			sums[int32(w.Counter)] += int64(w.N)
		}
	}
	for _, c := range f.Placed {
		merged[c]++
	}
	list := make([]int64, len(f.Placed))
	for i, c := range f.Placed {
		if list[i] = sums[c]; merged[c] > 1 || c <= 0 {
			list[i] = unknown
		}
	}
	return list
}

// largest bounds the work of align.
const largest = 1 << 24

// align finds, for each counter of a list, one that stands for as many operations in another list, or almost: as many
// as can be found in order. It returns what placed has for that one, None for those without.
func align(to, from []int64, placed []int32) []int32 {
	list := slices.Repeat([]int32{profile.None}, len(from))
	if len(to)*len(from) > largest {
		return list
	}
	width := len(from) + 1
	best := make([]uint16, (len(to)+1)*width) // for what is left of both
	score := func(i, k int) uint16 {
		const exact, near, may = 3, 2, 1
		switch a, b := to[i], from[k]; {
		case a == unknown || b == unknown:
			return may
		case a == b:
			return exact
		case (a < 0) == (b < 0) && max(a-b, b-a) <= 2+max(a, -a, b, -b)/4:
			return near
		}
		return 0
	}
	for i := len(to) - 1; i >= 0; i-- {
		for k := len(from) - 1; k >= 0; k-- {
			b := max(best[(i+1)*width+k], best[i*width+k+1])
			if n := score(i, k); n > 0 {
				b = max(b, best[(i+1)*width+k+1]+n)
			}
			best[i*width+k] = b
		}
	}
	for i, k := 0, 0; i < len(to) && k < len(from); {
		n := score(i, k)
		switch b := best[i*width+k]; {
		case n > 0 && b == best[(i+1)*width+k+1]+n:
			list[k] = placed[i]
			i, k = i+1, k+1
		case b == best[(i+1)*width+k]:
			i++
		default:
			k++
		}
	}
	return list
}

// weights returns the weights of t as those of f.
func (x *matching) weights() (list []profile.Weight) {
	x.matchCalls()
	for _, w := range x.t.Weights {
		c := x.counter(w.Counter)
		if w.Class == uint32(layout.OpCounted) || c == profile.None {
			continue
		}
		w.Counter = uint32(c)
		if w.Inlined != profile.None {
			w.Inlined = x.calls[w.Inlined]
		}
		list = append(list, w)
	}
	return list
}

// matchCalls finds the inlined calls of t among those of f: in the same call, of the same function, in the same line,
// one after the other. One that f does not have is that around it.
func (x *matching) matchCalls() {
	taken := make([]bool, len(x.f.Inlined))
	for _, in := range x.t.Inlined {
		call := int32(profile.None)
		if in.Parent != profile.None {
			call = x.calls[in.Parent]
		}
		parent := call
		for i, have := range x.f.Inlined {
			if !taken[i] && have.Parent == parent && have.Line == in.Line &&
				x.p.Strings[have.Callee] == x.program.Strings[in.Callee] {
				taken[i], call = true, int32(i)
				break
			}
		}
		x.calls = append(x.calls, call)
	}
}
