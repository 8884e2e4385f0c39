// Package homes finds the homes of all calls of a tree.
//
// Package fold has the rule. It looks for one home at a time, and goes outwards as far as it must. Where adapters
// follow on each other that is again and again the same way: a record of four thousand nodes could take a reader
// minutes. Here one walk finds all of them: it keeps what the way to a place has.
package homes

import "github.com/stemma-go/stemma/internal/goroot/rt/fold"

// A Path is the way to a place of a tree. Places have numbers, from 1 on; those further in have higher ones.
type Path struct {
	last  []uint32 // of each function: its innermost place, 0 for none
	steps []step
}

// A step is a place of a path.
type step struct {
	fn, before uint32 // before is what last had of fn
	adapter    uint32 // the innermost place that no call of an adapter leads back across, 0 for none
	wrapper    uint32 // the same of a wrapper
	cut        uint32 // what is not further in is none of the path
}

// New returns an empty path of functions with numbers below n.
func New(n int) *Path { return &Path{last: make([]uint32, n)} }

// Enter goes on to a place, which is a call of fn. It returns the place that the call leads back to, or place itself.
func (p *Path) Enter(place, fn uint32, kind fold.Kind) (home uint32) {
	at := step{}
	if n := len(p.steps); n > 0 {
		at = p.steps[n-1]
	}
	at.fn, at.before = fn, p.last[fn]
	known := at.before
	if known <= at.cut {
		known = 0
	}
	least := uint32(1) // what the call leads back to is this far in
	switch kind {
	case fold.Ordinary:
		at.adapter, at.wrapper = place, place
	case fold.Adapter:
		least = max(least, at.adapter)
		if at.wrapper = place; known == 0 {
			at.adapter = place // new to the path
		}
	case fold.Wrapper:
		least = max(least, at.wrapper)
	}
	p.steps = append(p.steps, at)
	if kind == fold.None {
		return place
	}
	p.last[fn] = place
	if known >= least {
		return known
	}
	return place
}

// Cut has functions on the way to a place, the last that was entered, be none of the path: it is one of labels.
func (p *Path) Cut(place uint32) { p.steps[len(p.steps)-1].cut = place }

// Leave goes back to the place before.
func (p *Path) Leave() {
	n := len(p.steps) - 1
	p.last[p.steps[n].fn] = p.steps[n].before
	p.steps = p.steps[:n]
}

// Walk calls enter for the places of a tree from 1 to n, and leave when all below one have been entered. The parent of
// a place has a lower number; place 0 is the root.
func Walk(n int, parent func(place uint32) uint32, enter, leave func(place uint32)) {
	kids, next := make([]uint32, n+1), make([]uint32, n+1) // 0 for none
	for i := uint32(n); i > 0; i-- {
		up := parent(i)
		next[i], kids[up] = kids[up], i
	}
	for i := kids[0]; i != 0; {
		if enter(i); kids[i] != 0 {
			i = kids[i]
			continue
		}
		for ; i != 0; i = parent(i) {
			if leave(i); next[i] != 0 {
				i = next[i]
				break
			}
		}
	}
}
