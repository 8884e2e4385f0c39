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
	cacheSize  = 1 << 15 // of cachedNodes
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

// tryCall is Call for what is in the cache, else 0.
//
//go:nosplit
func (s *Samples) tryCall(parent uint32, pc uintptr) uint32 {
	home := uint64(cachedHome)
	if s.FuncOf == nil {
		home = 0
	}
	return s.cached(parent, pc).find(parent, uint64(pc)|home)
}

// tryChild is Child for what is in the cache, else 0.
//
//go:nosplit
func (s *Samples) tryChild(parent uint32, pc uintptr) uint32 {
	return s.cached(parent, pc).find(parent, uint64(pc))
}
