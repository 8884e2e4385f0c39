package cct

import (
	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
	"github.com/stemma-go/stemma/profile"
)

// Profile-guided inlining inlines calls of a function into the function itself. Where
// recursion is folded such a call is a back edge like any other: it is counted as a call
// from its line, and what is called inside it is what the function itself calls there.

// recurs reports whether inlined call k of f is inside a call of the same function:
// inlined call outer, or f itself for None. Adapters are known by their names, if the program has called them.
func (x *expander) recurs(f *profile.Func, k int32) (outer int32, ok bool) {
	in := f.Inlined[k]
	home, ok := fold.Home(inlinedPath{x, f}, uint32(in.Parent+1), in.Callee, x.folds[in.Callee])
	return int32(home) - 1, ok
}

// An inlinedPath has the inlined calls of f for package fold, each at its number plus 1, inside f itself at 0.
type inlinedPath struct {
	x *expander
	f *profile.Func
}

// A wrapper is no function.
const noFunction = 1<<32 - 1

// Func returns the function that is called.
func (p inlinedPath) Func(n uint32) (name uint32) {
	switch {
	case n > 0:
		return p.f.Inlined[n-1].Callee
	case p.f.Flags&profile.FuncWrapper != 0:
		return noFunction
	}
	return p.f.Name
}

// Kind returns what that function is to recursion.
func (p inlinedPath) Kind(n uint32) fold.Kind {
	name := p.Func(n)
	if name == noFunction {
		return fold.None
	}
	return p.x.folds[name]
}

// Up returns the inlined call around one.
func (p inlinedPath) Up(n uint32) (up uint32, ok bool) {
	if n == 0 {
		return 0, false
	}
	return uint32(p.f.Inlined[n-1].Parent + 1), true
}

// hasRecursion reports whether f has an inlined call for which recurs holds.
func (x *expander) hasRecursion(f *profile.Func) bool {
	for k := range f.Inlined {
		if _, ok := x.recurs(f, int32(k)); ok {
			return true
		}
	}
	return false
}

// viaInlined returns how inlined call k of function f enters its callee.
func (x *expander) viaInlined(f uint32, k int32) Via {
	if x.originals[f] != nil {
		if _, ok := x.recurs(&x.p.Funcs[f], k); ok {
			return ViaCall
		}
	}
	return ViaInlined
}

// A callInBody is what two copies of one call have in common. Columns are not known: of
// calls of one function in one line, the first in one copy of the body is taken for the
// first in the other one.
type callInBody struct {
	body               int32 // inlined call that it is in, or None
	file, line, callee uint32
	kind               profile.SiteKind // 0 for a call that is inlined
	nth                int              // of those with all that in common
}

// originalCalls returns for each inlined call of f, and behind them for each call site,
// the one that stands for all copies of it.
func (x *expander) originalCalls(f *profile.Func) []int32 {
	var originals []int32
	first, count := make(map[callInBody]int32), make(map[callInBody]int)
	add := func(c callInBody) {
		c.nth = count[c]
		count[c]++
		if c.body != profile.None {
			c.body = x.bodyOf(f, originals, c.body)
		}
		k := int32(len(originals))
		if o, ok := first[c]; ok {
			k = o
		} else {
			first[c] = k
		}
		originals = append(originals, k)
	}
	for k, in := range f.Inlined {
		c := callInBody{body: in.Parent, file: in.File, line: in.Line, callee: in.Callee}
		if _, ok := x.recurs(f, int32(k)); ok {
			c.kind = profile.SiteCall
		}
		add(c)
	}
	for _, s := range f.Sites {
		add(callInBody{body: s.Inlined, file: s.File, line: s.Line, callee: s.Callee, kind: s.Kind})
	}
	return originals
}

// bodyOf returns the inlined call that stands for inlined call k as the place of calls,
// or None for f itself.
func (x *expander) bodyOf(f *profile.Func, originals []int32, k int32) int32 {
	for k != profile.None {
		outer, ok := x.recurs(f, k)
		if !ok {
			return originals[k]
		}
		k = outer
	}
	return profile.None
}
