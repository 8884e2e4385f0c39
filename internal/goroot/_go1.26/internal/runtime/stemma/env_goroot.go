package rt

import "internal/runtime/atomic"

// storeRel32 stores v so that whoever sees it sees all earlier stores too.
func storeRel32(p *uint32, v uint32) { atomic.StoreRel(p, v) }

// storeRel64 is storeRel32 for 64 bits.
func storeRel64(p *uint64, v uint64) { atomic.StoreRel64(p, v) }
