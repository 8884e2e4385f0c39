package fingerprint

import (
	"cmp"
	"slices"
)

// Collisions returns pairs of indexes in a list of sums that have one fingerprint and are those of different texts, for
// each such fingerprint one pair. Sums without a fingerprint are none.
func Collisions(sums []Sum) (pairs [][2]uint32) {
	order := make([]uint32, 0, len(sums))
	for i, s := range sums {
		if s.Functions != 0 {
			order = append(order, uint32(i))
		}
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(sums[a].Functions, sums[b].Functions) })
	for k := 1; k < len(order); k++ {
		a, b := order[k-1], order[k]
		if sums[a].Functions != sums[b].Functions || sums[a].check == sums[b].check {
			continue
		}
		if n := len(pairs); n == 0 || sums[pairs[n-1][0]].Functions != sums[a].Functions {
			pairs = append(pairs, [2]uint32{a, b})
		}
	}
	return pairs
}

// A Set takes the sums of contexts one by one, and counts the fingerprints that stand for several texts.
type Set struct {
	known map[Value]uint64 // the check of the first text
	Value Value            // the first such fingerprint
	N     int              // how many there are
	many  map[Value]bool
}

// Add adds the sum of a context.
func (s *Set) Add(sum Sum) {
	if s.known == nil {
		s.known, s.many = make(map[Value]uint64), make(map[Value]bool)
	}
	check, ok := s.known[sum.Functions]
	switch {
	case !ok:
		s.known[sum.Functions] = sum.check
	case check != sum.check && !s.many[sum.Functions]:
		s.many[sum.Functions] = true
		if s.N++; s.N == 1 {
			s.Value = sum.Functions
		}
	}
}
