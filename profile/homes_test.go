package profile

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
	"github.com/stemma-go/stemma/internal/testing/foldtest"
)

// TestHomes has paths of functions, outermost first, and for each of them where in the path the calls hang that it
// makes. F and G are functions, a and b adapters, w a wrapper, ! is the place of a fault, and L and M are
// labels. A and B are adapters of a record that has no FuncNew.
func TestHomes(t *testing.T) {
	kinds := map[byte]Func{'a': {Flags: FuncAdapter | FuncNew}, 'b': {Flags: FuncAdapter | FuncNew},
		'A': {Flags: FuncAdapter}, 'B': {Flags: FuncAdapter}, 'w': {Flags: FuncWrapper},
		'!': {Kind: FuncFault}, 'F': {}, 'G': {Flags: FuncAsm},
		'L': {Kind: FuncLabels}, 'M': {Kind: FuncLabels}}
	for path, want := range map[string]string{
		"FGF":      "FG0",
		"aFaGa":    "aFaGa",
		"aFaGaF":   "aFaGa1",
		"aa":       "a0",
		"abba":     "ab1a",
		"abab":     "aba1",
		"ABBA":     "AB10",
		"Fawbwa":   "Fawbwa",
		"FAwBwA":   "FAwB21",
		"Fa!a":     "Fa!1",
		"waFwa":    "waFwa",
		"FaGaFaGa": "FaGa0",
		"FLF":      "FLF",
		"FGLFGF":   "FGLFG3",
		"FLFMF":    "FLFMF",
		"FLFML":    "FLFM1",
		"aLa":      "aLa",
		"abLaba":   "abLaba",
	} {
		p := &Profile{Funcs: []Func{{Kind: FuncRoot}}, Nodes: []Node{{}}}
		funcs := map[byte]uint32{}
		for i := range len(path) {
			c := path[i]
			if _, ok := funcs[c]; !ok {
				funcs[c] = uint32(len(p.Funcs))
				p.Funcs = append(p.Funcs, kinds[c])
			}
			p.Nodes = append(p.Nodes, Node{Func: funcs[c], Parent: uint32(i)})
		}
		homes := p.Homes()[1 : len(want)+1]
		var have strings.Builder
		for i, home := range homes {
			if int(home) == i+1 {
				have.WriteByte(path[i])
			} else {
				have.WriteByte('0' + byte(home-1))
			}
		}
		if have.String() != want {
			t.Errorf("%s: have %s, want %s", path, &have, want)
		}
	}
}

// TestHomesInPlace has all short paths, each node below the home of the one before: homes are where folding puts them.
func TestHomesInPlace(t *testing.T) {
	flags := map[fold.Kind]uint8{fold.Adapter: FuncAdapter | FuncNew, fold.Wrapper: FuncWrapper}
	const letters = "FGabw"
	p := &Profile{Funcs: []Func{{Kind: FuncRoot}}, Nodes: []Node{{}}}
	for i := range len(letters) {
		p.Funcs = append(p.Funcs, Func{Flags: flags[foldtest.Kind(letters[i])]})
	}
	at, paths := map[string]uint32{"": 0}, []string{""} // the nodes of paths as they are folded before their last call
	for path := range foldtest.Paths(letters, 6) {
		last := len(path) - 1
		above := foldtest.Folded(path[:last])
		if path = above + path[last:]; at[path] == 0 {
			at[path] = uint32(len(p.Nodes))
			paths = append(paths, path)
			f := 1 + strings.IndexByte(letters, path[len(above)])
			p.Nodes = append(p.Nodes, Node{Func: uint32(f), Parent: at[above]})
		}
	}
	for n, home := range p.Homes() {
		if have, want := paths[home], foldtest.Folded(paths[n]); have != want {
			t.Fatalf("%s: its callees are below %s, want %s", paths[n], have, want)
		}
	}
}

// TestHomesFar has a path as only a hostile record has it: adapters that come a second time, none of which leads back,
// since the first of another one lies between. One by one, their homes would take hours.
func TestHomesFar(t *testing.T) {
	const adapters = 50_000
	p := &Profile{Funcs: []Func{{Kind: FuncRoot}}, Nodes: []Node{{}}}
	for range adapters {
		p.Funcs = append(p.Funcs, Func{Flags: FuncAdapter | FuncNew})
	}
	for i := range uint32(2*adapters - 1) {
		p.Nodes = append(p.Nodes, Node{Func: 1 + i%adapters, Parent: i})
	}
	for n, home := range p.Homes() {
		if home != uint32(n) {
			t.Fatalf("node %d has the home %d, want its own", n, home)
		}
	}
}
