package livedir

import (
	"io/fs"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
)

// A Growth is what the counters of a tree have grown by in a while, the shards of all Ps together.
type Growth struct {
	Low      int64    // the offset in the tree that the first of Counters is of; nodes before it have counted nothing
	Counters []uint64 // one for each 8 bytes of the tree; nodes behind them came later
}

// OpenGrowth is [Open], of a directory with a tree, with the counts of a growth.
func OpenGrowth(fsys fs.FS, g Growth) (*Dir, error) {
	l := newDir(fsys)
	l.growth = &g
	return l.open()
}

// at returns the counters of a node at off.
func (g *Growth) at(off int64, size int) ([]byte, error) {
	b := make([]byte, 0, size)
	for ; len(b) < size; off += layout.CounterSize {
		var n uint64
		if i := (off - g.Low) / layout.CounterSize; off >= g.Low && i < int64(len(g.Counters)) {
			n = g.Counters[i]
		}
		b = raw.Append(b, n)
	}
	return b, nil
}
