package verify

import (
	"fmt"
	"math"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/profile"
)

// How counts are compared.
//
// Inlined calls that are always executed together share a counter. A build for the checker has one more for
// each of them, which it shares with nothing, where the inlined call begins. The two must be equal. They may
// differ by one where the end of the program has stopped a goroutine between them.

// counts compares the counts of all inlined calls of a profile. At its end so many goroutines may have been stopped
// anywhere.
func (v *verifier) counts(p *profile.Profile, stopped uint64) {
	if p.Column(profile.Calls.Name) == nil || p.Column(profile.Ops.Name) != nil {
		return // there weights are of operations
	}
	for _, loss := range p.Lost() {
		if loss.Kind == profile.LossFaults {
			stopped += min(loss.Count, math.MaxUint64-stopped) // between two calls as well
		}
	}
	for i, n := range p.Nodes {
		counts := p.NodeCounts(i)
		short := uint64(0) // in one place, calls that lie behind each other miss the same ones
		var differ []profile.Weight
		for _, w := range p.Funcs[n.Func].Weights {
			if profile.OpClasses()[w.Class] != beginning || w.Inlined == profile.None {
				continue
			}
			v.inlined++
			have := counted(p, n, w.Inlined, counts)
			if began := counts[w.Counter]; have > began && have-began <= stopped {
				short = max(short, have-began)
			} else if have != began {
				differ = append(differ, w)
			}
		}
		stopped -= short
		for _, w := range differ {
			v.differs(p, i, w, counts)
		}
	}
}

// beginning is the class of what a weight says of an inlined call's beginning.
const beginning = "mark"

// counted returns how often a node says that an inlined call was made.
func counted(p *profile.Profile, n profile.Node, inlined int32, counts []uint64) uint64 {
	if c := p.Funcs[n.Func].Inlined[inlined].Counter; c != profile.None {
		return counts[c]
	}
	return 0
}

// differs counts a mismatch, and prints the first ones.
func (v *verifier) differs(p *profile.Profile, node int, w profile.Weight, counts []uint64) {
	v.failed++
	v.kinds["count"]++
	if !v.o.Verbose || v.failed > uint64(v.o.Show) {
		return
	}
	n := p.Nodes[node]
	f := &p.Funcs[n.Func]
	in := f.Inlined[w.Inlined]
	fmt.Fprintf(v.w, "mismatch of kind count in node %d: %s, inlined at %s:%d into %s, began %s and is counted %s\n",
		node, cct.DisplayName(p.String(in.Callee)), p.String(in.File), in.Line, cct.DisplayName(p.String(f.Name)),
		humanize.Plural(counts[w.Counter], "time"), humanize.Plural(counted(p, n, w.Inlined, counts), "time"))
}
