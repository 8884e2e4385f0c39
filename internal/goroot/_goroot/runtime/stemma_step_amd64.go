// The single-step harness, for tests: while a return is intercepted the processor
// traps after every instruction, and the handler of SIGTRAP unwinds the stack from
// wherever the trampoline has got to. So there is no
// instruction of it at which a profiler's signal could find a stack that cannot be walked.
// A trap takes microseconds to milliseconds, so STEMMA_TRACE_STEP says how many
// instructions of the trampoline are enough; after that a return traps once.

package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
	"internal/runtime/stemma/layout"
)

func stemmaTrampolineStep()

// stemmaStepping is on if STEMMA_TRACE_STEP is set; stemmaStepsLeft may fall below 0.
var (
	stemmaStepping  bool
	stemmaStepsLeft atomic.Int64
)

// stemmaStepRange is where the fast path of the trampoline is; behind it comes the slow one.
var stemmaStepRange struct{ lo, hi, slowEnd uintptr }

func stemmaStepInit(steps int64) {
	stemmaStepsLeft.Store(steps)
	r := &stemmaStepRange
	r.lo, r.hi = stemmaSpan(abi.FuncPCABI0(stemmaTrampoline))
	_, r.slowEnd = stemmaSpan(abi.FuncPCABI0(stemmaTrampolineSlow))
	stemmaTrampPC = abi.FuncPCABI0(stemmaTrampolineStep) + 2
	stemmaStepping = true
}

// stemmaStepped is called for a SIGTRAP, in the signal handler, and reports whether it is
// one of ours. gp is the goroutine that was interrupted.
//
//go:nowritebarrierrec
func stemmaStepped(c *sigctxt, gp *g) bool {
	if !stemmaStepping || c.regs().eflags&0x100 == 0 {
		return false
	}
	mp := getg().m
	if !mp.stemma.inside && stemmaStepsLeft.Load() <= 0 {
		c.regs().eflags &^= 0x100
		return true
	}
	pc, r := c.sigpc(), &stemmaStepRange
	inside := pc > r.lo && pc < r.hi
	if inside && gp == mp.curg {
		stemmaSmp.Count(layout.StatStepped, 1)
		stemmaStepsLeft.Add(-1)
		if !stemmaStepUnwind(pc, c.sigsp(), gp) {
			stemmaSmp.Count(layout.StatMismatches, 1)
			if stemmaTraceFail {
				throw("stemma: the stack cannot be walked from inside the trampoline")
			}
		}
		mp.stemma.inside = true
	}
	inside = inside || pc >= r.hi && pc < r.slowEnd
	if mp.stemma.inside && !inside && gp == mp.curg {
		c.regs().eflags &^= 0x100
		mp.stemma.inside = false
	}
	return true
}

// stemmaStepUnwind reports whether a walk from the trampoline at pc reaches
// the end of the stack, through no patched return address.
//
//go:nowritebarrierrec
func stemmaStepUnwind(pc, sp uintptr, gp *g) bool {
	var u unwinder
	u.initAt(pc, sp, 0, gp, unwindSilentErrors|unwindTrap)
	for n := 0; u.valid(); n++ {
		f := u.frame.fn
		if f.flag&abi.FuncFlagTopFrame != 0 {
			return n > 0
		}
		if n > 0 && u.frame.pc > stemmaStepRange.lo && u.frame.pc < stemmaStepRange.slowEnd {
			return false
		}
		u.next()
	}
	return false
}
