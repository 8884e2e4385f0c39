// The thin half of stemma that must be in package runtime: the fields of g,
// the files of the live directory, and what puts the right context into g
// where the runtime itself calls into instrumented code.

package runtime

import (
	"internal/goarch"
	"internal/runtime/atomic"
	rt "internal/runtime/stemma"
	"internal/runtime/sys"
	"internal/runtime/syscall/linux"
	"unsafe"
)

// stemmaOptions is set by the linker: what the tool was asked for at build
// time, as key=value, separated by commas.
var stemmaOptions string

// stemma is the state of the recorder. Everything that it points to is mapped
// memory, outside the Go heap; lock guards tree and its memory.
var stemma struct {
	lock   mutex
	tree   rt.Tree
	on     bool
	size   uintptr // of the tree region, and of each shard
	dir    [1024]byte
	dirlen int
	shards int
	ranges [1 << 11]struct{ lo, hi uintptr } // mapped files, for stemmaBus
	nrange atomic.Uint32
	faults *[stemmaFaults]stemmaFault
}

// The compiler addresses the fields of g by constants.
const (
	_ = uint(unsafe.Offsetof(g{}.stemmaCtx)-rt.GCtx) + uint(rt.GCtx-unsafe.Offsetof(g{}.stemmaCtx))
	_ = uint(unsafe.Offsetof(g{}.stemmaShard)-rt.GShard) + uint(rt.GShard-unsafe.Offsetof(g{}.stemmaShard))
	_ = uint(unsafe.Offsetof(g{}.stemmaFunc)-rt.GFunc) + uint(rt.GFunc-unsafe.Offsetof(g{}.stemmaFunc))
	_ = uint(unsafe.Offsetof(g{}.stemmaNode)-rt.GNode) + uint(rt.GNode-unsafe.Offsetof(g{}.stemmaNode))
	_ = uint(unsafe.Offsetof(g{}.stemmaStart)-rt.GStart) + uint(rt.GStart-unsafe.Offsetof(g{}.stemmaStart))
)

// stemmaRootCell returns the address of a cell of the root node.
//
//go:nosplit
func stemmaRootCell(k uintptr) uintptr {
	return rt.Base + rt.RootNode + rt.NodeCells + 4*k
}

// stemmaSaved is what stemmaRoot replaces.
type stemmaSaved struct{ ctx, start uintptr }

// stemmaRoot makes gp call from the named root k from here on. It returns what
// stemmaRestore takes to undo it.
//
//go:nosplit
func stemmaRoot(gp *g, k uintptr) stemmaSaved {
	old := stemmaSaved{gp.stemmaCtx, gp.stemmaStart}
	if gp.stemmaShard == 0 {
		// Never count into the tree itself: a new g has a shard from the
		// start, if not yet that of the P it will run on.
		gp.stemmaShard = getg().stemmaShard
	}
	gp.stemmaCtx = stemmaRootCell(k)
	gp.stemmaStart = gp.stemmaCtx
	return old
}

//go:nosplit
func stemmaRestore(gp *g, old stemmaSaved) {
	gp.stemmaCtx, gp.stemmaStart = old.ctx, old.start
}

// stemmaNewG gives a new goroutine the context of the go statement that makes
// it, or the root if the runtime makes it for itself.
func stemmaNewG(newg, creator *g, callerpc uintptr) {
	stemmaRoot(newg, rt.RootGo)
	if f := findfunc(callerpc); f.valid() && f.flag&rt.FuncFlagSlot != 0 {
		newg.stemmaCtx = creator.stemmaCtx
		newg.stemmaStart = creator.stemmaCtx
		if stemmaCheckOn {
			stemmaCheckGo(creator, callerpc)
		}
	}
}

// stemmaWire tells the goroutines of an M which shard to count in. It runs
// whenever an M gets a P, without write barriers.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaWire(mp *m, pp *p) {
	mp.g0.stemmaShard = pp.stemmaShard
	if mp.curg != nil {
		mp.curg.stemmaShard = pp.stemmaShard
	}
}

// stemmaEnterGo finds or creates the node of the function g.stemmaFunc, and
// leaves it in g.stemmaNode. It may run on any stack but a signal's, with or
// without a P, in a function that has no safe point here: it must not split
// the stack, nor let the scheduler in.
//
//go:nosplit
func stemmaEnterGo() {
	gp := getg()
	pc, sp := sys.GetCallerPC(), sys.GetCallerSP()
	systemstack(func() {
		lock(&stemma.lock)
		used := stemma.tree.Used()
		node := stemma.tree.Enter(uint32(gp.stemmaCtx-rt.Base), unsafe.Pointer(gp.stemmaFunc))
		gp.stemmaNode = uintptr(node)
		if stemmaCheckOn {
			stemmaCheckEntry(gp, pc, sp, node, stemma.tree.Used() != used)
		}
		unlock(&stemma.lock)
	})
}

// stemmaPanicking returns the context under which gopanic, called from pc
// with stack pointer sp, runs deferred functions. A panic statement has left
// its cell in g. A run-time error has not: then it is a place of fault below
// the innermost instrumented frame.
func stemmaPanicking(pc, sp uintptr) uintptr {
	gp := getg()
	if f := findfunc(pc); f.valid() && f.flag&rt.FuncFlagSlot != 0 {
		return gp.stemmaCtx
	}
	ctx := gp.stemmaCtx
	systemstack(func() {
		var u unwinder
		u.initAt(pc, sp, 0, gp, unwindSilentErrors)
		handler := "runtime.gopanic"
		for ; u.valid(); u.next() {
			if node := stemmaFrameNode(gp, &u.frame); node != 0 {
				ctx = stemmaFaultAt(node, u.frame.fn, u.symPC(), handler)
				return
			}
			handler = funcname(u.frame.fn)
		}
	})
	return ctx
}

// stemmaFrameNode returns the node of a frame, or 0 if its function is not
// instrumented. A function that calls nothing does not store its node; if it
// is the innermost, then g still holds the cell through which it was entered.
func stemmaFrameNode(gp *g, frame *stkframe) uint32 {
	switch {
	case frame.fn.flag&rt.FuncFlagSlot != 0:
		return *(*uint32)(unsafe.Pointer(frame.varp - goarch.PtrSize))
	case frame.fn.flag&rt.FuncFlagLeaf != 0:
		return stemma.tree.ByEntry(uint32(gp.stemmaCtx-rt.Base), uint64(frame.fn.entry()))
	}
	return 0
}

// stemmaRecover puts into g the context of the deferreturn to which recovery
// is about to jump, in the frame of f with frame pointer fp: the jump skips
// the store of the cell.
func stemmaRecover(gp *g, f funcInfo, fp uintptr) {
	if f.flag&rt.FuncFlagSlot == 0 {
		return
	}
	node := *(*uint32)(unsafe.Pointer(fp - 3*goarch.PtrSize))
	if cell := stemma.tree.RecoverCell(node); cell != 0 {
		gp.stemmaCtx = rt.Base + uintptr(cell)
	}
}

// stemmaFault is a place where a run-time error rose or a signal struck, in
// one context.
type stemmaFault struct {
	pc         uintptr
	node, here uint32
}

const stemmaFaults = 1 << 14

// stemmaFaultAt counts a fault at pc in node, in function f, which the runtime
// function handler is called for. It returns the address of the cell under
// which the deferred functions run. It runs on the system stack.
func stemmaFaultAt(node uint32, f funcInfo, pc uintptr, handler string) uintptr {
	lock(&stemma.lock)
	here := uint32(0)
	for i, n := (pc^uintptr(node)>>3)%stemmaFaults, 0; n < stemmaFaults; i, n = (i+1)%stemmaFaults, n+1 {
		e := &stemma.faults[i]
		if e.here == 0 {
			if here = stemma.tree.EnterFault(node, uint64(pc)); here == 0 {
				break
			}
			stemmaRecordFault(f, pc, handler)
			*e = stemmaFault{pc, node, here}
		}
		if e.pc == pc && e.node == node {
			here = e.here
			break
		}
	}
	unlock(&stemma.lock)
	if here == 0 {
		return stemmaRootCell(rt.RootOther)
	}
	// On the system stack there is no preemption, and so no change of P.
	*(*uint64)(unsafe.Pointer(rt.Base + uintptr(here) + getg().m.g0.stemmaShard))++
	return rt.Base + uintptr(rt.CellOf(here, 0))
}

// stemmaRecordFault describes the place: the frames of f at pc.
func stemmaRecordFault(f funcInfo, pc uintptr, handler string) {
	w, ok := stemma.tree.BeginFault(uint64(pc))
	if !ok {
		return
	}
	u, uf := newInlineUnwinder(f, pc)
	for ; uf.valid(); uf = u.next(uf) {
		file, line := u.fileLine(uf)
		w.Frame(u.srcFunc(uf).name(), file, int32(line))
	}
	w.End(handler)
}

// stemmaInit maps the tree region and lays out the live directory. It runs
// once, in schedinit, after the environment is known and before there is any
// P. Whatever fails here, the program runs on, with its record in anonymous
// memory.
func stemmaInit() {
	lockInit(&stemma.lock, lockRankLeafRank)
	if stemmaOptions == "" {
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
	stemma.tree.Describe(uint32(stemmaGetpid()), uint64(sec)*1e9+uint64(nsec), buildVersion, defaultGOROOT, argslice)
	stemma.on = true
	stemmaRoot(getg(), rt.RootOther)
	if stemmaOption("verify") == "on" {
		stemmaCheckInit()
	}
}

// stemmaOption returns the value of a key in stemmaOptions.
func stemmaOption(key string) string {
	for s := stemmaOptions; s != ""; {
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
	if !stemma.on || pp.stemmaShard != 0 {
		return
	}
	var name [24]byte
	n := copy(name[:], "shard.")
	n += copy(name[n:], itoa(make([]byte, 20), uint64(pp.id)))
	shard := stemmaMap(unsafe.String(&name[0], n), 0, stemma.size)
	pp.stemmaShard = uintptr(shard) - rt.Base
	stemma.shards = max(stemma.shards, int(pp.id)+1)
	stemma.tree.SetShards(uint32(stemma.shards))
}

// stemmaMakeDir makes the live directory, $STEMMA_OUT/NAME.PID, and leaves
// its name, with a final slash, in stemma.dir. On failure dirlen is 0.
func stemmaMakeDir() {
	out := gogetenv("STEMMA_OUT")
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
	n := copy(buf, out)
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
	sysMkdirat   = 258
	atFDCWD      = ^uintptr(99) // -100

	oRdwr             = 2
	mapShared         = 0x1
	mapNoReserve      = 0x4000
	mapFixedNoReplace = 0x100000
)
