package staticdata

import (
	"cmd/compile/internal/base"
	"cmd/compile/internal/ir"
	"cmd/internal/obj"
	"cmp"
	"maps"
	"slices"
	"sync"
)

// StemmaStandsIn reports whether the value of function n is to be one of a function that
// stands in for it. Package ssagen sets it.
var StemmaStandsIn = func(n *ir.Name) bool { return false }

// stemmaNatives has the functions whose values were asked for, which happens in the concurrent
// back end as well.
var stemmaNatives struct {
	sync.Mutex
	names map[*obj.LSym]*ir.Name
}

// stemmaValue returns the function value symbol of the function that stands in for n, nil if
// none does.
func stemmaValue(n *ir.Name) *obj.LSym {
	if !StemmaStandsIn(n) {
		return nil
	}
	stemmaNatives.Lock()
	defer stemmaNatives.Unlock()
	if stemmaNatives.names == nil {
		stemmaNatives.names = map[*obj.LSym]*ir.Name{}
	}
	stemmaNatives.names[n.Linksym()] = n
	return StemmaValueSym(n)
}

// StemmaValueSym returns the symbol of that value. It has one name in all packages, and the
// linker keeps one of them: so a function has one address, wherever its value is taken.
func StemmaValueSym(n *ir.Name) *obj.LSym {
	return base.Ctxt.Lookup("stemma:value:" + n.Linksym().Name + "·f")
}

// StemmaNatives returns the functions whose values were asked for since it was called last, by name.
func StemmaNatives() []*ir.Name {
	stemmaNatives.Lock()
	defer stemmaNatives.Unlock()
	list := slices.SortedFunc(maps.Values(stemmaNatives.names), func(a, b *ir.Name) int {
		return cmp.Compare(a.Linksym().Name, b.Linksym().Name)
	})
	clear(stemmaNatives.names)
	return list
}
