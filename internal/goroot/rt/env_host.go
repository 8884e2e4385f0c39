package rt

import "sync/atomic"

// storeRel32 stores v so that whoever sees it sees all earlier stores too.
func storeRel32(p *uint32, v uint32) { atomic.StoreUint32(p, v) }
