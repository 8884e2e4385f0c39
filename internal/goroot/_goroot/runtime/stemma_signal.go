// Samples that a signal handler takes: at the instruction that the thread is at, whatever
// that is. Nothing waits for a safe point, so that a sample belongs to what ran when it was
// due, and costs a signal and no switch of stacks.

package runtime

import (
	"internal/abi"
	"internal/goarch"
	"internal/runtime/stemma/layout"
	"internal/runtime/sys"
	"internal/runtime/syscall/linux"
	"unsafe"
)

// stemmaSignaled is called by sighandler, on the signal stack, with all signals
// blocked. It takes the sample that this thread was asked for, and
// reports whether the signal was ours: no other is ever taken for one, nor the other way round.
//
//go:nowritebarrierrec
func stemmaSignaled(sig uint32, c *sigctxt, gp *g) bool {
	if sig == _SIGTRAP {
		return stemmaStepped(c, gp)
	}
	if sig != _SIGPROF || c.sigcode() != stemmaSITimer {
		return false
	}
	whose := stemmaSigValue(c.info)
	if list := uintptr(unsafe.Pointer(&stemmaThreads.list)); whose-list >= unsafe.Sizeof(stemmaThreads.list) {
		return false // a timer of the CPU profile
	}
	mp := getg().m
	if mp == nil || *cgo_yield != nil {
		return true // under C's thread sanitizer the signal comes too late
	}
	th := stemmaThreadOf(mp)
	switch {
	case th == nil || uintptr(unsafe.Pointer(th)) != whose:
		// The thread's entry has been taken back since the signal was sent.
	case stemmaTimed():
		th.timer(c, gp, mp)
	case th.state.CompareAndSwap(stemmaTicketSignal, stemmaTicketTaken):
		stemmaSampleHere(th, c, gp, mp, stemmaThreadCPU())
		stemmaSmp.Latency(uint64(nanotime() - th.asked))
		th.state.Store(stemmaTicketFree)
	}
	return true
}

// stemmaSITimer is the code of signals that a timer has sent, as sigctxt returns it.
const stemmaSITimer = 1<<64 + _SI_TIMER

// stemmaQueued is what the kernel has in a siginfo for signals that have a value.
type stemmaQueued struct {
	signo, errno, code int32
	_                  int32
	pid, uid           int32 // in one of a timer: its number, and how often it went off
	value              uintptr
}

//go:nowritebarrierrec
func stemmaSigValue(info *siginfo) uintptr { return (*stemmaQueued)(unsafe.Pointer(info)).value }

// signal sends this thread the signal that its timer would send. The kernel sends one that is still pending
// only once; then who asks asks again. It may run without a P.
//
//go:nowritebarrierrec
func (th *stemmaThread) signal() {
	var info siginfo
	q := (*stemmaQueued)(unsafe.Pointer(&info))
	q.signo, q.code, q.value = _SIGPROF, _SI_TIMER, uintptr(unsafe.Pointer(th))
	linux.Syscall6(sysRtTgsigqueueinfo, uintptr(getpid()), uintptr(th.tid), _SIGPROF, uintptr(unsafe.Pointer(&info)),
		0, 0)
}

// stemmaHandles reports whether the runtime handles SIGPROF, where samples need it: C can have taken it. Its thread
// sanitizer handles all signals.
func stemmaHandles() bool {
	if !stemmaTimed() || *cgo_yield != nil {
		return true
	}
	h := getsig(_SIGPROF)
	return h == abi.FuncPCABI0(sigtramp) || h == abi.FuncPCABI0(cgoSigtramp)
}

// stemmaSampleHere takes the sample of a thread that was interrupted on the stack
// of gp, when its clock shows cpu. It runs in a signal handler: it takes no lock that the
// thread may hold, allocates nothing, and changes the trace of a goroutine only where nothing
// else on this thread can be at it.
//
//go:nowritebarrierrec
func stemmaSampleHere(th *stemmaThread, c *sigctxt, gp *g, mp *m, cpu uint64) {
	here := stemmaPlace{pc: c.sigpc(), sp: c.sigsp(), lr: c.siglr(), bp: stemmaFPOf(c), how: stemmaInterrupted}
	if here.pc == stemmaFPFuncs.async && gp != nil && gp == mp.curg {
		// A signal for preemption came together with this one, and its handler has just made
		// the goroutine call asyncPreempt.
		here.pc, here.sp, here.lr = stemmaPushedCall(here.sp, here.lr)
	}
	here.sym = here.pc
	weight := th.stemmaUsed(cpu)
	if stemmaSmp.walk == layout.WalkContext {
		stemmaSampleContext(th, here, gp, mp, weight)
	} else if !stemmaOwnStack(here, gp, mp) || !stemmaSampleOwn(th, here, gp, weight) {
		stemmaSampleAny(th, here, gp, mp, weight)
	}
	stemmaSmp.Count(layout.StatSamples, 1)
}

// stemmaOwnStack reports whether a goroutine was interrupted in its own code: it
// runs, on its own stack, outside of the trampoline, in a function whose frame can be found. Then no other
// code of this thread is in the middle of changing its trace, since all that does runs on g0, and
// no other thread looks at its stack, since it would have to stop it first.
//
//go:nowritebarrierrec
func stemmaOwnStack(here stemmaPlace, gp *g, mp *m) bool {
	if gp == nil || gp != mp.curg || here.sp < gp.stack.lo || here.sp >= gp.stack.hi || mp.vdsoSP != 0 {
		return false
	}
	if readgstatus(gp)&^_Gscan != _Grunning || gp.syscallsp != 0 {
		return false
	}
	r := &stemmaFPFuncs
	if here.pc >= r.tramp && here.pc < r.trampEnd || here.pc >= r.trampStep && here.pc < r.trampStepEnd {
		return false
	}
	f := findfunc(here.pc)
	return f.valid() && f.pcsp != 0 && f.flag&(abi.FuncFlagSPWrite|abi.FuncFlagTopFrame) == 0
}

// stemmaSampleOwn samples a goroutine that was interrupted in its own code. It reports
// false if that is to be done in another way.
//
//go:nowritebarrierrec
func stemmaSampleOwn(th *stemmaThread, here stemmaPlace, gp *g, weight uint64) bool {
	if stemmaSmp.walk >= layout.WalkIncremental {
		return stemmaTrace(gp, th, here, weight)
	}
	if stemmaSmp.walk != layout.WalkFP {
		return false
	}
	pcs := th.stemmaBuffer()
	n, ok := stemmaWalkFP(gp, here, pcs)
	if ok {
		stemmaSmp.Add(stemmaSmp.Stack(0, pcs[:n]), layout.WeightCPU, weight, 1)
	}
	return ok
}

// stemmaSampleAny samples whatever the thread was interrupted in, as the CPU
// profiler does: the runtime on g0, the scheduler, a system call, the kernel's vdso, C.
//
//go:nowritebarrierrec
func stemmaSampleAny(th *stemmaThread, here stemmaPlace, gp *g, mp *m, weight uint64) {
	pcs := th.stemmaBuffer()
	n, whole := stemmaWalkAny(here, gp, mp, pcs)
	base := uint32(0)
	switch {
	case n == 0 && len(pcs) > 1:
		// Not Go's, and nothing is known of who called it.
		pcs[0], n = stemmaForeign(here.pc), 2
		pcs[1] = abi.FuncPCABIInternal(_System) + sys.PCQuantum
	case !whole && gp == mp.curg:
		stemmaSmp.Count(layout.StatFailed, 1)
		base = stemmaSmp.Child(0, layout.PCTruncated)
	}
	stemmaSmp.Add(stemmaSmp.Stack(base, pcs[:n]), layout.WeightCPU, weight, 1)
}

// stemmaForeign returns an address for code that is not Go's: that of the runtime's function with
// a name for it, which CPU profiles show as well.
//
//go:nowritebarrierrec
func stemmaForeign(pc uintptr) uintptr {
	if inVDSOPage(pc) {
		return abi.FuncPCABIInternal(_VDSO) + sys.PCQuantum
	}
	return abi.FuncPCABIInternal(_ExternalCode) + sys.PCQuantum
}

// stemmaWalkAny walks with the runtime's unwinder from where the thread was
// interrupted: in a call of C from where its goroutine left Go, else from the instruction,
// and from g0 on to the goroutine that it works for.
//
//go:nowritebarrierrec
func stemmaWalkAny(here stemmaPlace, gp *g, mp *m, pcs []uintptr) (n int, whole bool) {
	var u unwinder
	stemmaBeginWalk(&u, here, gp, mp)
	return stemmaUnwind(&u, pcs)
}

// stemmaBeginWalk begins that walk. In the code of C that no goroutine has called, u is not valid.
//
//go:nowritebarrierrec
func stemmaBeginWalk(u *unwinder, here stemmaPlace, gp *g, mp *m) {
	curg := mp.curg
	switch {
	case mp.ncgo > 0 && curg != nil && curg.syscallpc != 0 && curg.syscallsp != 0:
		u.initAt(curg.syscallpc, curg.syscallsp, 0, curg, unwindSilentErrors)
	case mp.vdsoSP != 0 && gp != nil:
		u.initAt(mp.vdsoPC, mp.vdsoSP, 0, gp, unwindSilentErrors|unwindJumpStack)
	case gp != nil:
		u.initAt(here.pc, here.sp, here.lr, gp, unwindSilentErrors|unwindTrap|unwindJumpStack)
	}
}

// stemmaUnwind notes the addresses that u comes to, up to the outermost frame, which is in no
// trace. It reports whether it got there.
//
//go:nowritebarrierrec
func stemmaUnwind(u *unwinder, pcs []uintptr) (n int, whole bool) {
	for ; u.valid() && n < len(pcs); u.next() {
		if u.frame.fn.flag&abi.FuncFlagTopFrame != 0 {
			return n, true
		}
		pcs[n] = u.symPC()
		n++
	}
	return n, false
}

// A stemmaPlace is where a goroutine has stopped.
type stemmaPlace struct {
	pc, sp, bp uintptr
	lr         uintptr // the link register, if there is one, where it may have the return address
	sym        uintptr // the address to record
	how        uint8
}

// stop returns where the innermost frame has stopped.
//
//go:nosplit
//go:nowritebarrierrec
func (at *stemmaPlace) stop() stemmaHalted {
	return stemmaHalted{pc: at.pc, sp: at.sp, lr: at.lr, interrupted: at.how == stemmaInterrupted}
}

const (
	stemmaAfterCall   = iota // after a call, its frame being complete
	stemmaAtGuard            // in a prologue: the frame of pc has only a return address, or not even that
	stemmaInterrupted        // between any two instructions
	stemmaEntered            // after a call in its prologue: its frame is complete, if it has one
)

// stemmaWalkFP follows the frame pointers. It reports false where the chain
// does not lead to goexit within gp's stack, as in callbacks from C, and where a function of
// assembly was interrupted, which may use the register for something else.
//
//go:nowritebarrierrec
func stemmaWalkFP(gp *g, at stemmaPlace, pcs []uintptr) (n int, ok bool) {
	if len(pcs) == 0 {
		return 0, false
	}
	w := stemmaFPWalk{gp: gp, pcs: pcs, pc: at.pc, lo: at.sp - stemmaPopped, bp: at.bp}
	w.add(at.sym)
	more := true
	switch at.how {
	case stemmaInterrupted:
		more = w.interrupted(at.stop())
	case stemmaAtGuard:
		more = w.returned(stemmaGuardReturn(gp, at))
	}
	for more {
		more = w.next()
	}
	return w.n, w.ok
}

// A stemmaFPWalk is a walk along frame pointers.
type stemmaFPWalk struct {
	gp     *g
	pcs    []uintptr
	n      int
	pc     uintptr // in the function that bp belongs to, or that it was called from
	lo, bp uintptr
	ok     bool // the walk has reached goexit
}

//go:nowritebarrierrec
func (w *stemmaFPWalk) add(pc uintptr) {
	w.pcs[w.n] = pc
	w.n++
}

// returned takes the return address of the last frame, and reports whether there is another one.
//
//go:nowritebarrierrec
func (w *stemmaFPWalk) returned(ret uintptr) bool {
	if ret == stemmaFPFuncs.goexit {
		w.ok = true
		return false
	}
	w.pc = ret
	w.add(ret - 1)
	return w.n < len(w.pcs)-2
}

// interrupted finds who called the frame that was interrupted, perhaps before it was linked. bp is the register.
//
//go:nowritebarrierrec
func (w *stemmaFPWalk) interrupted(at stemmaHalted) bool {
	f := findfunc(at.pc)
	if !f.valid() || f.flag&(abi.FuncFlagSPWrite|abi.FuncFlagAsm) != 0 {
		return false
	}
	var fr stemmaFrame
	delta := uintptr(funcspdelta(f, at.pc))
	if _, ok := fr.find(w.gp, at, delta); !ok {
		return false
	}
	if delta > 0 {
		w.bp = stemmaCallersFP(&fr, w.bp)
	}
	w.lo = fr.place()
	return w.returned(stemmaLR(w.gp, fr.raw, fr.end))
}

// next goes on to the caller, and reports whether there may be another one.
//
//go:nowritebarrierrec
func (w *stemmaFPWalk) next() bool {
	if w.bp < w.lo || w.bp > w.gp.stack.hi-2*goarch.PtrSize {
		return false
	}
	slot, pc, r := w.bp+goarch.PtrSize, w.pc-1, &stemmaFPFuncs
	ret := stemmaReturn(w.gp, slot)
	w.lo, w.bp = slot, *(*uintptr)(unsafe.Pointer(w.bp))
	injected := pc >= r.async && pc < r.asyncEnd
	if !injected && !(pc >= r.sigpanic && pc < r.sigpanicEnd) {
		return w.returned(ret)
	}
	if injected && w.n <= 2 {
		w.n = 0 // asyncPreempt and what it called are not part of the trace
	}
	at := stemmaInterruptedAt(ret, stemmaEndOf(slot, w.pc))
	w.add(at.pc)
	return w.interrupted(at)
}
