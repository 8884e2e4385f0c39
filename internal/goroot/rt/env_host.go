package rt

import (
	"math/bits"
	"sync/atomic"
)

// storeRel32 stores v so that whoever sees it sees all earlier stores too.
func storeRel32(p *uint32, v uint32) { atomic.StoreUint32(p, v) }

// storeRel64 is storeRel32 for 64 bits.
func storeRel64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }

// The other atomics, of the sampled tree.

func load32(p *uint32) uint32               { return atomic.LoadUint32(p) }
func load64(p *uint64) uint64               { return atomic.LoadUint64(p) }
func cas32(p *uint32, old, new uint32) bool { return atomic.CompareAndSwapUint32(p, old, new) }
func cas64(p *uint64, old, new uint64) bool { return atomic.CompareAndSwapUint64(p, old, new) }
func add64(p *uint64, d uint64) uint64      { return atomic.AddUint64(p, d) }
func store64(p *uint64, v uint64)           { atomic.StoreUint64(p, v) }

// len64 returns the number of bits of x, 0 for 0.
func len64(x uint64) int { return bits.Len64(x) }

// thread returns the number of this thread, not 0. Here goroutines stand for threads, and
// none is interrupted: each call is another one.
func thread() uint32 { return threads.Add(1) }

var threads atomic.Uint32

// yield lets other threads run.
func yield() {}
