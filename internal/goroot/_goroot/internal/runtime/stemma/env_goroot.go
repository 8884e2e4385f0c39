package rt

import (
	"internal/runtime/atomic"
	"internal/runtime/sys"
)

// storeRel32 stores v so that whoever sees it sees all earlier stores too.
func storeRel32(p *uint32, v uint32) { atomic.StoreRel(p, v) }

// storeRel64 is storeRel32 for 64 bits.
func storeRel64(p *uint64, v uint64) { atomic.StoreRel64(p, v) }

// The other atomics, of the sampled tree.

func load32(p *uint32) uint32               { return atomic.LoadAcq(p) }
func load64(p *uint64) uint64               { return atomic.Load64(p) }
func cas32(p *uint32, old, new uint32) bool { return atomic.Cas(p, old, new) }
func add64(p *uint64, d uint64) uint64      { return atomic.Xadd64(p, int64(d)) }
func store64(p *uint64, v uint64)           { atomic.Store64(p, v) }

// len64 returns the number of bits of x, 0 for 0.
func len64(x uint64) int { return sys.Len64(x) }
