// The checker of a verify build: at every Nth function entry, at the first
// entry of every context and at every go statement it walks the stack and
// writes down what it finds, for the tool to compare with the recorded context.
// Where stacks are deep it does so less often, see checker.Checker.Due.

package runtime

import (
	"internal/abi"
	"internal/runtime/stemma/checker"
	"internal/runtime/stemma/ids"
	"internal/runtime/stemma/layout"
	"internal/runtime/sys"
)

// stemmaCheckOn says that this is a verify build. It is set before there is
// any instrumented code to run.
var stemmaCheckOn bool

// stemmaCountdown is the number of function entries until the next check.
// Several Ms count it down without care; only that it ends matters. Used by
// stemmaEnterChecked.
var stemmaCountdown int64

// stemmaCheckEvery is the number of function entries from one check to the next.
var stemmaCheckEvery int64 = 1009

var stemmaCheck checker.Checker

func stemmaCheckInit() {
	switch n, ok := stemmaNumber("STEMMA_CHECK_EVERY"); {
	case n > 0:
		stemmaCheckEvery = int64(n)
	case ok:
		stemmaSayIgnored("STEMMA_CHECK_EVERY", "0", "a number from 1 on")
	}
	check := stemmaFileSpan(layout.FileCheck, checker.RecordsSize)
	strings := stemmaFileSpan(layout.FileStrings, checker.StringsSize)
	seen := stemmaTables(checker.SeenSize)
	names := stemmaTables(checker.NamesSize)
	stemmaCheck.Init(&stemma.record, check, strings, seen, names)
	stemmaCheckOn = true
}

// stemmaCheckDue reports whether the function that has just been entered on gp, whose
// stack goes on at sp, is to be checked: one of every stemmaCheckEvery, and the first
// entry of a context. It runs on the system stack, under the lock.
func stemmaCheckDue(gp *g, sp uintptr, first bool) bool {
	if stemmaCountdown > 0 && !first {
		return false
	}
	entered := stemmaCheckEvery - stemmaCountdown
	stemmaCountdown = stemmaCheckEvery
	return stemmaCheck.Due(entered, gp.stack.hi-sp)
}

// stemmaCheckEntry checks the function that has just been entered, on gp,
// whose stack goes on at pc and sp. It runs on the system stack, under the
// lock. Natives between the entry and the function are left out.
func stemmaCheckEntry(gp *g, pc, sp uintptr, node uint32, first bool) {
	if !stemmaCheckDue(gp, sp, first) {
		return
	}
	stemmaCheck.Begin(&stemma.tree, node, 0, uint32(gp.stemma.Start))
	stemmaCheckWalk(gp, pc, sp)
	stemmaCheck.End()
}

// stemmaCheckEncoded is stemmaCheckEntry for calling context encoding.
func stemmaCheckEncoded(gp *g, st *ids.Stack, pc, sp uintptr, word uint64, data uintptr) {
	if !stemmaCheckDue(gp, sp, false) {
		return
	}
	hi, lo := stemma.dacce.Capture(st, word, stemmaEntryOf(data))
	startHi, startLo := stemmaStartOf(gp)
	stemmaCheck.BeginID(hi, lo, startHi, startLo)
	stemmaCheckWalk(gp, pc, sp)
	stemmaCheck.End()
}

// stemmaStartOf returns the ID of the go statement that gp began with, or 0.
func stemmaStartOf(gp *g) (hi, lo uint64) {
	if gp.stemma.From == 0 {
		return 0, 0
	}
	return uint64(gp.stemma.Start), uint64(gp.stemma.From)
}

// stemmaCheckCapture checks an ID that was captured in creator, which waits for
// the system stack.
func stemmaCheckCapture(creator *g, hi, lo uint64) {
	if creator != getg().m.curg {
		return
	}
	lock(&stemma.lock)
	if stemmaCheck.Due(0, creator.stack.hi-creator.sched.sp) {
		startHi, startLo := stemmaStartOf(creator)
		stemmaCheck.BeginID(hi, lo, startHi, startLo)
		stemmaCheckWalk(creator, creator.sched.pc, creator.sched.sp)
		stemmaCheck.End()
	}
	unlock(&stemma.lock)
}

// stemmaCheckGo checks the context of the go statement at pc, in creator: it
// is what the new goroutine's contexts begin with.
func stemmaCheckGo(creator *g, pc uintptr) {
	if creator != getg().m.curg {
		return
	}
	gp := getg()
	walkpc, walksp := sys.GetCallerPC(), sys.GetCallerSP()
	systemstack(func() {
		if gp == gp.m.g0 {
			walkpc, walksp = creator.sched.pc, creator.sched.sp
		}
		lock(&stemma.lock)
		if stemmaCheck.Due(0, creator.stack.hi-walksp) {
			cell := uint32(creator.stemma.Ctx)
			stemmaCheck.Begin(&stemma.tree, stemma.tree.Owner(cell), cell, uint32(creator.stemma.Start))
			stemmaCheckWalk(creator, walkpc, walksp)
			stemmaCheck.End()
		}
		unlock(&stemma.lock)
	})
}

// stemmaCheckEnded notes that the program ends, and how many goroutines of its that may leave in the midst of what
// they do. It runs on the system stack, under the lock.
func stemmaCheckEnded() {
	n := uint64(0)
	list, length := atomicAllG()
	for i := range length {
		gp := atomicAllGIndex(list, i)
		switch readgstatus(gp) &^ _Gscan {
		case _Grunnable, _Grunning, _Gpreempted, _Gcopystack:
			if gp != getg().m.curg && !isSystemGoroutine(gp, false) {
				n++
			}
		}
	}
	stemmaCheck.Ended(n)
}

// stemmaCheckWalk adds the frames of gp's stack from the innermost instrumented
// one on. A frame has no file if the program's tables do not say where it made the
// inlined call that the next frame in is: the call has no mark. Tracebacks take the first
// line of its function for that. It runs on the system stack, under the lock.
func stemmaCheckWalk(gp *g, pc, sp uintptr) {
	var u unwinder
	u.initAt(pc, sp, stemmaLinkAt(gp, pc, sp), gp, unwindSilentErrors)
	begun := false
	for ; u.valid(); u.next() {
		f := u.frame.fn
		if funcname(f) == "runtime.clearpools" {
			return // what is further out has a context of its own: the root gc
		}
		begun = begun || f.flag&(layout.FuncFlagSlot|layout.FuncFlagLeaf) != 0
		if !begun {
			continue
		}
		iu, uf := newInlineUnwinder(f, u.symPC())
		marked := true
		for uf.valid() {
			file, line := iu.fileLine(uf)
			name := iu.srcFunc(uf).name()
			wrapper := iu.srcFunc(uf).funcID == abi.FuncIDWrapper
			if !marked {
				file, line = "", 0
			}
			marked = !iu.isInlined(uf) || iu.inlTree[uf.index].parentPc != 0
			uf = iu.next(uf)
			stemmaCheck.Frame(name, file, uint32(line), uf.valid(), wrapper)
		}
	}
}
