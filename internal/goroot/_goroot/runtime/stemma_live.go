// The files of the live directory: how they are mapped in schedinit, and what
// happens when a disk does not take them.

package runtime

import (
	rt "internal/runtime/stemma"
	"internal/runtime/syscall/linux"
	"unsafe"
)

// stemmaInit maps the tree region and lays out the live directory. It runs
// once, in schedinit, after the environment is known and before there is any
// P. Whatever fails here, the program runs on, with its record in anonymous
// memory.
func stemmaInit() {
	lockInit(&stemma.lock, lockRankLeafRank)
	switch stemmaOption("engine") {
	case "dacce", "pcce", "lucce":
		stemmaEncodeInit()
		return
	case "cct", "cct+acct":
	default:
		return
	}
	full := stemmaOption("recursion") == "full"
	stemma.size = 1 << 30
	nodes := uintptr(1 << 40) // as many as fit
	if n, ok := stemmaParse(stemmaOption("nodes")); ok && n > 0 {
		nodes = n
		// Room for large nodes and for the overflow nodes of all functions.
		stemma.size = min(alignUp(n*512+1<<26, 1<<16), 1<<32-1<<16)
	}
	if n, ok := stemmaNumber("STEMMA_TREE_SIZE"); ok {
		stemma.size = min(max(alignUp(n, 1<<16), 1<<24), 1<<32-1<<16)
	}
	stemmaMakeDir("tree", stemma.size)
	const funcsSize = 1 << 28
	tree := stemmaMap("tree", rt.Base, stemma.size)
	if uintptr(tree) != rt.Base {
		throw("stemma: the address range from 0x60000000 on is in use")
	}
	funcs := stemmaMap("funcs", 0, funcsSize)
	starts := stemmaMap("", 0, uintptr(rt.StartsSize(uint64(stemma.size))))
	known := stemmaMap("", 0, rt.KnownSize)
	stemma.faults = (*[stemmaFaults]stemmaFault)(stemmaMap("", 0, unsafe.Sizeof(*stemma.faults)))
	stemma.tree.Init(tree, starts, known, funcs, uint64(stemma.size), funcsSize, uint64(nodes), full)
	sec, nsec, _ := time_now()
	stemma.tree.Describe(stemmaRun, uint32(stemmaGetpid()), uint64(sec)*1e9+uint64(nsec), buildVersion, defaultGOROOT, argslice)
	stemma.on = true
	stemmaRoot(getg(), rt.RootOther)
	if stemmaOption("verify") == "on" {
		stemmaCheckInit()
	}
	if stemmaOption("record") == "calls" {
		stemmaCallsInit()
	}
	stemma.making = false
}

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
	if !stemma.on || pp.stemmaShard != 0 {
		return
	}
	pp.stemmaShard = uintptr(stemmaMapOfP("shard.", pp, stemma.size)) - rt.Base
	stemma.shards = max(stemma.shards, int(pp.id)+1)
	stemma.tree.SetShards(uint32(stemma.shards))
}

// stemmaMapOfP maps a file that a P has for itself. The world is stopped.
func stemmaMapOfP(prefix string, pp *p, size uintptr) unsafe.Pointer {
	var name [24]byte
	n := copy(name[:], prefix)
	n += copy(name[n:], itoa(make([]byte, 20), uint64(pp.id)))
	files := stemma.nrange.Load()
	mem := stemmaMap(unsafe.String(&name[0], n), 0, size)
	if stemma.nrange.Load() == files {
		stemmaHeader().Lost(rt.LostShards) // what this P counts is not on record
	}
	return mem
}

// stemmaRun is the run number of this process, see layout.Header. It is drawn before
// the live directory is made, and does not change. The assembly reads it.
var stemmaRun uint64

// stemmaDrawRun draws the run number, unless there is one. It runs in schedinit,
// where there is one thread.
func stemmaDrawRun() {
	for stemmaRun == 0 {
		const nonblock = 1
		n, _, errno := linux.Syscall6(sysGetrandom, uintptr(unsafe.Pointer(&stemmaRun)), unsafe.Sizeof(stemmaRun), nonblock, 0, 0, 0)
		if errno == 0 && n == unsafe.Sizeof(stemmaRun) {
			continue
		}
		// An old kernel, a filter of system calls, or too early after boot: rand
		// comes from the 16 random bytes that the kernel gives each program, if it
		// does. The rest tells apart what began with the same bytes.
		sec, nsec, _ := time_now()
		stemmaRun = rand() ^ (uint64(sec)*1e9+uint64(nsec))*0x9E3779B97F4A7C15 ^ uint64(stemmaGetpid())<<32
	}
}

func stemmaGetpid() uintptr {
	pid, _, _ := linux.Syscall6(sysGetpid, 0, 0, 0, 0, 0, 0)
	return pid
}

// stemmaMap maps size bytes at addr, or anywhere if addr is 0: the file of
// that name in the live directory, or anonymous memory if name is empty or the
// file cannot be made. It throws only if there is no address space at all.
func stemmaMap(name string, addr, size uintptr) unsafe.Pointer {
	flags := int32(_MAP_ANON | _MAP_PRIVATE | mapNoReserve)
	fd := int32(-1)
	if name != "" && stemma.dirlen > 0 {
		var failed uintptr
		if fd, failed = stemmaCreate(name, size); failed != 0 && stemma.making {
			stemmaGiveUp(failed)
		}
	}
	if fd >= 0 {
		flags = mapShared | mapNoReserve
	}
	if addr != 0 {
		flags |= mapFixedNoReplace
	}
	p, errno := mmap(unsafe.Pointer(addr), size, _PROT_READ|_PROT_WRITE, flags, fd, 0)
	if fd >= 0 {
		if name == stemma.main {
			stemmaHoldFile(fd)
		}
		closefd(fd)
		if errno == 0 {
			i := stemma.nrange.Load()
			if int(i) < len(stemma.ranges) {
				stemma.ranges[i].lo, stemma.ranges[i].hi = uintptr(p), uintptr(p)+size
				stemma.nrange.Store(i + 1)
			}
		}
	}
	if errno != 0 {
		if fd >= 0 {
			return stemmaMap("", addr, size)
		}
		throw("stemma: out of address space; set STEMMA_TREE_SIZE to fewer bytes")
	}
	return p
}

// stemmaHoldFile locks the main file, for readers to see that the program still runs.
// The lock belongs to the open file, which the mapping keeps open: it is there until the
// process ends, however that is, or becomes another program, and needs no
// descriptor, of which a program might count its own.
func stemmaHoldFile(fd int32) {
	const exclusive, nonblock = 2, 4
	stemmaCall(sysFlock, uintptr(fd), exclusive|nonblock, 0)
}

// stemmaZeros is as much as stemmaInit writes to a file.
var stemmaZeros [4 * 4096]byte

// stemmaFile returns the address of the name of a file in the live directory, with a NUL
// behind it. It is good until the next call.
func stemmaFile(name string) uintptr {
	n := copy(stemma.dir[stemma.dirlen:len(stemma.dir)-1], name)
	stemma.dir[stemma.dirlen+n] = 0
	return uintptr(unsafe.Pointer(&stemma.dir[0]))
}

// stemmaCreate makes a sparse file of the given size in the live directory. It returns -1
// and the number of the error if it cannot.
func stemmaCreate(name string, size uintptr) (int32, uintptr) {
	if stemmaFileLimit() < size {
		return -1, linuxEFBIG
	}
	fd, _, errno := linux.Syscall6(sysOpenat, atFDCWD, stemmaFile(name), _O_CREAT|_O_TRUNC|oRdwr|_O_CLOEXEC|oNoFollow, 0o600, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	_, _, errno = linux.Syscall6(sysFtruncate, fd, size, 0, 0, 0, 0)
	if errno == 0 && stemma.shards == 0 {
		// The first pages of tree and funcs are written before there is a
		// signal handler that could make up for a full disk.
		_, _, errno = linux.Syscall6(sysPwrite64, fd, uintptr(unsafe.Pointer(&stemmaZeros)), unsafe.Sizeof(stemmaZeros), 0, 0, 0)
	}
	if errno != 0 {
		closefd(int32(fd))
		stemmaRemove(name)
		return -1, errno
	}
	return int32(fd), 0
}

// stemmaHeader returns what has the header in which losses are counted; it has none in a
// program that only samples.
//
//go:nosplit
func stemmaHeader() *rt.Tree {
	if stemma.encode.on {
		return &stemma.cce.Tree
	}
	return &stemma.tree
}

// stemmaBus handles a SIGBUS at addr: if it struck a page of the live
// directory, the disk is full or the file was cut. Anonymous memory takes the
// page's place, and the loss is counted. It runs in a signal handler.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaBus(addr uintptr) bool {
	for i := range stemma.nrange.Load() {
		r := &stemma.ranges[i]
		if addr < r.lo || addr >= r.hi {
			continue
		}
		page := addr &^ (physPageSize - 1)
		_, errno := mmap(unsafe.Pointer(page), physPageSize, _PROT_READ|_PROT_WRITE, _MAP_ANON|_MAP_PRIVATE|_MAP_FIXED, -1, 0)
		if errno == 0 && page != rt.Base {
			stemmaHeader().LostPage()
		}
		return errno == 0
	}
	return false
}

// Numbers of the Linux kernel for amd64 that package runtime does not have.
const (
	sysGetpid     = 39
	sysFlock      = 73
	sysGeteuid    = 107
	sysOpenat     = 257
	sysNewfstatat = 262
	sysUnlinkat   = 263
	sysPrlimit64  = 302
	sysPwrite64   = 18
	sysFtruncate  = 77
	sysGetcwd     = 79
	sysGetrandom  = 318
	sysMkdirat    = 258
	atFDCWD       = ^uintptr(99) // -100

	oRdwr             = 2
	oNoFollow         = 0x20000
	mapShared         = 0x1
	mapNoReserve      = 0x4000
	mapFixedNoReplace = 0x100000
)
