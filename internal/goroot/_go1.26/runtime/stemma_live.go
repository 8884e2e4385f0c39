// The live directory: the mapped files that the program records into, and how
// they come to be in schedinit.

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
	if n, ok := stemmaParse(gogetenv("STEMMA_TREE_SIZE")); ok {
		stemma.size = min(max(alignUp(n, 1<<16), 1<<24), 1<<32-1<<16)
	}
	stemmaMakeDir()
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
	var name [24]byte
	n := copy(name[:], "shard.")
	n += copy(name[n:], itoa(make([]byte, 20), uint64(pp.id)))
	files := stemma.nrange.Load()
	shard := stemmaMap(unsafe.String(&name[0], n), 0, stemma.size)
	if stemma.nrange.Load() == files {
		stemma.tree.Lost(rt.LostShards) // what this P counts is not on record
	}
	pp.stemmaShard = uintptr(shard) - rt.Base
	stemma.shards = max(stemma.shards, int(pp.id)+1)
	stemma.tree.SetShards(uint32(stemma.shards))
}

// stemmaRun is the run number of this process, see rt.HdrRun. It is drawn before
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

// stemmaMakeDir makes the live directory, $STEMMA_OUT/NAME.PID, and leaves
// its absolute name, with a final slash, in stemma.dir. On failure dirlen is 0.
func stemmaMakeDir() {
	stemmaDrawRun()
	out := gogetenv("STEMMA_OUT")
	if out == "" {
		out = stemmaOption("out") // for children whose environment was cleared
	}
	if out == "" {
		out = "stemma.out"
	}
	name := "program"
	if len(argslice) > 0 && argslice[0] != "" {
		name = argslice[0]
	}
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '/' {
			name = name[i+1:]
			break
		}
	}
	buf := stemma.dir[:]
	if len(out)+len(name)+64 > len(buf) {
		return
	}
	n := 0
	if out[0] != '/' {
		// Shards are made later too, and the program may change its directory.
		size, _, errno := linux.Syscall6(sysGetcwd, uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0, 0, 0)
		n = int(size)
		if errno != 0 || n+len(out)+len(name)+64 > len(buf) {
			clear(buf)
			return
		}
		buf[n-1] = '/' // in place of the final NUL
	}
	n += copy(buf[n:], out)
	linux.Syscall6(sysMkdirat, atFDCWD, uintptr(unsafe.Pointer(&buf[0])), 0o777, 0, 0, 0)
	buf[n] = '/'
	n++
	n += copy(buf[n:], name)
	buf[n] = '.'
	n++
	n += copy(buf[n:], itoa(make([]byte, 20), uint64(stemmaGetpid())))
	if _, _, errno := linux.Syscall6(sysMkdirat, atFDCWD, uintptr(unsafe.Pointer(&buf[0])), 0o777, 0, 0, 0); errno != 0 {
		return
	}
	buf[n] = '/'
	stemma.dirlen = n + 1
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
		fd = stemmaCreate(name, size)
	}
	if fd >= 0 {
		flags = mapShared | mapNoReserve
	}
	if addr != 0 {
		flags |= mapFixedNoReplace
	}
	p, errno := mmap(unsafe.Pointer(addr), size, _PROT_READ|_PROT_WRITE, flags, fd, 0)
	if fd >= 0 {
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

// stemmaZeros is as much as stemmaInit writes to a file.
var stemmaZeros [4 * 4096]byte

// stemmaCreate makes a sparse file of the given size in the live directory.
func stemmaCreate(name string, size uintptr) int32 {
	n := copy(stemma.dir[stemma.dirlen:len(stemma.dir)-1], name)
	stemma.dir[stemma.dirlen+n] = 0
	fd := open(&stemma.dir[0], _O_CREAT|_O_TRUNC|oRdwr|_O_CLOEXEC, 0o666)
	if fd < 0 {
		return fd
	}
	_, _, errno := linux.Syscall6(sysFtruncate, uintptr(fd), size, 0, 0, 0, 0)
	if errno == 0 && stemma.shards == 0 {
		// The first pages of tree and funcs are written before there is a
		// signal handler that could make up for a full disk.
		_, _, errno = linux.Syscall6(sysPwrite64, uintptr(fd), uintptr(unsafe.Pointer(&stemmaZeros)), unsafe.Sizeof(stemmaZeros), 0, 0, 0)
	}
	if errno != 0 {
		closefd(fd)
		stemma.dirlen = 0
		return -1
	}
	return fd
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
			stemma.tree.LostPage()
		}
		return errno == 0
	}
	return false
}

// Numbers of the Linux kernel for amd64 that package runtime does not have.
const (
	sysGetpid    = 39
	sysPwrite64  = 18
	sysFtruncate = 77
	sysGetcwd    = 79
	sysGetrandom = 318
	sysMkdirat   = 258
	atFDCWD      = ^uintptr(99) // -100

	oRdwr             = 2
	mapShared         = 0x1
	mapNoReserve      = 0x4000
	mapFixedNoReplace = 0x100000
)
