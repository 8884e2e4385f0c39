package livedir

import (
	"iter"
	"math/bits"
)

// unit is what the sizes of all objects of a tree are multiples of.
const unit = 8

// offsets are places in the tree region, as a set of bits: who has the offset of a node asks how many others lie before
// it. For ten million nodes that takes some fifteen megabytes and one look at memory, where a search in a list takes
// forty and twenty.
type offsets struct {
	words  []uint64 // a bit for each unit of the region, up to the last offset
	before []uint32 // for each word, how many bits of those before it are set
	n      int
}

// add adds an offset behind all others, which is a multiple of the unit.
func (o *offsets) add(off uint32) {
	for len(o.words) <= int(off/unit/64) {
		o.words, o.before = append(o.words, 0), append(o.before, uint32(o.n))
	}
	o.words[off/unit/64] |= 1 << (off / unit % 64)
	o.n++
}

// rank returns how many offsets lie before off, and whether off is one.
func (o *offsets) rank(off uint32) (n int, ok bool) {
	w := int(off / unit / 64)
	if w >= len(o.words) {
		return o.n, false
	}
	bit := uint64(1) << (off / unit % 64)
	n = int(o.before[w]) + bits.OnesCount64(o.words[w]&(bit-1))
	ok = o.words[w]&bit != 0
	if ok && off%unit != 0 {
		return n + 1, false
	}
	return n, ok
}

// last returns the last offset before off; there must be one.
func (o *offsets) last(off uint32) uint32 {
	w := int(min((uint64(off)+unit-1)/unit, uint64(len(o.words))*64))
	word, n := w/64, w%64
	mask := uint64(1)<<n - 1
	for mask == 0 || o.words[word]&mask == 0 {
		word, mask = word-1, ^uint64(0)
	}
	return uint32(word*64+bits.Len64(o.words[word]&mask)-1) * unit
}

// all returns the offsets in ascending order, with how many lie before each.
func (o *offsets) all() iter.Seq2[int, uint32] {
	return func(yield func(int, uint32) bool) {
		i := 0
		for w, word := range o.words {
			for ; word != 0; word &= word - 1 {
				if !yield(i, uint32(w*64+bits.TrailingZeros64(word))*unit) {
					return
				}
				i++
			}
		}
	}
}
