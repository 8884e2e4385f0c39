// Records of exact trees: how they are laid out in schedinit, and for each P.

package runtime

import (
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/memory"
	"internal/runtime/stemma/recorder"
	"internal/runtime/stemma/tree"
	"internal/runtime/syscall/linux"
	"unsafe"
)

// stemmaInit lays out the live directory. It runs
// once, in schedinit, after the environment is known and before there is any
// P. Whatever fails here, the program runs on, with its record in anonymous
// memory.
func stemmaInit() {
	lockInit(&stemma.lock, lockRankLeafRank)
	memory.Extend = stemmaExtend
	switch stemmaOption("file") { // the main file of the engine's records
	case layout.FileIDs:
		stemmaContextsInit()
	case layout.FileTree:
		stemmaTreeInit()
	}
}

// stemmaHeapBase moves the random address at which the heap begins out of the way of the tree.
func stemmaHeapBase(base uintptr) uintptr { return uintptr(layout.HeapBase(uint64(base))) }

// stemmaTreeInit is stemmaInit for a program that records a tree.
func stemmaTreeInit() {
	full := stemmaOption("recursion") == "full"
	stemma.size = 1 << 30
	nodes := uintptr(tree.DefaultNodes)
	if stemmaOption("record") == "calls" {
		nodes = 1 << 40 // as many as fit: the log ends where they do
	}
	if n, ok := stemmaParse(stemmaOption("nodes")); ok && n > 0 {
		nodes = n
		stemmaMany.said = true // it is wanted
		// Room for large nodes and for the overflow nodes of all functions.
		stemma.size = min(alignUp(n*512+1<<26, 1<<16), 1<<32-1<<16)
	}
	if n, ok := stemmaNumber("STEMMA_TREE_SIZE"); ok {
		stemma.size = min(max(alignUp(n, 1<<16), 1<<24), 1<<32-1<<16)
	}
	funcsSize := uintptr(1 << 28)
	if room := stemmaAddresses(); room < (stemmaSomePs()+1)*stemma.size+funcsSize {
		stemma.size = max(alignDown(room/(stemmaSomePs()+2), 1<<16), 4*tree.SinkSize)
		funcsSize = stemma.size
	}
	stemmaSegmentInit()
	if stemmaSegment == stemmaSegmentShared {
		stemma.size = min(stemma.size, layout.Base-layout.CounterBase)
	}
	stemmaMakeDir(layout.FileTree)
	region := stemmaReserve(layout.Base, stemma.size)
	if region == nil {
		stemmaNoBase(stemma.size)
	}
	stemmaUsable(layout.Base, stemma.size-tree.SinkSize, stemma.size)
	stemmaMap(layout.FileTree, region, stemma.size-tree.SinkSize)
	funcs := stemmaFileSpan(layout.FileFuncs, funcsSize)
	starts := stemmaRoom(uintptr(tree.StartsSize(uint64(stemma.size))))
	known := stemmaTables(recorder.KnownSize)
	stemma.faults = (*[stemmaFaults]stemmaFault)(stemmaTables(unsafe.Sizeof(*stemma.faults)))
	stemma.record.Init(region, known, funcs, uint64(stemma.size), uint64(funcsSize))
	stemma.tree.Init(&stemma.record, region, starts, uint64(stemma.size), uint64(nodes), full)
	if d := &firstmoduledata; d.etext < 1<<32 {
		stemma.tree.Halves(uint64(d.rodata), 1<<31)
	}
	sec, nsec, _ := time_now()
	stemma.record.Describe(stemmaRun, uint32(stemmaGetpid()), uint64(sec)*1e9+uint64(nsec), buildVersion,
		defaultGOROOT, stemmaArguments())
	stemma.on = true
	stemmaGoroutinesAPI1 = &stemmaGoroutinesAPIs
	stemmaMetricsAPI1 = &stemmaMetricsAPIs
	stemmaModuleInit()
	stemmaMeasureAPI1 = &stemmaMeasureAPIs
	stemmaRoot(getg(), layout.RootOther)
	stemmaAllocInit()
	stemmaWaitInit()
	stemmaLabelsInit()
	stemmaExistingInit()
	if stemmaOption("verify") == "on" {
		stemmaCheckInit()
	}
	if stemmaOption("record") == "calls" {
		stemmaCallsInit()
	}
	stemmaRotateInit()
	stemma.making = false
}

// stemmaNoBase ends a program that cannot have the addresses that its code refers to, and says why.
func stemmaNoBase(size uintptr) {
	const exists = 17 // EEXIST
	flags := int32(_MAP_ANON | _MAP_PRIVATE | mapNoReserve | mapFixedNoReplace)
	_, errno := mmap(unsafe.Pointer(uintptr(layout.Base)), size, _PROT_NONE, flags, -1, 0)
	print("stemma: no room for ", size, " bytes at ", hex(layout.Base), ": error ", errno,
		" of the kernel (", exists, ": they are in use)\n")
	throw("stemma: the addresses of the record cannot be had")
}

// stemmaSomePs returns how many Ps to have addresses for where they are scarce.
func stemmaSomePs() uintptr { return uintptr(min(max(numCPUStartup, 1), 8)) }

// stemmaOption returns the value of a key in stemmaOptions.
func stemmaOption(key string) string { return stemmaValue(stemmaOptions, key) }

// stemmaValue returns the value of a key in a list of key=value.
func stemmaValue(s, key string) string {
	for s != "" {
		kv := s
		for i := range len(s) {
			if s[i] == ',' {
				kv = s[:i]
				break
			}
		}
		s = s[min(len(kv)+1, len(s)):]
		if len(kv) > len(key) && kv[:len(key)] == key && kv[len(key)] == '=' {
			return kv[len(key)+1:]
		}
	}
	return ""
}

// stemmaFlagged reports whether the records of the engine have a flag.
func stemmaFlagged(flag uintptr) bool {
	n, _ := stemmaParse(stemmaOption("flags"))
	return n&flag != 0
}

func stemmaParse(s string) (n uintptr, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n > 1<<40 {
			return 0, false
		}
		n = 10*n + uintptr(s[i]-'0')
	}
	return n, s != ""
}

// stemmaNewP maps the shard of a new P. The world is stopped.
func stemmaNewP(pp *p) {
	stemmaNewEvents(pp)
	if !stemma.on || pp.stemma.shard != 0 {
		return
	}
	lock(&stemma.lock) // a thread without a P may make the tree grow
	pp.stemma.shard = stemmaNewShard(pp) - layout.Base
	stemma.shards = max(stemma.shards, int(pp.id)+1)
	stemma.record.SetShards(uint32(stemma.shards))
	unlock(&stemma.lock)
}

// stemmaNewShard returns the address of a new shard, as long as the others. Without
// addresses or memory for it the P counts in the first one, which takes away from the counts of
// both: the header reports it. The program has never less than one.
func stemmaNewShard(pp *p) uintptr {
	s := &stemmaShards
	lo := uintptr(0)
	if stemmaSegment != stemmaSegmentShared || s.n == 0 {
		lo = uintptr(stemmaMapOfP(layout.FileShard, pp, stemmaShardAt(), stemma.size, stemma.size-tree.SinkSize, true))
	}
	if lo != 0 && s.n == 0 {
		stemmaFirstShard(lo)
	}
	if lo != 0 && stemmaAddShard(lo) {
		s.counting[s.counters.Load()] = lo
		s.counters.Add(1)
		return lo
	}
	if s.n == 0 {
		throw("stemma: out of address space")
	}
	if lo != 0 && stemmaFileAt(lo) == nil {
		munmap(unsafe.Pointer(lo), stemma.size)
	}
	stemma.record.Lost(layout.LostShards)
	name := [...]byte{'s', 'h', 'a', 'r', 'd'}
	errno := uintptr(linuxENOMEM)
	switch {
	case stemmaSegment == stemmaSegmentShared:
		errno = stemmaNoSegment
	case s.n == len(s.list):
		errno = stemmaManyPs
	}
	stemmaNotGrown(name[:], errno)
	return s.list[0]
}

// stemmaFirstShard makes the file of the first shard as long as the tree. Where that cannot be nothing is recorded: the
// program counts in memory instead. There is one thread, so that no other looks for the file.
func stemmaFirstShard(lo uintptr) {
	f := stemmaFileAt(lo)
	if f == nil {
		return
	}
	errno := f.grow(stemmaShards.have, stemmaShards.have)
	if errno == 0 {
		return
	}
	stemmaGiveUp(errno)
	stemmaFiles.n.Add(-1) // it is the last one
	stemmaMapOver(unsafe.Pointer(lo), f.size, _PROT_NONE, _MAP_ANON|_MAP_PRIVATE|mapNoReserve, -1)
}

// stemmaAddShard makes what is mapped at lo one of what grows with the tree, and reports whether it can.
func stemmaAddShard(lo uintptr) bool {
	s := &stemmaShards
	if s.n == len(s.list) || !stemmaUsable(lo, stemma.size-tree.SinkSize, stemma.size) ||
		!stemmaExtendShard(lo, s.have) {
		return false
	}
	stemmaSign(lo)
	s.list[s.n] = lo
	s.n++
	return true
}

// stemmaMapShape maps a file of the shape of a shard that belongs to no P. It returns nil if there are no addresses.
func stemmaMapShape(name string) unsafe.Pointer {
	return stemmaMapRoom(name, 0, stemma.size, stemma.size-tree.SinkSize, true)
}

// stemmaMapOfP reserves room bytes, at addr unless it is 0. Their first size bytes are a file that a P has for itself.
// It returns nil if there are no addresses, or, but for the first P, no others left for the program. The world is
// stopped.
func stemmaMapOfP(prefix string, pp *p, addr, room, size uintptr, sparse bool) unsafe.Pointer {
	if pp.id > 0 && !stemmaSpares(room) {
		return nil
	}
	var name [16]byte
	n := copy(name[:], prefix)
	var digits [20]byte
	n += copy(name[n:], itoa(digits[:], uint64(pp.id)))
	return stemmaMapRoom(unsafe.String(&name[0], n), addr, room, size, sparse)
}

// stemmaMapRoom reserves room bytes, at addr unless it is 0. Their first size bytes are the file of that name.
// It returns nil if there are no addresses. The lock is held, or the world is stopped.
func stemmaMapRoom(name string, addr, room, size uintptr, sparse bool) unsafe.Pointer {
	p := stemmaReserve(addr, room)
	if p == nil {
		return nil
	}
	if stemma.dirlen == 0 {
		return p // all is lost, and was said to be
	}
	errno := stemmaMapFile(name, p, size, sparse)
	switch {
	case errno == 0:
	case sparse && stemmaShards.n == 0:
		stemmaGiveUp(errno) // no count would be on record
	default:
		stemma.record.Lost(layout.LostShards) // what is counted here is not on record
		stemmaNotGrown(unsafe.Slice(unsafe.StringData(name), len(name)), errno)
	}
	return p
}

// stemmaRun is the run number of this process, see layout.Header. It is drawn before
// the live directory is made, and does not change, but for a record of context IDs where the world is stopped and a
// segment begins. The assembly reads it.
var stemmaRun uint64

// stemmaDrawRun draws the run number, unless there is one. It runs in schedinit,
// where there is one thread.
func stemmaDrawRun() {
	if stemmaRun == 0 {
		stemmaRun = stemmaNewRun()
	}
}

// stemmaNewRun draws a run number.
func stemmaNewRun() (run uint64) {
	for run == 0 {
		const nonblock = 1
		n, _, errno := linux.Syscall6(sysGetrandom, uintptr(unsafe.Pointer(&run)), unsafe.Sizeof(run), nonblock, 0, 0,
			0)
		if errno == 0 && n == unsafe.Sizeof(run) {
			continue
		}
		// An old kernel, a filter of system calls, or too early after boot: rand
		// comes from the 16 random bytes that the kernel gives each program, if it
		// does. The rest tells apart what began with the same bytes.
		sec, nsec, _ := time_now()
		run = rand() ^ (uint64(sec)*1e9+uint64(nsec))*0x9E3779B97F4A7C15 ^ uint64(stemmaGetpid())<<32
	}
	return run
}

func stemmaGetpid() uintptr {
	pid, _, _ := linux.Syscall6(sysGetpid, 0, 0, 0, 0, 0, 0)
	return pid
}
