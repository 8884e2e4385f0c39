package profile

import (
	"strings"
	"testing"
)

// TestHomes has paths of functions, outermost first, and for each of them where in the path the calls hang that it
// makes. F and G are functions, a and b adapters, w a wrapper, ! is the place of a fault, and L and M are
// labels.
func TestHomes(t *testing.T) {
	kinds := map[byte]Func{'a': {Flags: FuncAdapter}, 'b': {Flags: FuncAdapter}, 'w': {Flags: FuncWrapper},
		'!': {Kind: FuncFault}, 'F': {}, 'G': {Flags: FuncAsm},
		'L': {Kind: FuncLabels}, 'M': {Kind: FuncLabels}}
	for path, want := range map[string]string{
		"FGF":      "FG0",
		"aFaGa":    "aFaGa",
		"aFaGaF":   "aFaGa1",
		"aa":       "a0",
		"abba":     "ab10",
		"Fawbwa":   "Fawb21",
		"Fa!a":     "Fa!1",
		"waFwa":    "waFwa",
		"FaGaFaGa": "FaGa0",
		"FLF":      "FLF",
		"FGLFGF":   "FGLFG3",
		"FLFMF":    "FLFMF",
		"FLFML":    "FLFM1",
		"aLa":      "aLa",
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
