package layout

import "testing"

// TestHeapBase tries each place where the heap may begin, in steps of its arenas.
func TestHeapBase(t *testing.T) {
	const arena = 64 << 20
	for base := uint64(0); base < 1<<35; base += arena {
		got := HeapBase(base)
		if got%arena != 0 || got < Base+1<<32 || got > base+Base+1<<32 {
			t.Fatalf("HeapBase(%#x) = %#x, want a multiple of an arena behind the tree", base, got)
		}
	}
	if got := HeapBase(1 << 45); got != 1<<45 {
		t.Errorf("HeapBase(%#x) = %#x, want it unchanged", uint64(1)<<45, got)
	}
}
