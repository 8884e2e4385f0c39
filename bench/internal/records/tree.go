package records

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// Tree sums up an exact calling context tree (CCCP, tables 1 and 2).
type Tree struct {
	cct.Totals
	Nodes         int // physical ones: contexts of compiled functions
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
	sum := &Tree{Totals: t.Totals(), Nodes: len(p.Nodes)}
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
