package records

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
	"github.com/stemma-go/stemma/profile"
)

// Tree sums up an exact calling context tree (CCCP, tables 1 and 2).
type Tree struct {
	cct.Totals
	Nodes         int // physical ones: contexts of compiled functions
	NoAdapters    int // as many there would be if adapters had no places of their own
	NativeNodes   uint64
	NativeCalls   uint64
	CallbackCalls uint64 // of functions that natives have called, and of what these called, natives left out
	InlinedCalls  uint64
	FunctionCalls uint64 // of compiled functions from known call sites of others
	IndirectCalls uint64 // those of them whose site names no function: closures, interfaces
	MaxDepth      int
	MeanDepth     float64   // of calls
	StandardCalls [4]uint64 // by kind, see the constants
}

// Calls by where the caller and the callee are: in the program or in the
// standard library. Calls that no function made are not among them.
const (
	AppToApp = iota
	StdToApp
	AppToStd
	StdToStd
)

// TreeOf expands p and sums it up.
func TreeOf(p *profile.Profile, standard *Standard) *Tree {
	t := cct.New(p)
	sum := &Tree{Totals: t.Totals(), Nodes: len(p.Nodes), NoAdapters: folded(p)}
	sum.FunctionCalls, sum.IndirectCalls = indirect(p)
	sum.CallbackCalls = callbacks(t)
	std := make([]bool, len(t.Funcs))
	for i, f := range t.Funcs {
		std[i] = standard.Has(f.Name)
	}
	depths := make([]int, len(t.Nodes))
	weighted := 0.0
	for i, n := range t.Nodes {
		if i == 0 {
			continue
		}
		depths[i] = depths[n.Parent] + 1
		if t.Funcs[n.Func].Pseudo {
			depths[i]-- // what calls a program is no frame
		}
		sum.add(t, n, std)
		if n.Count > 0 {
			sum.MaxDepth = max(sum.MaxDepth, depths[i])
			weighted += float64(depths[i]) * float64(n.Count)
		}
	}
	if sum.Calls > 0 {
		sum.MeanDepth = weighted / float64(sum.Calls)
	}
	return sum
}

// folded returns how many nodes p would have if a call of an adapter led back as that of any other function does.
func folded(p *profile.Profile) int {
	if p.Full() {
		return len(p.Nodes)
	}
	t := refolded{p: p, nodes: p.Nodes[:min(1, len(p.Nodes)):1]}
	places := make(map[profile.Node]uint32)
	homes := make([]uint32, len(p.Nodes)) // of each node of p, the node of t under which its callees hang
	for i, n := range p.Nodes {
		if i == 0 {
			continue
		}
		at := profile.Node{Func: n.Func, Parent: homes[n.Parent], Cell: n.Cell}
		place, ok := places[at]
		if !ok {
			place = uint32(len(t.nodes))
			places[at], t.nodes = place, append(t.nodes, at)
		}
		homes[i] = place
		if kind := t.kind(n.Func); kind != fold.None {
			if home, back := fold.Home(t, at.Parent, n.Func, kind); back {
				homes[i] = home
			}
		}
	}
	return len(t.nodes)
}

// refolded is the tree that folded makes, a path of package fold from each of its nodes.
type refolded struct {
	p     *profile.Profile
	nodes []profile.Node
}

func (t refolded) Func(n uint32) uint32    { return t.nodes[n].Func }
func (t refolded) Kind(n uint32) fold.Kind { return t.kind(t.nodes[n].Func) }
func (t refolded) Up(n uint32) (up uint32, ok bool) {
	return t.nodes[n].Parent, n > 0 && t.p.Funcs[t.nodes[n].Func].Kind != profile.FuncLabels
}

// kind returns what a function is to recursion: adapters are like others.
func (t refolded) kind(fn uint32) fold.Kind {
	f := &t.p.Funcs[fn]
	if f.Kind != profile.FuncOrdinary {
		return fold.None
	}
	kind := fold.KindOf(f.Flags&(profile.FuncAdapter|profile.FuncWrapper) != 0, f.Flags&profile.FuncNew != 0)
	if kind == fold.Adapter {
		return fold.Ordinary
	}
	return kind
}

// callbacks counts the calls below natives, other than of natives.
func callbacks(t *cct.Tree) (sum uint64) {
	below := make([]bool, len(t.Nodes))
	for i, n := range t.Nodes {
		below[i] = below[n.Parent] || t.Sites[t.Nodes[n.Parent].Site].Via == cct.ViaNative
		if below[i] && t.Sites[n.Site].Via != cct.ViaNative {
			sum += n.Count
		}
	}
	return sum
}

// indirect counts the calls of compiled functions, and those of them that come from
// sites whose target the compiler does not know. Where recursion is folded, the
// site that entered a context first stands for all.
func indirect(p *profile.Profile) (calls, indirect uint64) {
	cells := make([][]int32, len(p.Funcs))
	for i := range p.Funcs {
		cells[i] = p.Funcs[i].CellSites()
	}
	for i, n := range p.Nodes {
		caller := p.Nodes[n.Parent].Func
		if i == 0 || int(n.Cell) >= len(cells[caller]) {
			continue
		}
		site := cells[caller][n.Cell]
		if site == profile.None || p.Funcs[caller].Sites[site].Kind != profile.SiteCall {
			continue
		}
		count := p.NodeCounts(i)[0]
		calls += count
		if p.Funcs[caller].Sites[site].Callee == 0 {
			indirect += count
		}
	}
	return calls, indirect
}

// add adds the calls of one node.
func (sum *Tree) add(t *cct.Tree, n cct.Node, std []bool) {
	switch t.Sites[n.Site].Via {
	case cct.ViaNative:
		sum.NativeCalls += n.Count
		if n.Count > 0 {
			sum.NativeNodes++
		}
	case cct.ViaInlined:
		sum.InlinedCalls += n.Count
	}
	caller := t.Nodes[n.Parent].Func
	if t.Funcs[caller].Pseudo || t.Funcs[n.Func].Pseudo {
		return
	}
	kind := AppToApp
	if std[caller] {
		kind = StdToApp
	}
	if std[n.Func] {
		kind += AppToStd
	}
	sum.StandardCalls[kind] += n.Count
}

// Standard tells functions of the standard library from those of a program.
type Standard struct{ folders map[string]bool }

// NewStandard reads which packages come with the Go installation in goroot. Its
// commands are programs.
func NewStandard(goroot string) (*Standard, error) {
	entries, err := os.ReadDir(filepath.Join(goroot, "src"))
	if err != nil {
		return nil, err
	}
	std := &Standard{make(map[string]bool)}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "cmd" {
			std.folders[e.Name()] = true
		}
	}
	return std, nil
}

// Has reports whether the function with this name, as package runtime shows it, is
// of the standard library. A program's own packages have a dot in the first
// element of their paths, or are called main.
func (s *Standard) Has(name string) bool {
	first, _, path := strings.Cut(name, "/")
	if !path {
		first, _, _ = strings.Cut(name, ".")
	}
	return s.folders[first]
}
