// The files of the live directory: how they are made, grow while the program runs, and are
// cut to what is in them when it ends.
//
// The addresses of a file are reserved as a whole, by a mapping that is longer than the
// file. The file grows by steps, before anything is written there (memory.Span), so that a disk
// without room is found by a system call that fails, and not by a signal. To grow, the
// file is opened by its name and closed again: the program has no descriptor more than in
// a normal build, and keeps none that it could close or take for its own. Growing may
// happen with locks held, without a P, and in a signal handler: nothing of it allocates,
// waits, or has static memory to write to.

package runtime

import (
	"internal/runtime/atomic"
	"internal/runtime/stemma/events"
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/sample"
	"internal/runtime/syscall/linux"
	"unsafe"
)

// A stemmaFile is a mapped file. What it points to is outside the Go heap.
type stemmaFile struct {
	lo, size uintptr        // the addresses that are reserved for it
	have     atomic.Uintptr // the bytes that it has
	ino      uint64
	dir      uint64   // the number of its directory, 0 for that of the current segment
	name     [16]byte // with a NUL at the end
	sparse   bool     // blocks of the disk are not reserved: most stay empty
	aside    bool     // of a segment of context IDs that has not begun, or has ended
}

// stemmaFiles are all mapped files. Entries are complete before n counts them, and
// never removed, so that a signal handler may look at them without a lock.
var stemmaFiles struct {
	list [1<<12 + 64]stemmaFile
	n    atomic.Uint32
}

// stemmaShards are the addresses of the shards, each with one of its own, and of what else has the shape of one, under
// stemma.lock.
var stemmaShards struct {
	list [1 << 10]uintptr
	n    int
	have uintptr // bytes of each that can be used

	counting [1 << 10]uintptr // the shards alone
	counters atomic.Uint32    // how many: none is taken away
}

// stemmaFirstStep is how much a new file has: more than stemmaInit writes to it. Where the disk
// has not as much room it is stemmaLeastStep.
const (
	stemmaFirstStep = 1 << 16
	stemmaLeastStep = 1 << 14
)

// stemmaFileSpan reserves size bytes for a span that is the file of that name in the live
// directory. The first bytes can be used at once.
func stemmaFileSpan(name string, size uintptr) unsafe.Pointer {
	p := stemmaReserve(0, size)
	if p == nil {
		throw("stemma: out of address space")
	}
	stemmaMap(name, p, size)
	return p
}

// stemmaMap makes size reserved bytes at p the file of that name in the live directory, or
// leaves them anonymous memory if the file cannot be made.
func stemmaMap(name string, p unsafe.Pointer, size uintptr) {
	if stemma.dirlen > 0 {
		errno := stemmaMapFile(name, p, size, false)
		if errno == 0 {
			return
		}
		stemmaGiveUp(errno)
	}
	stemmaUsable(uintptr(p), 0, min(size, stemmaFirstStep))
}

// stemmaMapFile makes a file in the live directory and maps it at p. It returns the number of the error.
func stemmaMapFile(name string, p unsafe.Pointer, size uintptr, sparse bool) uintptr {
	n := stemmaFiles.n.Load()
	if int(n) == len(stemmaFiles.list) {
		return linuxENFILE
	}
	if stemmaForkMark == 0 {
		page := stemmaMemory(physPageSize)
		if page == nil {
			return linuxENOMEM
		}
		madvise(page, physPageSize, stemmaDontFork)
		stemmaForkMark = uintptr(page)
	}
	f := &stemmaFiles.list[n]
	f.name, f.sparse, f.aside = [16]byte{}, sparse, false
	f.lo, f.size = uintptr(p), size
	copy(f.name[:len(f.name)-1], name)
	if errno := f.makeIn(stemma.ino, name == stemma.main); errno != 0 {
		stemmaRemove(name)
		return errno
	}
	stemmaFiles.n.Store(n + 1)
	return 0
}

// stemmaFilePlace reserves addresses for a file that is made later, and returns where they are, 0 if there are none.
// The lock is held, or the world is stopped.
func stemmaFilePlace(name string, size uintptr) uintptr {
	n := stemmaFiles.n.Load()
	if int(n) == len(stemmaFiles.list) {
		return 0
	}
	p := stemmaReserve(0, size)
	if p == nil {
		return 0
	}
	f := &stemmaFiles.list[n]
	f.name, f.sparse, f.aside = [16]byte{}, false, true
	f.lo, f.size = uintptr(p), size
	f.have.Store(0)
	copy(f.name[:len(f.name)-1], name)
	stemmaFiles.n.Store(n + 1)
	return f.lo
}

// makeIn makes the file, in the directory with the number dir, and maps it at its place. With hold, readers see that it
// grows. It returns the number of the error. After one, something of the file may be left.
//
//go:nowritebarrierrec
func (f *stemmaFile) makeIn(dir uint64, hold bool) uintptr {
	f.dir = dir
	f.have.Store(0)
	fd, errno := f.open(linuxOCreat | linuxOExcl)
	if errno != 0 {
		return errno
	}
	if !f.sparse {
		step := min(f.size, stemmaFirstStep)
		if errno = f.resize(fd, step); errno != 0 && step > stemmaLeastStep {
			errno = f.resize(fd, stemmaLeastStep)
		}
	}
	if errno == 0 {
		const random = 1
		p := unsafe.Pointer(f.lo)
		errno = stemmaMapOver(p, f.size, _PROT_READ|_PROT_WRITE, mapShared|mapNoReserve, fd)
		madvise(p, f.size, stemmaDontFork)
		madvise(p, f.size, random) // what is read ahead in a hole is zeroed, on some machines 8 MB at once
	}
	if errno == 0 && hold {
		errno = stemmaHoldFile(fd)
	}
	closefd(fd)
	return errno
}

// stemmaDontFork makes a mapping one that children do not have, see stemmaOrphan.
const stemmaDontFork = 10

// drop unmaps the file, and keeps its addresses.
//
//go:nowritebarrierrec
func (f *stemmaFile) drop() {
	f.have.Store(0)
	p := unsafe.Pointer(f.lo)
	if stemmaMapOver(p, f.size, _PROT_NONE, _MAP_ANON|_MAP_PRIVATE|mapNoReserve, -1) == 0 {
		madvise(p, f.size, stemmaDontFork)
	}
}

// stemmaReserve reserves addresses, from addr on or anywhere if it is 0. None can be used
// yet. It returns nil if it cannot.
func stemmaReserve(addr, size uintptr) unsafe.Pointer {
	flags := int32(_MAP_ANON | _MAP_PRIVATE | mapNoReserve)
	if addr != 0 {
		flags |= mapFixedNoReplace
	}
	p, errno := mmap(unsafe.Pointer(addr), size, _PROT_NONE, flags, -1, 0)
	if errno != 0 {
		return nil
	}
	if addr != 0 && uintptr(p) != addr { // a kernel that does not know the flag
		munmap(p, size)
		return nil
	}
	return p
}

// stemmaMapOver maps something else over reserved addresses. It may run in a signal handler.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaMapOver(p unsafe.Pointer, size uintptr, prot, flags uintptr, fd int32) uintptr {
	_, _, errno := linux.Syscall6(linuxMmap, uintptr(p), size, prot, flags|_MAP_FIXED, uintptr(fd), 0)
	return errno
}

// stemmaMemory returns anonymous memory, all of which can be used, or nil.
func stemmaMemory(size uintptr) unsafe.Pointer {
	p := stemmaReserve(0, size)
	if p == nil || !stemmaUsable(uintptr(p), 0, size) {
		return nil
	}
	return p
}

// stemmaTables returns anonymous memory that the program cannot do without.
func stemmaTables(size uintptr) unsafe.Pointer {
	p := stemmaMemory(size)
	if p == nil {
		throw("stemma: out of memory")
	}
	return p
}

// stemmaRoom reserves addresses that the program cannot do without.
func stemmaRoom(size uintptr) unsafe.Pointer {
	p := stemmaReserve(0, size)
	if p == nil {
		throw("stemma: out of address space")
	}
	return p
}

// stemmaUsable makes bytes of reserved anonymous memory usable.
func stemmaUsable(lo, from, to uintptr) bool {
	from &^= physPageSize - 1
	_, _, errno := linux.Syscall6(linux.SYS_MPROTECT, lo+from, alignUp(to-from, physPageSize),
		_PROT_READ|_PROT_WRITE, 0, 0, 0)
	return errno == 0
}

// stemmaExtend is memory.Extend.
func stemmaExtend(base unsafe.Pointer, have, least, want uint64) uint64 {
	lo := uintptr(base)
	if lo == layout.Base {
		// A node needs its counters in every shard before it is handed out.
		if !stemmaExtendShards(uintptr(want)) {
			if want = least; !stemmaExtendShards(uintptr(want)) {
				return have
			}
		}
	}
	if f := stemmaFileAt(lo); f != nil && f.lo == lo {
		return uint64(f.extend(uintptr(least), uintptr(want)))
	}
	if stemmaUsable(lo, uintptr(have), uintptr(want)) {
		return want
	}
	if least < want && stemmaUsable(lo, uintptr(have), uintptr(least)) {
		return least
	}
	return have
}

// stemmaExtendShards makes n bytes of each shard usable. stemma.lock is held, or there is one thread.
func stemmaExtendShards(n uintptr) bool {
	s := &stemmaShards
	for _, lo := range s.list[:s.n] {
		if !stemmaExtendShard(lo, n) {
			return false
		}
	}
	s.have = max(s.have, n)
	return true
}

func stemmaExtendShard(lo, n uintptr) bool {
	if f := stemmaFileAt(lo); f != nil {
		return f.extend(n, n) >= n
	}
	return stemmaUsable(lo, 0, n)
}

// stemmaFileAt returns the file that is mapped at an address, or nil.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaFileAt(addr uintptr) *stemmaFile {
	for i := range stemmaFiles.n.Load() {
		if f := &stemmaFiles.list[i]; addr-f.lo < f.size {
			return f
		}
	}
	return nil
}

// extend makes the file want bytes long, or at least least bytes, and returns how long it is.
func (f *stemmaFile) extend(least, want uintptr) uintptr {
	errno := f.grow(least, want)
	have := f.have.Load()
	if errno != 0 && have < least {
		stemmaNotGrown(f.name[:], errno)
	}
	return have
}

// grow is extend, and returns the number of the error.
func (f *stemmaFile) grow(least, want uintptr) uintptr {
	have := f.have.Load()
	if have >= want || stemmaForked() {
		return 0
	}
	fd, errno := f.open(0)
	if errno == 0 {
		errno = f.resize(fd, want)
		if errno != 0 && have < least && least < want {
			errno = f.resize(fd, least)
		}
		closefd(fd)
	}
	return errno
}

// resize makes the file longer. The limit of file sizes is asked for first: to
// pass it would not only be refused, but end the program by a signal.
func (f *stemmaFile) resize(fd int32, size uintptr) (errno uintptr) {
	have := f.have.Load()
	switch {
	case stemmaLimit(linuxRlimitFsize) < size:
		return linuxEFBIG
	case f.sparse:
		errno = stemmaSetSize(fd, size)
	default:
		errno = stemmaFill(fd, have, size)
	}
	if errno == 0 {
		f.have.Store(size)
	}
	return errno
}

// stemmaSetSize makes a file longer without giving it blocks.
func stemmaSetSize(fd int32, size uintptr) uintptr {
	_, _, errno := linux.Syscall6(sysFtruncate, uintptr(fd), size, 0, 0, 0, 0)
	if errno != 0 { // a filter of system calls refuses it
		var zero byte
		_, _, errno = linux.Syscall6(sysPwrite64, uintptr(fd), uintptr(unsafe.Pointer(&zero)), 1, size-1, 0, 0)
	}
	return errno
}

// stemmaFill makes a file longer and reserves blocks for it: by fallocate, or where the file system,
// or a filter of system calls, does not have that, by writing zeros. Signals may interrupt
// the former again and again.
func stemmaFill(fd int32, from, to uintptr) uintptr {
	for range 20 {
		_, _, errno := linux.Syscall6(sysFallocate, uintptr(fd), 0, from, to-from, 0, 0)
		switch errno {
		case 0, linuxENOSPC, linuxEDQUOT:
			return errno
		case linuxEINTR:
			continue
		}
		break
	}
	for from < to {
		n, _, errno := linux.Syscall6(sysPwrite64, uintptr(fd), uintptr(unsafe.Pointer(&stemmaZeros)),
			min(to-from, unsafe.Sizeof(stemmaZeros)), from, 0, 0)
		if errno != 0 && errno != linuxEINTR {
			return errno
		}
		if errno == 0 {
			from += n
		}
	}
	return 0
}

// stemmaZeros is never written to.
var stemmaZeros [4 * 4096]byte

// open opens the file, in the directory that was made and no other: one that has taken its
// name since, or a link to one, may be another user's, with files that are not to be
// touched. With linuxOCreat it makes the file.
func (f *stemmaFile) open(flags uintptr) (fd int32, errno uintptr) {
	dir, errno := stemmaOpenDirOf(f.dir)
	if errno != 0 {
		return -1, errno
	}
	r, _, errno := linux.Syscall6(sysOpenat, uintptr(dir), uintptr(unsafe.Pointer(&f.name)),
		flags|oRdwr|_O_CLOEXEC|oNoFollow|oNonblock, 0o600, 0, 0)
	closefd(dir)
	if errno != 0 {
		return -1, errno
	}
	fd = int32(r)
	var st stemmaStat
	if errno = st.read(fd); errno == 0 && flags&linuxOCreat != 0 {
		f.ino = st.ino
	}
	if errno == 0 && (st.ino != f.ino || st.dev != stemma.dev) {
		errno = stemmaMoved
	}
	if errno == 0 && st.size < f.have.Load() {
		errno = stemmaCut // to make it longer would put zeros where nobody expects them
	}
	if errno != 0 {
		closefd(fd)
		return -1, errno
	}
	return fd, 0
}

// stemmaOpenDir opens the live directory, if it is still that which was made.
func stemmaOpenDir() (fd int32, errno uintptr) { return stemmaOpenDirOf(0) }

// stemmaOpenDirOf opens the directory with the number ino, or that of the current segment if it is 0. It has the name
// of the live directory, or that of a segment which is about to begin, or has just ended.
func stemmaOpenDirOf(ino uint64) (fd int32, errno uintptr) {
	if ino == 0 {
		ino = stemma.ino
	}
	const tries = 3 // names may change in between
	for range tries {
		fd, errno = stemmaOpenDirAt(uintptr(unsafe.Pointer(&stemma.dir[0])), ino)
		if errno == 0 || stemmaIDs.aside[0] == 0 {
			break
		}
		if other, err := stemmaOpenDirAt(uintptr(unsafe.Pointer(&stemmaIDs.aside)), ino); err == 0 {
			return other, 0
		}
	}
	return fd, errno
}

func stemmaOpenDirAt(path uintptr, ino uint64) (fd int32, errno uintptr) {
	r, _, errno := linux.Syscall6(sysOpenat, atFDCWD, path, linuxOPath|linuxODirectory|oNoFollow|_O_CLOEXEC, 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	var st stemmaStat
	if errno = st.read(int32(r)); errno == 0 && (st.dev != stemma.dev || st.ino != ino) {
		errno = stemmaMoved
	}
	if errno != 0 {
		closefd(int32(r))
		return -1, errno
	}
	return int32(r), 0
}

func (st *stemmaStat) read(fd int32) uintptr {
	_, _, errno := linux.Syscall6(sysFstat, uintptr(fd), uintptr(unsafe.Pointer(st)), 0, 0, 0, 0)
	return errno
}

// readAt is read of a name in a directory. A symbolic link is not followed.
func (st *stemmaStat) readAt(dir, name uintptr) uintptr {
	const noFollow = 0x100
	_, _, errno := linux.Syscall6(sysNewfstatat, dir, name, uintptr(unsafe.Pointer(st)), noFollow, 0, 0)
	return errno
}

// own reports whether it is a directory of this user that no other may enter.
func (st *stemmaStat) own() bool {
	const format, dir = 0o170000, 0o040000
	return st.mode&format == dir && st.mode&0o077 == 0 && int(st.uid) == stemmaCall(sysGeteuid, 0, 0, 0)
}

// stemmaRemove removes a file of the live directory.
func stemmaRemove(name string) {
	dir, errno := stemmaOpenDir()
	if errno != 0 {
		return
	}
	var path [16]byte
	copy(path[:len(path)-1], name)
	stemmaCall(sysUnlinkat, uintptr(dir), uintptr(unsafe.Pointer(&path)), 0)
	closefd(dir)
}

// stemmaHoldFile locks the main file, for readers to see that the program still runs.
// The lock belongs to the open file, which the mapping keeps open: it is there until the
// process ends, however that is, or becomes another program, and needs no
// descriptor: a program might count its own.
//
// A reader that looks whether the lock is held has it for a moment, so it is tried again. Without it the program
// would seem to have ended, for as long as it runs, and its record might be removed: an error is returned after a
// second. File systems without locks are no error. It may run without a P, and sleeps.
func stemmaHoldFile(fd int32) uintptr {
	const exclusive, nonblock = 2, 4
	for try := 0; ; try++ {
		if r := stemmaCall(sysFlock, uintptr(fd), exclusive|nonblock, 0); r != -linuxEAGAIN {
			return 0
		}
		switch {
		case try < 10:
			osyield()
		case try < 1000:
			usleep(1000)
		default:
			return linuxEAGAIN
		}
	}
}

// stemmaLimit returns a resource limit of this process.
func stemmaLimit(resource uintptr) uintptr {
	var limit [2]uintptr
	if _, _, errno := linux.Syscall6(sysPrlimit64, 0, resource, 0, uintptr(unsafe.Pointer(&limit)), 0, 0); errno != 0 {
		return ^uintptr(0)
	}
	return limit[0]
}

// stemmaAddresses returns how many bytes of addresses the record may reserve: all that it likes,
// or under a limit (ulimit -v) a quarter of what there is, for the program needs some as well.
func stemmaAddresses() uintptr {
	limit := stemmaLimit(linuxRlimitAS)
	if limit >= 1<<46 {
		return ^uintptr(0)
	}
	for n := alignDown(limit, 1<<16); n >= 1<<20; n = alignDown(n-n/8, 1<<16) {
		if p := stemmaReserve(0, n); p != nil {
			munmap(p, n)
			return n / 4
		}
	}
	return 0
}

// stemmaSpares reports whether a program with a limit of addresses has some of its own when size bytes more of them are
// taken: two of its heap's arenas. Else its next allocation may be the one for which there are none.
func stemmaSpares(size uintptr) bool {
	const own = 128 << 20
	if stemmaLimit(linuxRlimitAS) >= 1<<46 {
		return true
	}
	p := stemmaReserve(0, size+own)
	if p == nil {
		return false
	}
	munmap(p, size+own)
	return true
}

// stemmaNotGrown says, once, that there is no room for more. It may be called with locks
// held, without a P, and in a signal handler: so the line has memory of its own, which
// only the first caller writes to.
//
//go:nowritebarrierrec
func stemmaNotGrown(name []byte, errno uintptr) {
	if stemma.dirlen == 0 || !stemmaLate.said.CompareAndSwap(0, 1) {
		return
	}
	t := &stemmaLate.text
	t.add("stemma: from here on not all is recorded: ")
	t.bytes(stemma.dir[:min(stemma.dirlen, 500)])
	t.add("/")
	t.bytes(name)
	t.add(": ")
	t.error(errno)
	t.add("; the report counts what is missing; STEMMA_QUIET=1 leaves this line out")
	t.say()
}

var stemmaLate struct {
	said atomic.Uint32
	text stemmaLineText
}

// stemmaExit counts what is counted last, and cuts the files to what is in them. It runs where the program calls exit,
// of its own will, and keeps the lock, so that nothing more is recorded: whoever needs it waits for the end.
//
//go:nosplit
func stemmaExit() {
	systemstack(func() {
		if stemma.dirlen == 0 || stemmaForked() {
			return
		}
		stemmaLast()
		lock(&stemma.lock)
		if stemmaCheckOn {
			stemmaCheckEnded()
		}
		samples, places, requests := stemmaSmp.Close()
		for i := range stemmaFiles.n.Load() {
			f := &stemmaFiles.list[i]
			if f.aside {
				continue
			}
			switch gostringnocopy(&f.name[0]) {
			case layout.FileSamples:
				f.cut(uintptr(samples))
			case layout.FilePlaces:
				f.cut(uintptr(places) + stemmaSlack)
			case layout.FileRequests:
				f.cut(uintptr(requests) + stemmaSlack)
			default:
				f.cut(f.used())
			}
		}
	})
}

// stemmaLast counts what is counted when the program ends. It runs on the system stack. It reports whether nobody else
// writes segments, and keeps that so.
func stemmaLast() bool {
	stemmaWaitEnd()
	stemmaExistingEnd()
	if stemmaIDs.on {
		stemmaIDsLast()
	}
	return stemmaRotate.on && stemmaRotateLast()
}

// stemmaEndInC is stemmaExit where C ends the program, or may: the race detector, or who has found that C leaks memory.
// Functions that C has registered for the end run then, and may call Go. So no lock is kept, and files stay as long as
// they are. Returned says that main has returned; else what goes before stemmaExit has been done. It runs on the
// goroutine that ends the program.
func stemmaEndInC(returned bool) {
	if returned {
		stemmaInuseExit()
		stemmaSampleExit()
	}
	systemstack(func() {
		if stemma.dirlen == 0 || stemmaForked() {
			return
		}
		if stemmaLast() {
			stemmaRotate.busy.Store(0)
		}
	})
}

// stemmaSlack is what is left of files that others write to without the lock, when the program
// ends: they may go on until it has, where they have room already.
const stemmaSlack = 1 << 15

// cut makes the file end where what is in use ends.
func (f *stemmaFile) cut(used uintptr) {
	if used >= f.have.Load() {
		return
	}
	if fd, errno := f.open(0); errno == 0 {
		stemmaCall(sysFtruncate, uintptr(fd), used, 0)
		closefd(fd)
	}
}

// used returns how many bytes of the file have a meaning, or all if it is not known.
func (f *stemmaFile) used() uintptr {
	name := gostringnocopy(&f.name[0])
	switch {
	case name == layout.FileTree, name == layout.FileEarlier+"0", name == layout.FileEarlier+"1", f.sparse:
		return uintptr(stemma.tree.Used())
	case stemmaBeginsWith(name, layout.FileEarlierSamples):
		return uintptr(sample.EarlierSize(stemmaSmp.Nodes()))
	case name == layout.FileFuncs:
		return uintptr(stemma.record.UsedFuncs())
	case name == layout.FileEpochs:
		return uintptr(stemma.dacce.UsedEpochs())
	case name == layout.FileLog:
		return uintptr(stemma.lucce.UsedLog())
	case name == layout.FileNodes:
		return uintptr(stemma.contexts.UsedInterned())
	case name == layout.FileCalls:
		return uintptr(stemmaCalls.Used())
	case name == layout.FileGoroutines:
		return stemmaExistingUsed()
	case name == layout.FileCheck || name == layout.FileStrings:
		check, strings := stemmaCheck.Used()
		if name == layout.FileCheck {
			return uintptr(check)
		}
		return uintptr(strings)
	case stemmaBeginsWith(name, layout.FileCounts):
		return uintptr(events.CountsBytes(unsafe.Pointer(f.lo))) + stemmaSlack
	case stemmaBeginsWith(name, layout.FileEvents):
		return uintptr(events.EventsBytes(unsafe.Pointer(f.lo))) + stemmaSlack
	}
	return f.have.Load()
}

// Numbers of the Linux kernel that package runtime does not have, and that are the same on all architectures. The files
// stemma_linux_GOARCH.go have those that are not.
const (
	atFDCWD     = ^uintptr(99) // -100
	atRemoveDir = 0x200

	oRdwr       = 2
	linuxOCreat = 0x40
	linuxOExcl  = 0x80
	oNonblock   = 0x800
	linuxOPath  = 0x200000

	mapShared         = 0x1
	mapNoReserve      = 0x4000
	mapFixedNoReplace = 0x100000

	linuxRlimitFsize = 1
	linuxRlimitAS    = 9

	linuxEINTR        = 4
	linuxEBADF        = 9
	linuxEAGAIN       = 11
	linuxENOMEM       = 12
	linuxEEXIST       = 17
	linuxENFILE       = 23
	linuxEFBIG        = 27
	linuxENOSPC       = 28
	linuxENAMETOOLONG = 36
	linuxEDQUOT       = 122
)
