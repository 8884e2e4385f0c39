package rt

import "sync/atomic"

// storeRel32 stores v so that whoever sees it sees all earlier stores too.
func storeRel32(p *uint32, v uint32) { atomic.StoreUint32(p, v) }

// storeRel64 is storeRel32 for 64 bits.
func storeRel64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
