package encoders

import (
	"testing"
	"time"
)

func TestSizeAt(t *testing.T) {
	sizes := []logSize{{after: 10, entries: 1}, {after: 20, entries: 2}, {after: 30, entries: 3}}
	for after, want := range map[time.Duration]int{0: 1, 10: 1, 19: 1, 20: 2, 99: 3} {
		if have := sizeAt(sizes, after); have.entries != want {
			t.Errorf("at %d: have %d, want %d", after, have.entries, want)
		}
	}
	if have := sizeAt(nil, 5); have.entries != 0 {
		t.Errorf("of nothing: have %d, want 0", have.entries)
	}
}
