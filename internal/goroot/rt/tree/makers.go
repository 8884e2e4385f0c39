package tree

import (
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/recorder"
)

// A Maker is a function whose calls make new contexts.
type Maker struct {
	Func uint64 // its ID: no pointer, since this may run without a P, where no pointer may be written
	Made uint32 // nodes of those that were looked at
}

// newest is how many nodes Makers looks at, and candidates how many functions it counts at once.
const (
	newest     = 1 << 13
	candidates = 32
)

// Makers fills list with the functions that make the newest nodes, those that make most of them first, and returns how
// many nodes were looked at. It finds every function that makes more than one of candidates of them, and counts it too
// low by that at most (Misra and Gries, 1982): it runs once, under the lock, and has no memory but the stack.
func (t *Tree) Makers(list []Maker) (looked uint32) {
	var counts [candidates]Maker
	for n := uint32(t.used); n > RootNode && looked < newest; {
		if n = t.Owner(n - 8); t.table(n).Tag == layout.TagTable {
			continue
		}
		looked++
		if id := t.caller(n); id != 0 {
			tally(counts[:], id)
		}
	}
	for i := range list {
		list[i] = Maker{}
		most := &counts[0]
		for k := range counts {
			if counts[k].Made > most.Made {
				most = &counts[k]
			}
		}
		if most.Made > 0 {
			list[i], *most = *most, Maker{}
		}
	}
	return looked
}

// caller returns the function that made the call of node n, 0 if there is none. A wrapper is none that anyone knows.
func (t *Tree) caller(n uint32) uint64 {
	for {
		up := t.node(n).Parent
		if up < RootNode || up >= n { // the root, or a page that was lost
			return 0
		}
		m := t.meta(up)
		if m == nil {
			return 0
		}
		if m.Flags&layout.MetaFlagWrapper == 0 {
			return recorder.FuncID(m)
		}
		n = up
	}
}

// tally counts one more of a function.
func tally(counts []Maker, id uint64) {
	free := -1
	for i := range counts {
		switch {
		case counts[i].Made > 0 && counts[i].Func == id:
			counts[i].Made++
			return
		case counts[i].Made == 0:
			free = i
		}
	}
	if free >= 0 {
		counts[free] = Maker{id, 1}
		return
	}
	for i := range counts {
		counts[i].Made--
	}
}
