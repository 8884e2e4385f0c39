package profile

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// Limits of what a function may have. They are far above what the compiler
// emits, and keep a damaged record from asking for memory without bounds.
const (
	cellsPerSite = 16 // a compiler that drops dead sites leaves gaps
	maxCounters  = 1 << 24

	rootCells = layout.NumRoots
)

// CheckValid returns an error that names the first place where p breaks a rule
// of the package: an index out of range, a child before its parent, a missing
// root. A profile that passes can be handed to every other function here
// without a panic.
// It takes one pass over each table and does not change p. It does not check counts:
// they are whatever was recorded.
func (p *Profile) CheckValid() error {
	if len(p.Strings) == 0 || p.Strings[0] != "" {
		return fmt.Errorf(`strings: string 0 is not ""`)
	}
	if len(p.Funcs) == 0 || p.Funcs[0].Kind != FuncRoot {
		return fmt.Errorf("funcs: function 0 is not the root")
	}
	for i := range p.Funcs {
		if err := p.Funcs[i].Check(len(p.Strings)); err != nil {
			return fmt.Errorf("funcs: function %d: %w", i, err)
		}
		if i > 0 && p.Funcs[i].Kind == FuncRoot {
			return fmt.Errorf("funcs: function %d: a second root", i)
		}
	}
	if err := p.checkColumns(); err != nil {
		return err
	}
	if err := p.checkNodes(); err != nil {
		return err
	}
	return p.checkRequests()
}

// checkRequests checks that each request has a sampled stack, which may be empty.
func (p *Profile) checkRequests() error {
	for i, r := range p.Requests {
		if uint64(r.Node) >= uint64(len(p.Nodes)) {
			return fmt.Errorf("requests: request %d: node %d is not one of %d", i, r.Node, len(p.Nodes))
		}
		if kind := p.Funcs[p.Nodes[r.Node].Func].Kind; r.Node != 0 && kind != FuncPlace {
			return fmt.Errorf("requests: request %d: a node of kind %v, want %v", i, kind, FuncPlace)
		}
	}
	return nil
}

// checkColumns checks that there is a value for every node, or counter.
func (p *Profile) checkColumns() error {
	var counters uint64
	for _, n := range p.Nodes {
		if uint64(n.Func) < uint64(len(p.Funcs)) { // otherwise checkNode reports it
			counters += uint64(p.Funcs[n.Func].Counters)
		}
	}
	for i, c := range p.Columns {
		want := uint64(len(p.Nodes))
		switch {
		case c.Weighted:
			want = 0
		case c.PerCounter:
			want = counters
		}
		switch {
		case c.Name == "" || strings.ContainsAny(c.Name, " \t\r\n,\"") || slices.Contains(nodeColumns, c.Name):
			return fmt.Errorf("columns: column %d: %q is no name of a value", i, c.Name)
		case Printable(c.Name+c.Unit+c.About) != c.Name+c.Unit+c.About:
			return fmt.Errorf("columns: %q: unit %q or about %q is not printable", c.Name, c.Unit, c.About)
		case p.Column(c.Name) != &p.Columns[i]:
			return fmt.Errorf("columns: two of value %s", c.Name)
		case c.PerCounter && c.Sampled:
			return fmt.Errorf("columns: %s: sampled, and for each counter", c.Name)
		case c.Weighted && (c.PerCounter || c.Sampled || !p.Has(Calls)):
			return fmt.Errorf("columns: %s: weighted, but sampled, for each counter, or without calls", c.Name)
		case uint64(len(c.Values)) != want:
			return fmt.Errorf("columns: %s: %d values, want %d", c.Name, len(c.Values), want)
		}
	}
	return nil
}

// Check holds a function against the rules that need no other function: the
// ranges of its numbers and which parts a function of its kind may have.
// strings is the length of the string table.
func (f *Func) Check(strings int) error {
	switch {
	case f.Kind >= numFuncKinds:
		return fmt.Errorf("unknown kind %d: the record is of a newer stemma, or damaged", f.Kind)
	case f.Flags&^funcFlags != 0:
		return fmt.Errorf("unknown flags %#x: the record is of a newer stemma, or damaged", f.Flags)
	case uint64(f.Name) >= uint64(strings) || uint64(f.File) >= uint64(strings):
		return fmt.Errorf("name %d or file %d is not one of %d strings", f.Name, f.File, strings)
	case uint64(f.Cells) > cellsPerSite*uint64(len(f.Sites)+1):
		return fmt.Errorf("%d cells for %d sites", f.Cells, len(f.Sites))
	case f.Kind.Amount() && f.Cells != 0:
		return fmt.Errorf("allocations or waits with %d cells, want 0", f.Cells)
	case f.Kind != FuncPlace && (f.Counters == 0 || f.Counters > maxCounters):
		return fmt.Errorf("%d counters, want 1 to %d", f.Counters, maxCounters)
	case f.Kind == FuncPlace && (f.Counters != 0 || f.Cells != 0 || len(f.Frames) == 0):
		return fmt.Errorf("a place with %d counters, %d cells and %d frames, want 0, 0 and at least 1", f.Counters,
			f.Cells, len(f.Frames))
	case f.Kind == FuncRoot && f.Cells != rootCells:
		return fmt.Errorf("the root has %d cells, want %d", f.Cells, rootCells)
	case f.Kind == FuncLabels && f.Cells != 1:
		return fmt.Errorf("labels with %d cells, want 1", f.Cells)
	case f.Kind != FuncFault && f.Kind != FuncPlace && f.Kind != FuncLabels && len(f.Frames) != 0:
		return fmt.Errorf("frames in a function that is neither fault, place nor labels")
	case f.Kind != FuncOrdinary && len(f.Inlined)+len(f.Sites)+len(f.Weights)+len(f.Placed) != 0:
		return fmt.Errorf("inlined calls, sites, weights or placed counters in a function that is not compiled")
	}
	if err := f.checkInlined(strings); err != nil {
		return err
	}
	if err := f.checkSites(strings); err != nil {
		return err
	}
	return f.checkWeights()
}

// checkWeights checks the weights of the function's counters.
func (f *Func) checkWeights() error {
	for i, w := range f.Weights {
		switch {
		case w.Counter >= f.Counters:
			return fmt.Errorf("weight %d: counter %d is not one of %d", i, w.Counter, f.Counters)
		case w.Inlined < None || int(w.Inlined) >= len(f.Inlined):
			return fmt.Errorf("weight %d: inlined call %d is not one of %d", i, w.Inlined, len(f.Inlined))
		case int(w.Class) >= len(OpClasses()):
			return fmt.Errorf("weight %d: class %d is not one of %d", i, w.Class, len(OpClasses()))
		case w.N == 0 || w.N == math.MinInt32:
			return fmt.Errorf("weight %d: %d operations", i, w.N)
		}
	}
	for i, c := range f.Placed {
		if c < None || int64(c) >= int64(f.Counters) {
			return fmt.Errorf("placed counter %d: %d is not one of %d", i, c, f.Counters)
		}
	}
	return nil
}

// checkInlined checks the inlined calls, and the frames of a fault. That the
// parent of an inlined call comes first makes every walk outwards finite.
func (f *Func) checkInlined(strings int) error {
	for i, in := range f.Inlined {
		switch {
		case in.Parent < None || int(in.Parent) >= i:
			return fmt.Errorf("inlined call %d: parent %d does not come before it", i, in.Parent)
		case uint64(max(in.Callee, in.File, in.CalleeFile)) >= uint64(strings):
			return fmt.Errorf("inlined call %d: callee %d, file %d or callee's file %d is not one of %d strings", i,
				in.Callee, in.File, in.CalleeFile, strings)
		case in.Counter < None || int64(in.Counter) >= int64(f.Counters):
			return fmt.Errorf("inlined call %d: counter %d is not one of %d", i, in.Counter, f.Counters)
		}
	}
	for i, fr := range f.Frames {
		if uint64(fr.Func) >= uint64(strings) || uint64(fr.File) >= uint64(strings) {
			return fmt.Errorf("frame %d: function %d or file %d is not one of %d strings", i, fr.Func, fr.File, strings)
		}
	}
	return nil
}

// checkSites checks the call sites. A cell belongs to one site only: otherwise
// the site that a child was entered from would not be known.
func (f *Func) checkSites(strings int) error {
	seen := make(map[int32]int)
	for i, s := range f.Sites {
		switch {
		case s.Kind == 0 || s.Kind >= numSiteKinds:
			return fmt.Errorf("site %d: unknown kind %d", i, s.Kind)
		case s.Inlined < None || int(s.Inlined) >= len(f.Inlined):
			return fmt.Errorf("site %d: inlined call %d is not one of %d", i, s.Inlined, len(f.Inlined))
		case uint64(s.File) >= uint64(strings) || uint64(s.Callee) >= uint64(strings):
			return fmt.Errorf("site %d: callee %d or file %d is not one of %d strings", i, s.Callee, s.File, strings)
		case s.Cell < None || int64(s.Cell) >= int64(f.Cells):
			return fmt.Errorf("site %d: cell %d is not one of %d", i, s.Cell, f.Cells)
		case s.Counter < None || int64(s.Counter) >= int64(f.Counters):
			return fmt.Errorf("site %d: counter %d is not one of %d", i, s.Counter, f.Counters)
		}
		if s.Cell == None {
			continue
		}
		if other, ok := seen[s.Cell]; ok {
			return fmt.Errorf("site %d: cell %d also belongs to site %d", i, s.Cell, other)
		}
		seen[s.Cell] = i
	}
	return nil
}

// checkNodes checks the tree. It takes one pass, because a parent must have
// come before its children.
func (p *Profile) checkNodes() error {
	if len(p.Nodes) == 0 || p.Nodes[0].Func != 0 || p.Nodes[0].Parent != 0 {
		return fmt.Errorf("nodes: node 0 is not the root")
	}
	entered := p.EnteredCells()
	for i, n := range p.Nodes {
		if err := p.checkNode(i, n, entered); err != nil {
			return fmt.Errorf("nodes: node %d: %w", i, err)
		}
	}
	return nil
}

// checkNode checks node i; those before it have passed.
func (p *Profile) checkNode(i int, n Node, entered Cells) error {
	if uint64(n.Func) >= uint64(len(p.Funcs)) {
		return fmt.Errorf("function %d is not one of %d", n.Func, len(p.Funcs))
	}
	f := &p.Funcs[n.Func]
	for _, c := range p.Columns {
		if c.PerCounter && uint64(n.First)+uint64(f.Counters) > uint64(len(c.Values)) {
			return fmt.Errorf("counters %d to %d, but there are %d", n.First, uint64(n.First)+uint64(f.Counters),
				len(c.Values))
		}
	}
	if i == 0 {
		return nil
	}
	if int64(n.Parent) >= int64(i) {
		return fmt.Errorf("parent %d does not come before it", n.Parent)
	}
	if f.Kind == FuncRoot {
		return fmt.Errorf("a second root")
	}
	return p.CheckCell(n, entered)
}

// CheckCell holds a node, whose parent and function there are, against the cells of its
// parent. The cell of a fault, which happens at no call site, has no meaning, nor has one of
// the overflow node. Places lie below the root, below each other, and where the time on CPU of
// contexts was sampled below nodes of functions; they have no cells.
func (p *Profile) CheckCell(n Node, entered Cells) error {
	up := p.Nodes[n.Parent].Func
	kind, above := p.Funcs[n.Func].Kind, p.Funcs[up].Kind
	switch {
	case kind != FuncPlace && above == FuncPlace, kind == FuncPlace && above.Amount():
		return fmt.Errorf("a node of kind %v below one of kind %v", kind, above)
	case kind == FuncPlace && n.Cell != 0:
		return fmt.Errorf("cell %d of a place, want 0", n.Cell)
	case kind == FuncPlace || kind == FuncFault || above == FuncOverflow:
		return nil
	}
	if cells := entered[up]; uint64(n.Cell) >= uint64(len(cells)) || !cells[n.Cell] {
		return fmt.Errorf("cell %d of function %d belongs to no site", n.Cell, up)
	}
	return nil
}

// Cells has, for each function and cell, whether control may enter another node through
// it. The zero Cells is that of no functions.
type Cells [][]bool

// EnteredCells returns the cells of all functions.
func (p *Profile) EnteredCells() Cells {
	entered := make(Cells, len(p.Funcs))
	for i := range p.Funcs {
		f := &p.Funcs[i]
		cells := make([]bool, f.Cells)
		for c, s := range f.CellSites() {
			cells[c] = s != None || f.Kind != FuncOrdinary
		}
		entered[i] = cells
	}
	return entered
}
