// The accumulator acct: an approximate calling context tree. Every so many calls, or at ticks
// of the sampler, the function that has just been entered takes a sample, and splices its new frames into
// the tree of samples. Here is what is common, and the accumulator beside the exact tree; without
// that tree it is in stemma_countdown.go.

package runtime

import (
	"internal/abi"
	"internal/runtime/stemma/fold"
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/sample"
	"unsafe"
)

// stemmaAcct is the state of the accumulator.
var stemmaAcct struct {
	on      bool
	alone   bool // without the exact tree
	all     bool // the strategy increment-all-new-edges
	trigger uint8
	n       int64   // calls, or nanoseconds
	scale   float64 // sample.StrideScale of n
	seed    uint64  // what the next length is drawn from, beside the exact tree; under its lock
}

// Triggers.
const (
	stemmaTriggerCalls = iota
	stemmaTriggerFunc
	stemmaTriggerTime
)

// stemmaTrigger tells stemmaEnterChecked what to look at: 0 the countdown of all calls, 1
// the one of each function, in stemmaFuncCounters; 2 makes the next function that is
// entered take a sample.
var stemmaTrigger uint8
var stemmaFuncCounters [sample.FuncTriggerSize]int32

// stemmaNever is a countdown that does not end.
const stemmaNever = 1 << 62

// stemmaAcctInit reads the options of the accumulator, in schedinit.
func stemmaAcctInit() {
	a := &stemmaAcct
	a.on, a.alone = true, !stemma.on // which stemmaInit has set
	a.all = stemmaOption("weights") == "all-new-edges"
	trigger := stemmaOption("trigger")
	i := 0
	for i < len(trigger) && trigger[i] != ':' {
		i++
	}
	a.n = 1559
	stemmaSmp.interval.Store(10e6) // the sampler's thread only describes addresses
	if i < len(trigger) {
		if n := stemmaDuration(trigger[i+1:]); n > 0 {
			a.n = n
		}
	}
	a.scale = sample.StrideScale(a.n)
	switch trigger[:i] {
	case "func":
		a.trigger = stemmaTriggerFunc
	case "time":
		a.trigger = stemmaTriggerTime
		stemmaSmp.interval.Store(a.n)
	}
	stemmaSmp.sampler, stemmaSmp.walk = layout.SamplerACCT, layout.WalkMarker
	stemmaSmp.waiting = false
	if stemmaOption("recursion") != "full" {
		stemmaSmp.FuncOf = stemmaFuncOf
	}
	// Without the exact tree a function that checks its stack meets a tick, and no other need look for it.
	stemmaSmp.guard = a.alone && a.trigger == stemmaTriggerTime
	if !a.alone {
		stemmaAcctBeside()
	}
}

// stemmaFuncOf returns the address of the description of the function that pc is in, 0 if it is in none, and what the
// function is to recursion.
//
//go:nowritebarrierrec
func stemmaFuncOf(pc uintptr) (fn uintptr, kind fold.Kind) {
	f := findfunc(pc)
	switch {
	case !f.valid():
		return 0, fold.Ordinary
	case f.flag&layout.FuncFlagAdapter != 0:
		kind = fold.Adapter
	case f.funcID == abi.FuncIDWrapper:
		kind = fold.Wrapper
	}
	return uintptr(unsafe.Pointer(f._func)), kind
}

// stemmaAcctBeside sets what stemmaEnterChecked counts down. It runs in schedinit.
func stemmaAcctBeside() {
	a := &stemmaAcct
	stemmaCountdown = stemmaNever
	a.seed = stemmaAcctSeed(0)
	switch a.trigger {
	case stemmaTriggerCalls:
		stemmaCountdown = stemmaAcctStride(&a.seed)
	case stemmaTriggerFunc:
		stemmaTrigger = 1
		for i := range stemmaFuncCounters {
			stemmaFuncCounters[i] = stemmaFuncStride()
		}
	}
}

// stemmaAcctSeed returns a seed for a countdown that own tells apart from others. Where runs repeat it is nothing
// else, and nothing is drawn, so that the program has the random numbers that it has without samples. It is not 0.
//
//go:nosplit
func stemmaAcctSeed(own uint64) uint64 {
	if !stemmaDeterministic {
		own = uint64(cheaprand())<<32 | uint64(cheaprand())
	}
	return stemmaMix(own+0x9e3779b97f4a7c15) | 1
}

// stemmaAcctStride draws how many calls it is to the next sample, that call included, of every n calls one in the
// mean. Ms that draw from one seed at a time may draw the same. It runs wherever a function may be entered.
//
//go:nosplit
func stemmaAcctStride(seed *uint64) int64 {
	*seed += 0x3c6ef372fe94f82a // even, so that it never becomes 0
	return sample.Stride(stemmaMix(*seed), stemmaAcct.scale)
}

// stemmaFuncStride draws the length of the countdown of a function beside the exact tree. It runs under its lock, or
// in schedinit.
func stemmaFuncStride() int32 { return int32(min(stemmaAcctStride(&stemmaAcct.seed), 1<<31-1)) }

// stemmaAcctTick is what the sampler thread does at each tick: it is the trigger, if
// that is time.
//
//go:nowritebarrierrec
func stemmaAcctTick() {
	if stemmaAcct.trigger == stemmaTriggerTime {
		stemmaTrigger = 2 // not the countdown: Ms that count down would overwrite it
	}
}

// stemmaAcctEntry is called when a function has been entered on gp, through the slow path
// whose frame is at pc and sp. It runs on the system stack, under the lock of
// the tree, in no safe point of gp.
func stemmaAcctEntry(gp *g, pc, sp uintptr) {
	a := &stemmaAcct
	counter := &stemmaFuncCounters[gp.stemma.Func>>stemmaTriggerShift%sample.FuncTriggerSize]
	switch {
	case a.trigger == stemmaTriggerCalls && stemmaCountdown <= 0:
		stemmaCountdown = stemmaAcctStride(&a.seed)
	case a.trigger == stemmaTriggerFunc && *counter <= 0:
		*counter = stemmaFuncStride()
	case a.trigger == stemmaTriggerTime && stemmaTrigger == 2:
	default:
		return
	}
	fr, ok := stemmaStep(gp, stemmaHalted{pc: pc, sp: sp})
	if !ok {
		stemmaSmp.Count(layout.StatFailed, 1)
		return
	}
	pc, sp = fr.raw, fr.end
	if stemmaInWrapper(pc) {
		return // no call of its own: the countdown forgets, and after a tick the next function takes the sample
	}
	if a.trigger == stemmaTriggerTime {
		if !stemmaAcctMay(gp) {
			return // the next function that can takes it
		}
		stemmaTrigger = 0
	}
	stemmaAcctSample(gp, stemmaPlace{pc: pc, sp: sp, sym: pc - 1})
}

// stemmaInWrapper reports whether the call that returns to pc is in a wrapper itself. If the wrapper has inlined the
// function that it stands for, the compiler has put the call on its entry there, and it is not.
func stemmaInWrapper(pc uintptr) bool {
	f := findfunc(pc)
	if !f.valid() || f.funcID != abi.FuncIDWrapper {
		return false
	}
	u, uf := newInlineUnwinder(f, pc-1)
	return u.srcFunc(uf).funcID == abi.FuncIDWrapper
}

// stemmaAcctMay reports whether gp may take a sample of a call that it has just made: it is no stack of the system's,
// has a P, and samples are being taken. It runs where stemmaAcctSample does.
func stemmaAcctMay(gp *g) bool {
	return gp == gp.m.curg && gp != gp.m.g0 && stemmaSmp.active.Load() != 0 && gp.m.p != 0
}

// stemmaAcctSample takes the sample of a call: of the function at the given place, which gp has just
// entered. It runs on the system stack, in no safe point of gp.
func stemmaAcctSample(gp *g, at stemmaPlace) {
	s := &stemmaSmp.Samples
	if !stemmaAcctMay(gp) {
		s.Count(layout.StatMissed, 1)
		return
	}
	th := stemmaThreadOf(gp.m)
	switch {
	case th == nil:
		s.Count(layout.StatLostStacks, 1)
		return
	case !stemmaIncremental(): // see stemmaTraceInit
		node, ok := stemmaUnwindFrom(gp, th, at)
		if !ok {
			s.Count(layout.StatFailed, 1)
		}
		s.Add(node, layout.WeightCPU, 0, 1)
	case !stemmaTrace(gp, th, at, 0):
		s.Count(layout.StatLostStacks, 1)
		return
	}
	s.Count(layout.StatSamples, 1)
}
