package memory

import (
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"internal/runtime/syscall/linux"
)

// StoreRel32 stores v so that whoever sees it sees all earlier stores as well.
func StoreRel32(p *uint32, v uint32) { atomic.StoreRel(p, v) }

// StoreRel64 is StoreRel32 for 64 bits.
func StoreRel64(p *uint64, v uint64) { atomic.StoreRel64(p, v) }

// StoreFirst64 stores v so that whoever sees a later store sees v as well. On architectures that order stores as they
// come it is a store; elsewhere a store-release lets later ones pass it, but not the load-acquire behind it.
func StoreFirst64(p *uint64, v uint64) {
	atomic.Store64(p, v)
	atomic.Load64(p)
}

// The other atomics, of the sampled tree.

func Load32(p *uint32) uint32               { return atomic.LoadAcq(p) }
func Load64(p *uint64) uint64               { return atomic.Load64(p) }
func Cas32(p *uint32, old, new uint32) bool { return atomic.Cas(p, old, new) }
func Cas64(p *uint64, old, new uint64) bool { return atomic.Cas64(p, old, new) }
func Add64(p *uint64, d uint64) uint64      { return atomic.Xadd64(p, int64(d)) }
func Store64(p *uint64, v uint64)           { atomic.Store64(p, v) }

// Len64 returns the number of bits of x, 0 for 0.
func Len64(x uint64) int { return sys.Len64(x) }

// thread returns the number of this thread, not 0. It may be called anywhere, as yield.
func thread() uint32 {
	tid, _, _ := linux.Syscall6(sysGettid, 0, 0, 0, 0, 0, 0)
	return uint32(tid)
}

// yield lets other threads run.
func yield() {
	linux.Syscall6(sysSchedYield, 0, 0, 0, 0, 0, 0)
}
