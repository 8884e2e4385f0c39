package livedir

import (
	"io/fs"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
)

// A Window is what the counters of a tree have grown by in a while, the shards of all Ps together.
type Window struct {
	Low      int64    // the offset in the tree that the first of Counters is of; nodes before it have counted nothing
	Counters []uint64 // one for each 8 bytes of the tree; nodes behind them came later
}

// OpenWindow is [Open], of a directory with a tree, with the counts of a window.
func OpenWindow(fsys fs.FS, w Window) (*Dir, error) { return open(fsys, &w) }

// at returns the counters of a node at off.
func (w *Window) at(off int64, size int) ([]byte, error) {
	b := make([]byte, 0, size)
	for ; len(b) < size; off += layout.CounterSize {
		var n uint64
		if i := (off - w.Low) / layout.CounterSize; off >= w.Low && i < int64(len(w.Counters)) {
			n = w.Counters[i]
		}
		b = raw.Append(b, n)
	}
	return b, nil
}
