package cct

import (
	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
	"github.com/stemma-go/stemma/internal/homes"
	"github.com/stemma-go/stemma/profile"
)

// Go inlines calls of a function into the function itself, of small ones and of those that a profile says are hot.
// Where recursion is folded such a call is a back edge like any other: it is counted as a call
// from its line, and what is called inside it is what the function itself calls there.

// recurs reports whether inlined call k of function f is inside a call of the same function:
// inlined call outer, or f itself for None.
func (x *expander) recurs(f uint32, k int32) (outer int32, ok bool) {
	if x.outers[f] == nil {
		return profile.None, false
	}
	outer = x.outers[f][k]
	return outer, outer != k
}

// outersOf returns for each inlined call of f the one that it leads back to, None for f itself, or itself. Adapters
// are known by their names, if the program has called them. The result is nil if no call leads back.
func (x *expander) outersOf(f *profile.Func) (outers []int32) {
	if len(f.Inlined) == 0 {
		return nil
	}
	const self = 2 // place of inlined call 0; f itself is 1
	functions := map[uint32]uint32{}
	number := func(name uint32) uint32 {
		if _, ok := functions[name]; !ok {
			functions[name] = uint32(len(functions))
		}
		return functions[name]
	}
	own, kind := number(f.Name), x.folds[f.Name]
	for _, in := range f.Inlined {
		number(in.Callee)
	}
	if f.Flags&profile.FuncWrapper != 0 {
		kind = fold.None // a wrapper is no function
	}
	outers = make([]int32, len(f.Inlined))
	path, some := homes.New(len(functions)), false
	homes.Walk(len(f.Inlined)+1, func(n uint32) uint32 {
		if n < self {
			return 0
		}
		return uint32(f.Inlined[n-self].Parent + self)
	}, func(n uint32) {
		if n < self {
			path.Enter(n, own, kind)
			return
		}
		name := f.Inlined[n-self].Callee
		home := path.Enter(n, functions[name], x.folds[name])
		outers[n-self] = int32(home) - self
		some = some || home != n
	}, func(uint32) { path.Leave() })
	if !some {
		return nil
	}
	return outers
}

// originalsOf finds out which calls of function f stand for others, if calls of its own are inlined into it.
func (x *expander) originalsOf(f uint32) {
	if outers := x.outersOf(&x.p.Funcs[f]); outers != nil {
		x.outers[f] = outers
		x.originals[f] = x.originalCalls(f)
	}
}

// viaInlined returns how inlined call k of function f enters its callee.
func (x *expander) viaInlined(f uint32, k int32) Via {
	if _, ok := x.recurs(f, k); ok {
		return ViaCall
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

// originalCalls returns for each inlined call of function fn, and behind them for each call site,
// the one that stands for all copies of it.
func (x *expander) originalCalls(fn uint32) []int32 {
	f := &x.p.Funcs[fn]
	var originals []int32
	first, count := make(map[callInBody]int32), make(map[callInBody]int)
	add := func(c callInBody) {
		c.nth = count[c]
		count[c]++
		if c.body != profile.None {
			c.body = x.bodyOf(fn, originals, c.body)
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
		if _, ok := x.recurs(fn, int32(k)); ok {
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
func (x *expander) bodyOf(f uint32, originals []int32, k int32) int32 {
	for k != profile.None {
		outer, ok := x.recurs(f, k)
		if !ok {
			return originals[k]
		}
		k = outer
	}
	return profile.None
}
