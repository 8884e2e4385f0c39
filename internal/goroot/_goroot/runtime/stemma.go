// The thin half of stemma that must be in package runtime: the fields of g, the
// slow path of function entry, and what puts the right context into g where
// the runtime itself calls into instrumented code.

package runtime

import (
	"internal/goarch"
	"internal/runtime/exithook"
	"internal/runtime/stemma/ids"
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/recorder"
	"internal/runtime/stemma/tree"
	"internal/runtime/sys"
	"unsafe"
)

// stemmaOptions is set by the linker: what the tool was asked for at build
// time, as key=value, separated by commas.
var stemmaOptions string

// stemma is the state of the recorder. Everything that it points to is mapped
// memory, outside the Go heap; lock guards record, what stands on top of it, and their memory.
var stemma struct {
	lock     mutex
	record   recorder.Recorder // of whichever engine
	tree     tree.Tree         // of engine cct
	on       bool
	size     uintptr    // of the tree region, and of each shard
	dir      [1024]byte // the live directory, with a NUL at the end
	dirlen   int        // 0 if nothing is recorded
	main     string     // the file that makes the directory a record; "" before it is made
	making   bool       // files of it are still to be made
	shards   int
	contexts ids.Contexts // of the engines with context IDs, below the next two
	dacce    ids.Dacce    // of dacce and pcce
	lucce    ids.Lucce
	encode   stemmaContexts
	dev, ino uint64 // of the live directory
	quiet    bool   // nothing is printed
	faults   *[stemmaFaults]stemmaFault
	faulted  int // of faults that are there
}

// stemmaNowhere is where code that runs without a g puts its context: threads write to it
// at will, and none reads what another has written.
var stemmaNowhere uintptr

// stemmaRootCell returns the offset of a cell of the root node.
//
//go:nosplit
func stemmaRootCell(k uintptr) uintptr {
	return tree.RootNode + layout.NodeSize + layout.CellSize*k
}

// stemmaSaved is what stemmaRoot replaces.
type stemmaSaved struct{ ctx, start, from, epoch uintptr }

// stemmaRoot makes gp call from the named root k from here on. It returns what
// stemmaRestore takes to undo it.
//
//go:nosplit
func stemmaRoot(gp *g, k uintptr) stemmaSaved {
	old := stemmaSaved{gp.stemma.Ctx, gp.stemma.Start, gp.stemma.From, gp.stemma.Epoch}
	if stemma.encode.on {
		gp.stemma.Ctx, gp.stemma.Start, gp.stemma.From = stemmaVoid, k, 0
		return old
	}
	gp.stemma.Ctx = stemmaRootCell(k)
	gp.stemma.Start = gp.stemma.Ctx
	return old
}

//go:nosplit
func stemmaRestore(gp *g, old stemmaSaved) {
	if old.from != 0 && old.epoch+1 < stemmaIDs.first {
		systemstack(func() {
			lock(&stemma.lock)
			old.start, old.from = stemmaStartIn(old.start, old.from, old.epoch)
			unlock(&stemma.lock)
		})
	}
	gp.stemma.Ctx, gp.stemma.Start, gp.stemma.From = old.ctx, old.start, old.from
	if stemma.encode.on {
		gp.stemma.Ctx = stemmaVoid
	}
}

// A stemmaContext is what a function of the runtime puts back into g before it
// calls instrumented code once more. The pair is that of engine lucce.
type stemmaContext struct{ ctx, epoch, id, version uintptr }

// stemmaSave returns the context that the caller left in gp.
//
//go:nosplit
func stemmaSave(gp *g) stemmaContext {
	pair := gp.stemma.Pair()
	return stemmaContext{gp.stemma.Ctx, gp.stemma.Epoch, pair.ID, pair.Version}
}

// stemmaPut puts a context back, unless a re-encoding has made it void: then
// the callee finds it out.
//
//go:nosplit
func stemmaPut(gp *g, saved stemmaContext) {
	gp.stemma.Ctx = saved.ctx
	if gp.stemma.Epoch != saved.epoch {
		gp.stemma.Ctx = stemmaVoid
	}
	if stemma.encode.lucce {
		pair := gp.stemma.Pair()
		pair.ID, pair.Version = saved.id, saved.version
	}
}

// Exit hooks run on the goroutine that ends the program, as ordinary code.
func init() {
	exithook.StemmaSave = func() [4]uintptr {
		c := stemmaSave(getg())
		return [4]uintptr{c.ctx, c.epoch, c.id, c.version}
	}
	exithook.StemmaPut = func(c [4]uintptr) { stemmaPut(getg(), stemmaContext{c[0], c[1], c[2], c[3]}) }
}

// stemmaNewG gives a new goroutine the context of the go statement that makes
// it, or the root if the runtime makes it for itself.
func stemmaNewG(newg, creator *g, callerpc uintptr) {
	stemmaWaitMove()
	newg.stemma.owner = creator.stemma.owner
	if stemmaExistingOn && newg.stemma.entry == 0 {
		stemmaNewEntry(newg)
	}
	stemmaRoot(newg, layout.RootGo)
	if stemma.encode.lucce {
		stemmaLucceNewG(newg, creator, callerpc)
		return
	}
	if stemma.encode.on {
		stemmaDacceNewG(newg, creator, callerpc)
		return
	}
	f := findfunc(callerpc)
	cell := f.valid() && f.flag&layout.FuncFlagSlot != 0
	if cell {
		newg.stemma.Ctx = creator.stemma.Ctx
		newg.stemma.Start = creator.stemma.Ctx
		if stemmaCheckOn {
			stemmaCheckGo(creator, callerpc)
		}
	}
	if stemmaCallsOn {
		stemmaCallsGo(newg, creator, cell)
	}
}

// stemmaEnterGo finds or creates the node of the function g.stemma.Func, and
// leaves it in g.stemma.Node. It may run on any stack but a signal's, with or
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
		node := stemma.tree.Enter(uint32(gp.stemma.Ctx), (*layout.Meta)(unsafe.Pointer(gp.stemma.Func)))
		gp.stemma.Node = uintptr(node)
		if stemmaCheckOn {
			stemmaCheckEntry(gp, pc, sp, node, stemma.tree.Used() != used)
		} else if stemmaCallsOn {
			stemmaCallsEntry(gp, node)
		} else if stemmaAcct.on {
			stemmaAcctEntry(gp, pc, sp)
		}
		if stemma.tree.Made() >= tree.ManyNodes && !stemmaMany.said {
			stemmaTellMany()
		}
		unlock(&stemma.lock)
	})
}

// stemmaMany is the line about a tree with many nodes. It is under the lock, and written once.
var stemmaMany struct {
	said bool
	text stemmaLineText
}

// stemmaTellMany says that there are many contexts, and which functions make the newest of them. It runs on the system
// stack, under the lock.
func stemmaTellMany() {
	stemmaMany.said = true
	var makers [3]tree.Maker
	looked := stemma.tree.Makers(makers[:])
	t := &stemmaMany.text
	t.add("stemma: ")
	t.number(stemma.tree.Made())
	t.add(" contexts are on record and new ones keep coming, which takes time and memory")
	for i, m := range makers {
		if m.Made == 0 {
			break
		}
		t.add([...]string{"; the newest are calls in ", ", ", ", "}[i])
		name := funcname(findfunc(uintptr((*layout.Meta)(unsafe.Pointer(uintptr(m.Func))).Entry)))
		t.add(name[:min(len(name), 200)])
		t.add(" (")
		t.number(uint64(100 * m.Made / looked))
		t.add(" %)")
	}
	if stemma.tree.Bounded() {
		t.add("; beyond ")
		t.number(tree.DefaultNodes)
		t.add(", calls are counted by function only; build with -nodes=N for another bound")
	}
	t.add("; STEMMA_QUIET=1 leaves this line out")
	t.say()
}

// stemmaPanicking returns the context under which gopanic, called from pc
// with stack pointer sp, runs deferred functions. A panic statement has left
// its cell in g. A run-time error has not: then it is a place of fault below
// the innermost instrumented frame.
func stemmaPanicking(pc uintptr, sp unsafe.Pointer) stemmaContext {
	gp := getg()
	if stemmaWants(layout.EventPanic) {
		stemmaEventPanic(pc, sp)
	}
	if !stemma.on && !stemma.encode.on {
		return stemmaSave(gp) // no frame has a context: the walk would find none
	}
	if f := findfunc(pc); f.valid() && f.flag&layout.FuncFlagSlot != 0 {
		return stemmaSave(gp)
	}
	if stemma.encode.on {
		return stemmaContext{ctx: stemmaVoid, epoch: gp.stemma.Epoch}
	}
	ctx := gp.stemma.Ctx
	systemstack(func() {
		var u unwinder
		u.initAt(pc, uintptr(sp), 0, gp, unwindSilentErrors)
		handler := "runtime.gopanic"
		for ; u.valid(); u.next() {
			if node := stemmaFrameNode(gp, &u.frame); node != 0 {
				if handler == "runtime.sigpanic" && gp.paniconfault && gp.sigcode1 >= 0x1000 {
					stemmaLostFault()
				}
				ctx = stemmaFaultAt(gp, node, u.frame.fn, u.symPC(), handler)
				return
			}
			handler = funcname(u.frame.fn)
		}
	})
	return stemmaContext{ctx: ctx, epoch: gp.stemma.Epoch}
}

// stemmaLostFault counts a fault at an address that is not nil, from which a program may recover: calls that are
// inlined behind it in its block may share a counter with one before it.
func stemmaLostFault() {
	lock(&stemma.lock)
	stemma.record.Lost(layout.LostFaults)
	unlock(&stemma.lock)
}

// stemmaFrameNode returns the node of a frame, or 0 if its function is not
// instrumented. A function that calls nothing does not store its node; if it
// is the innermost, then g still holds the cell through which it was entered.
func stemmaFrameNode(gp *g, frame *stkframe) uint32 {
	switch {
	case frame.fn.flag&layout.FuncFlagSlot != 0:
		return *(*uint32)(unsafe.Pointer(frame.varp - goarch.PtrSize))
	case frame.fn.flag&layout.FuncFlagLeaf != 0:
		return stemma.tree.ByEntry(uint32(gp.stemma.Ctx), uint64(frame.fn.entry()))
	}
	return 0
}

// stemmaRecover puts into g the context of the deferreturn to which recovery
// is about to jump, in the frame of f with frame pointer fp: the jump skips
// the store of the cell.
func stemmaRecover(gp *g, f funcInfo, fp uintptr) {
	if stemma.encode.on {
		gp.stemma.Ctx = stemmaVoid
	}
	if !stemma.on || f.flag&layout.FuncFlagSlot == 0 {
		return
	}
	node := *(*uint32)(unsafe.Pointer(fp - stemmaSlotFromFP))
	if cell := stemma.tree.RecoverCell(node); cell != 0 {
		gp.stemma.Ctx = uintptr(cell)
	}
}

// stemmaRecoverFrame gives the frame to which recovery is about to jump, on, its frame pointer. Where that is in the
// deferreturn of f it has it. Where a panic is recovered beyond a pending Goexit it is that of Goexit, and the runtime
// has set the frame pointer of f: what is called next would be linked to that, past the frames in between.
func stemmaRecoverFrame(on *gobuf, f funcInfo) {
	at := findfunc(on.pc)
	if stemmaRecoversFP || at.entry() == f.entry() {
		return
	}
	on.bp = on.sp + uintptr(funcspdelta(at, on.pc)) - goarch.PtrSize
}

// stemmaFault is a place where a run-time error rose or a signal struck, in
// one context.
type stemmaFault struct {
	pc         uintptr
	node, here uint32
}

// stemmaFaults is the size of the table of faults, and stemmaMostFaults how many it takes: so a search ends soon.
const (
	stemmaFaults     = 1 << 15
	stemmaMostFaults = stemmaFaults / 4 * 3
)

// stemmaFaultAt counts a fault of gp at pc in node, in function f, which the runtime
// function handler is called for. It returns the offset of the cell under
// which the deferred functions run. It runs on the system stack.
func stemmaFaultAt(gp *g, node uint32, f funcInfo, pc uintptr, handler string) uintptr {
	lock(&stemma.lock)
	node = stemma.tree.Home(node)
	i := (pc ^ uintptr(node)>>3) % stemmaFaults
	e := &stemma.faults[i]
	for e.here != 0 && (e.pc != pc || e.node != node) {
		i = (i + 1) % stemmaFaults
		e = &stemma.faults[i]
	}
	if e.here == 0 {
		*e = stemmaFault{pc, node, stemmaNewFault(node, f, pc, handler)}
	}
	here := e.here
	if stemmaCallsOn && here != 0 {
		stemmaCallsEntry(gp, here)
	}
	unlock(&stemma.lock)
	if here == 0 {
		return stemmaRootCell(layout.RootOther)
	}
	// On the system stack there is no preemption, and so no change of P.
	*(*uint64)(unsafe.Pointer(layout.Base + uintptr(here) + getg().m.p.ptr().stemma.shard))++
	return uintptr(tree.CellOf(here, 0))
}

// stemmaNewFault makes the node of a fault that is not in the table. It returns 0, and counts that, if there is no room
// for it, or none for its record: readers could not read a node without one. It runs on the system stack, under the
// lock.
func stemmaNewFault(node uint32, f funcInfo, pc uintptr, handler string) (here uint32) {
	switch {
	case stemma.faulted == stemmaMostFaults:
		stemma.record.Lost(layout.LostNodes)
	case stemmaRecordFault(f, pc, handler):
		if here = stemma.tree.EnterFault(node, uint64(pc)); here != 0 {
			stemma.faulted++
		}
	}
	return here
}

// stemmaRecordFault describes the place: the frames of f at pc. It reports false if there is no room. It runs on the
// system stack, under the lock.
func stemmaRecordFault(f funcInfo, pc uintptr, handler string) bool {
	w, ok := stemma.record.BeginFault(uint64(pc))
	if !ok {
		return true
	}
	u, uf := newInlineUnwinder(f, pc)
	for ; uf.valid(); uf = u.next(uf) {
		file, line := u.fileLine(uf)
		w.Frame(u.srcFunc(uf).name(), file, int32(line))
	}
	return w.End(handler)
}
