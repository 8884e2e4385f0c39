package liveness

import (
	"cmd/compile/internal/ssa"
	rt "internal/runtime/stemma"
)

// StemmaMarkUnsafe calls mark for the ID of each value between a load of g's
// shard and the last use of an address made of it: at these, a goroutine must
// not be moved to another P.
func StemmaMarkUnsafe(f *ssa.Func, mark func(ssa.ID)) {
	for _, b := range f.Blocks {
		last := 0 // values before this index are marked
		for i, v := range b.Values {
			if v.Op != ssa.OpAMD64MOVQload || v.AuxInt != rt.GShard || v.Args[0].Op != ssa.OpGetG {
				continue
			}
			end := stemmaLastUse(b, i)
			for j := max(last, i+1); j <= end; j++ {
				mark(b.Values[j].ID)
			}
			last = max(last, end+1)
		}
	}
}

// stemmaLastUse returns the index of the last value of b that depends on value
// i through arguments that are not memory.
func stemmaLastUse(b *ssa.Block, i int) int {
	tainted := map[*ssa.Value]bool{b.Values[i]: true}
	last := i
	for j := i + 1; j < len(b.Values); j++ {
		v := b.Values[j]
		for _, a := range v.Args {
			if tainted[a] {
				last = j
				if !v.Type.IsMemory() {
					tainted[v] = true
				}
			}
		}
	}
	return last
}
