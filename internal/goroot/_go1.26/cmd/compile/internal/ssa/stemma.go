package ssa

import rt "internal/runtime/stemma"

// stemmaIsSlow reports whether b is the slow path of the entry of an
// instrumented function, which is laid out last, out of the way.
func stemmaIsSlow(b *Block) bool {
	for _, v := range b.Values {
		if v.Op == OpAMD64LoweredWB && v.AuxInt == rt.EnterAux {
			return true
		}
	}
	return false
}
