package cct_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// A sampledProfile is a profile to which places are added at which contexts were sampled.
type sampledProfile struct {
	*profile.Profile
	column profile.Metric // of the samples
	index  *profile.NodeIndex
}

// at returns the node of a place below a node, with frames as "function file:line", innermost first.
func (p *sampledProfile) at(up uint32, ns uint64, frames ...profile.Frame) uint32 {
	fn := uint32(len(p.Funcs))
	p.Funcs = append(p.Funcs, profile.Func{Kind: profile.FuncPlace, Frames: frames})
	n := p.index.Node(up, 0, fn)
	p.Column(p.column.Name).Values[n] += ns
	return n
}

func (p *sampledProfile) frame(fn, file string, line uint32) profile.Frame {
	str := func(s string) uint32 {
		if i := slices.Index(p.Strings, s); i >= 0 {
			return uint32(i)
		}
		p.Strings = append(p.Strings, s)
		return uint32(len(p.Strings) - 1)
	}
	return profile.Frame{Func: str(fn), File: str(file), Line: line}
}

// TestContextCPU expands samples of contexts: in a function, in a call that is inlined there, in natives that it calls
// at a site that the record has and at others, and outside of all contexts.
func TestContextCPU(t *testing.T) {
	d := recordtest.New(1, "prog")
	f := d.Func(recordtest.Func{Name: "main.f", Files: []string{"main.go"},
		Inlined: []recordtest.Inlined{{Callee: "main.in", Line: 5, Counter: 2}},
		Sites: []recordtest.Site{
			{Kind: layout.SiteNative, Callee: "runtime.mapassign", Line: 7, Cell: 1, Counter: 3},
			{Kind: layout.SiteCall, Line: 9, Cell: 2}}})
	g := d.Func(recordtest.Func{Name: "main.g", Files: []string{"main.go"}})
	inF := d.Node(recordtest.Root, layout.RootMain, f)
	inG := d.Node(inF, 1, g)
	d.Count(0, inF, 0, 1)
	d.Count(0, inF, 1, 6)
	d.Count(0, inF, 2, 2)
	d.Count(0, inG, 0, 1)
	l, err := livedir.Open(d.FS())
	if err != nil {
		t.Fatal(err)
	}
	p := &sampledProfile{Profile: l.Profile, column: profile.ContextCPU}
	if _, err := p.AddColumn(profile.ContextCPU); err != nil {
		t.Fatal(err)
	}
	p.index = profile.NewNodeIndex(p.Profile, 0)
	nodeF, _ := l.Node(uint32(inF))
	nodeG, _ := l.Node(uint32(inG))
	p.at(uint32(nodeF), 1, p.frame("main.f", "main.go", 6))
	p.at(uint32(nodeF), 20, p.frame("main.in", "main.go", 2), p.frame("main.f", "main.go", 5))
	call := p.at(uint32(nodeF), 0, p.frame("main.f", "main.go", 7))
	native := p.at(call, 300, p.frame("runtime.mapassign", "map.go", 1))
	p.at(native, 4000, p.frame("runtime.inlinedGrow", "map.go", 9), p.frame("runtime.grow", "map.go", 8))
	p.at(call, 50_000, p.frame("runtime.morestack", "asm.s", 8))
	p.at(uint32(nodeG), 600_000, p.frame("main.g", "main.go", 20))
	gc := p.at(0, 0, p.frame("[gc]", "", 0))
	p.at(gc, 7_000_000, p.frame("runtime.scan", "gc.go", 8))
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	want := map[string]uint64{
		"[main];main.f":                 1,
		"[main];main.f;inlined main.in": 20,
		"[main];main.f;native map":      300,
		"[main];main.f;native map;native runtime.grow;inlined runtime.inlinedGrow": 4000,
		"[main];main.f;native runtime.morestack":                                   50_000,
		"[main];main.f;main.g":                                                     600_000,
		"[gc];native runtime.scan":                                                 7_000_000,
	}
	calls := map[string]uint64{"[main];main.f": 1, "[main];main.f;inlined main.in": 6,
		"[main];main.f;native map": 2, "[main];main.f;main.g": 1}
	values := cct.ValuesOf(p.Profile, false)
	for k, want := range map[string]map[string]uint64{profile.Calls.Name: calls, profile.ContextCPU.Name: want} {
		have := make(map[string]uint64)
		for v, typ := range values.Types {
			for i, n := range values.Counts[v] {
				if typ.Name == k && n > 0 {
					have[path(values.Tree, uint32(i))] += n
				}
			}
		}
		if !reflect.DeepEqual(have, want) {
			t.Errorf("%s: have %v, want %v", k, have, want)
		}
	}
}

// path returns the functions from the root to a node, each with the way it was entered if that is no call.
func path(t *cct.Tree, n uint32) string {
	var words []string
	for _, f := range t.Stack(n) {
		word := strings.Replace(f.Func, "runtime.mapassign", "map", 1)
		if f.Via != cct.ViaCall {
			word = f.Via.String() + " " + word
		}
		words = append(words, word)
	}
	slices.Reverse(words)
	return strings.Join(words, ";")
}
