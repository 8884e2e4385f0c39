package sample

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// cachedNodes are answers to the last questions for nodes. The processor's caches have neither the tree nor the hash
// table of a large program, and of a node's line in them a way down the tree needs four bytes. Of these answers there
// are four in a line, and who goes down finds the next one without having seen the node.
//
// They are written without a lock, and a signal handler may come between the words. So the first word has the second
// one mixed in: words of two different answers give an address that nobody asks for.
type cachedNodes [2]struct{ address, nodes uint64 }

const (
	cacheSize  = 1 << 14 // of cachedNodes
	cachedSize = 32      // bytes of them
	cachedHome = 1 << 62 // in an address: the question was for the home
	cacheMul   = 0x9e3779b97f4a7c15
)

const _ = -(unsafe.Sizeof(cachedNodes{}) ^ cachedSize)

// cached returns the place in the cache for a parent and an address.
//
//go:nosplit
func (s *Samples) cached(parent uint32, pc uintptr) *cachedNodes {
	i := (uint64(pc)*cacheMul>>32 ^ uint64(parent)) % cacheSize
	return (*cachedNodes)(unsafe.Add(s.cache, uintptr(i)*cachedSize))
}

// find returns the node below parent for an address, 0 if it is not there.
//
//go:nosplit
func (c *cachedNodes) find(parent uint32, address uint64) uint32 {
	for i := range c {
		nodes := memory.Load64(&c[i].nodes)
		if memory.Load64(&c[i].address)^nodes*cacheMul == address && nodes>>32 == uint64(parent) {
			return uint32(nodes)
		}
	}
	return 0
}

// add puts in the answer for an address below parent. That there is no room is none: it is counted each time.
func (c *cachedNodes) add(parent uint32, address uint64, node uint32) {
	if node == sampleOverflow {
		return
	}
	memory.Store64(&c[1].nodes, memory.Load64(&c[0].nodes))
	memory.Store64(&c[1].address, memory.Load64(&c[0].address))
	nodes := uint64(parent)<<32 | uint64(node)
	memory.Store64(&c[0].nodes, nodes)
	memory.Store64(&c[0].address, address^nodes*cacheMul)
}

// A cachedGroup is the answer to the question for the node below another one, by the addresses of several frames. So a
// sample looks into the memory once for these frames.
//
// Whoever writes one makes its number odd first, which others respect: nobody waits, also not a signal handler that
// came between two words. Whoever reads one looks at the number before and behind.
type cachedGroup struct {
	answer uint64 // the node, and in the lower half the number of times that this was written, two for each
	key    groupKey
}

// A groupKey is the base of a group and its addresses, innermost first, each as a distance from Text, of 32 bits.
type groupKey [3]uint64

const (
	groupFrames = 4       // of a group; behind them may be the address of an innermost frame
	groupsSize  = 1 << 15 // of cachedGroups
	groupSize   = 32      // bytes of one
)

const _ = -(unsafe.Sizeof(cachedGroup{}) ^ groupSize)

// keyOf returns the key of n frames below base, of which f is the innermost one and the others lie behind it, and of
// leaf below these if that is not 0. It reports false if an address is too far from Text.
//
//go:nosplit
func (s *Samples) keyOf(base uint32, f *NewFrame, n int, leaf uintptr) (key groupKey, near bool) {
	frames := (*[groupFrames]NewFrame)(unsafe.Pointer(f))
	var d0, d1, d2, d3, d4 uint64
	if n > 0 {
		d0 = uint64(frames[0].Sym - s.Text)
	}
	if n > 1 {
		d1 = uint64(frames[1].Sym - s.Text)
	}
	if n > 2 {
		d2 = uint64(frames[2].Sym - s.Text)
	}
	if n > 3 {
		d3 = uint64(frames[3].Sym - s.Text)
	}
	if leaf != 0 {
		d4 = uint64(leaf - s.Text)
	}
	near = (d0|d1|d2|d3|d4)>>32 == 0 && s.Text != 0 && !s.lost
	return groupKey{uint64(base) | d0<<32, d1 | d2<<32, d3 | d4<<32}, near
}

// grouped returns the place of a group in the cache.
//
//go:nosplit
func (s *Samples) grouped(key *groupKey) *cachedGroup {
	h := (key[0]>>32*cacheMul ^ key[1]) * cacheMul
	h = ((h>>32 ^ key[2]) * cacheMul) >> 32
	return (*cachedGroup)(unsafe.Add(s.groups, uintptr((h^uint64(uint32(key[0])))%groupsSize)*groupSize))
}

// find returns the answer for a key, 0 if g is about another one.
//
//go:nosplit
func (g *cachedGroup) find(key *groupKey) uint32 {
	before := memory.Load64(&g.answer)
	if before&1 != 0 || memory.Load64(&g.key[0]) != key[0] || memory.Load64(&g.key[1]) != key[1] ||
		memory.Load64(&g.key[2]) != key[2] || memory.Load64(&g.answer) != before {
		return 0
	}
	return uint32(before >> 32)
}

// set makes g the answer for a key, unless somebody else is about to change it. That there is no room is no answer.
//
//go:nosplit
func (g *cachedGroup) set(key *groupKey, node uint32) {
	before := memory.Load64(&g.answer)
	if node == sampleOverflow || before&1 != 0 || !memory.Cas64(&g.answer, before, before|1) {
		return
	}
	for i := range key {
		memory.Store64(&g.key[i], key[i])
	}
	memory.Store64(&g.answer, uint64(node)<<32|uint64(uint32(before)+2))
}

// tryNodes is group, of n frames of which f is the innermost one, by the cache of nodes alone. It returns 0 if that
// does not have all.
//
//go:nosplit
func (s *Samples) tryNodes(base uint32, f *NewFrame, n int, leaf uintptr) uint32 {
	home := uint64(cachedHome)
	if s.FuncOf == nil {
		home = 0
	}
	for n--; n >= 0; n-- {
		pc := (*NewFrame)(unsafe.Add(unsafe.Pointer(f), uintptr(n)*unsafe.Sizeof(*f))).Sym
		if base = s.cached(base, pc).find(base, uint64(pc)|home); base == 0 {
			return 0
		}
	}
	if leaf != 0 {
		base = s.cached(base, leaf).find(base, uint64(leaf))
	}
	return base
}

// group returns the node of the innermost of some frames below base, which is its own home: of leaf if that is not 0,
// or else the home of frames[0]. There are at most groupFrames others, innermost first.
func (s *Samples) group(base uint32, frames []NewFrame, leaf uintptr) uint32 {
	key, near := s.keyOf(base, unsafe.SliceData(frames), len(frames), leaf)
	if near {
		if n := s.grouped(&key).find(&key); n != 0 {
			return n
		}
	}
	for i := len(frames) - 1; i >= 0; i-- {
		base = s.Call(base, frames[i].Sym)
	}
	if leaf != 0 {
		base = s.Child(base, leaf)
	}
	if near {
		s.grouped(&key).set(&key, base)
	}
	return base
}
