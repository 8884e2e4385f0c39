package similarity

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// How renames are found.
//
// A function that only the new tree has may be one that only the old tree has. What speaks
// for it is what it calls and what calls it. These go by the last part of their names, so
// that a package or a type that has another name, and renames all that is in it, does not
// hide that its functions call each other as before. A function keeps its package, or the
// last part of its name, or both: else it is another one.

// Bounds of findRenames.
const (
	alike      = 0.75    // how much must be the same of a function with a new last part of its name
	alikeMoved = 0.3     // and of one with the same last part
	mostTried  = 1 << 20 // pairs; trees that have more unknown functions are of different programs
)

// A candidate is a function that only one tree has.
type candidate struct {
	name, pkg, last string
	around          map[string]int // what it calls (>name) and what calls it (<name): how many calls
}

// A pair are two candidates, by index.
type pair struct {
	a, b  int
	score float64
}

// findRenames returns the names of functions in a for those in b that seem to be the same. Two
// that fit equally well are no rename, as nobody could tell which one it is.
func findRenames(a, b Tree) map[string]string {
	inA, inB := outermost(a), outermost(b)
	listA, listB := onlyIn(a, inA, inB), onlyIn(b, inB, inA)
	if len(listA)*len(listB) > mostTried {
		return nil
	}
	var pairs []pair
	for i, x := range listA {
		for k, y := range listB {
			if s := x.score(y); s > 0 {
				pairs = append(pairs, pair{i, k, s})
			}
		}
	}
	slices.SortStableFunc(pairs, func(x, y pair) int { return cmp.Compare(y.score, x.score) })
	best := func(p pair, mine func(pair) int) bool {
		for _, q := range pairs {
			if q.score < p.score {
				return true
			}
			if q != p && mine(q) == mine(p) {
				return false
			}
		}
		return true
	}
	renamed := make(map[string]string)
	takenA, takenB := make(map[int]bool), make(map[int]bool)
	for len(pairs) > 0 {
		p := pairs[0]
		if best(p, func(q pair) int { return q.a }) && best(p, func(q pair) int { return q.b }) {
			renamed[listB[p.b].name] = listA[p.a].name
		}
		takenA[p.a], takenB[p.b] = true, true
		pairs = slices.DeleteFunc(pairs, func(q pair) bool { return takenA[q.a] || takenB[q.b] })
	}
	return renamed
}

// outermost returns the functions of a tree that are in no other one.
func outermost(t Tree) map[string]bool {
	all := make(map[string]bool)
	for _, f := range t.Funcs {
		if !f.Pseudo {
			all[outer(f.Name)] = true
		}
	}
	return all
}

// outer returns the name of the function in which a closure is, of others their own.
func outer(name string) string {
	for m := closure.FindStringSubmatch(name); m != nil; m = closure.FindStringSubmatch(name) {
		name = m[1]
	}
	return name
}

// onlyIn returns the functions of t that the other tree does not have, in the order of their names.
func onlyIn(t Tree, mine, other map[string]bool) []candidate {
	var list []candidate
	place := make(map[string]int)
	for _, name := range slices.Sorted(maps.Keys(mine)) {
		if !other[name] {
			pkg, last := split(name)
			place[name] = len(list)
			list = append(list, candidate{name, pkg, last, make(map[string]int)})
		}
	}
	if len(list) == 0 {
		return nil
	}
	t.eachCall(func(caller, callee string) {
		caller, callee = outer(caller), outer(callee)
		if caller == callee {
			return
		}
		_, from := split(caller)
		_, to := split(callee)
		if i, ok := place[caller]; ok {
			list[i].around[">"+to]++
		}
		if i, ok := place[callee]; ok {
			list[i].around["<"+from]++
		}
	})
	return list
}

// eachCall calls do for each call in the code; if the code is not known, for each edge
// of the tree between two functions.
func (t Tree) eachCall(do func(caller, callee string)) {
	for _, c := range t.Calls {
		do(c.Caller, c.Callee)
	}
	if t.Calls != nil {
		return
	}
	known := make(map[[3]uint32]bool)
	for k, n := range t.Nodes {
		if key := [3]uint32{t.Nodes[n.Parent].Func, n.Func, n.Site}; k > 0 && !known[key] {
			known[key] = true
			do(t.Funcs[key[0]].Name, t.Funcs[key[1]].Name)
		}
	}
}

// split returns the package of a function, and the last part of its name. That of a generic one is its name without the
// brackets.
func split(name string) (pkg, last string) {
	slash := strings.LastIndexByte(name, '/') + 1
	dot := strings.IndexByte(name[slash:], '.')
	if dot < 0 {
		return "", name
	}
	last = strings.TrimSuffix(name[slash+dot+1:], "[...]")
	return name[:slash+dot], last[strings.LastIndexByte(last, '.')+1:]
}

// score returns how much speaks for two candidates being one function, 0 if too little does.
func (c candidate) score(o candidate) float64 {
	samePkg, sameLast := c.pkg == o.pkg, c.last == o.last
	if !samePkg && !sameLast {
		return 0
	}
	common, all := 0, 0
	for k, n := range c.around {
		common += min(n, o.around[k])
		all += max(n, o.around[k])
	}
	for k, n := range o.around {
		if c.around[k] == 0 {
			all += n
		}
	}
	share := 0.0
	if all > 0 {
		share = float64(common) / float64(all)
	}
	switch {
	case sameLast && all == 0:
		return 1
	case sameLast && share >= alikeMoved:
		return 1 + share // rather than one whose name is another
	case samePkg && share >= alike:
		return share
	}
	return 0
}

// Package returns the package of a function, "" if it has none, and the rest of its name.
func Package(name string) (pkg, rest string) {
	if pkg, _ = split(name); pkg == "" {
		return "", name
	}
	return pkg, name[len(pkg)+1:]
}

// Outermost returns the function in which a closure is; of others their own name.
func Outermost(name string) string { return outer(name) }
