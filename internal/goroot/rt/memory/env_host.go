package memory

import (
	"math/bits"
	"sync/atomic"
)

// StoreRel32 stores v so that whoever sees it sees all earlier stores as well.
func StoreRel32(p *uint32, v uint32) { atomic.StoreUint32(p, v) }

// StoreRel64 is StoreRel32 for 64 bits.
func StoreRel64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }

// StoreFirst64 stores v so that whoever sees a later store sees v as well.
func StoreFirst64(p *uint64, v uint64) {
	atomic.StoreUint64(p, v)
	atomic.LoadUint64(p)
}

// The other atomics, of the sampled tree.

func Load32(p *uint32) uint32               { return atomic.LoadUint32(p) }
func Load64(p *uint64) uint64               { return atomic.LoadUint64(p) }
func Cas32(p *uint32, old, new uint32) bool { return atomic.CompareAndSwapUint32(p, old, new) }
func Cas64(p *uint64, old, new uint64) bool { return atomic.CompareAndSwapUint64(p, old, new) }
func Add64(p *uint64, d uint64) uint64      { return atomic.AddUint64(p, d) }
func Store64(p *uint64, v uint64)           { atomic.StoreUint64(p, v) }

// Len64 returns the number of bits of x, 0 for 0.
func Len64(x uint64) int { return bits.Len64(x) }

// thread returns the number of this thread, not 0. Here goroutines stand for threads, and
// none is interrupted: each call is another one.
func thread() uint32 { return threads.Add(1) }

var threads atomic.Uint32

// yield lets other threads run.
func yield() {}
