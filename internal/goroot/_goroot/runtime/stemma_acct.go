// The accumulator acct: an approximate calling context tree. Every so many calls, or at ticks
// of the sampler, the function that has just been entered takes a sample, and splices its new frames into
// the tree of samples. Here is what is common, and the accumulator beside the exact tree; without
// that tree it is in stemma_countdown.go.

package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
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
	n       int64        // calls, or nanoseconds
	decayed atomic.Int64 // when the counters of functions were
}

// stemmaDecayEvery is after how many nanoseconds counters of functions decay.
const stemmaDecayEvery = 100e6

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
	a.n = 307
	stemmaSmp.interval.Store(10e6) // the sampler's thread only describes addresses
	if i < len(trigger) {
		if n := stemmaDuration(trigger[i+1:]); n > 0 {
			a.n = n
		}
	}
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

// stemmaFuncOf returns the address of the description of the function that pc is in, 0 if it is in none, and whether
// the function only passes a call on, as wrappers do.
//
//go:nowritebarrierrec
func stemmaFuncOf(pc uintptr) (fn uintptr, adapter bool) {
	f := findfunc(pc)
	if !f.valid() {
		return 0, false
	}
	return uintptr(unsafe.Pointer(f._func)), f.flag&layout.FuncFlagAdapter != 0 || f.funcID == abi.FuncIDWrapper
}

// stemmaAcctBeside sets what stemmaEnterChecked counts down.
func stemmaAcctBeside() {
	a := &stemmaAcct
	stemmaCountdown = stemmaNever
	switch a.trigger {
	case stemmaTriggerCalls:
		stemmaCountdown = a.n
	case stemmaTriggerFunc:
		stemmaTrigger = 1
		for i := range stemmaFuncCounters {
			stemmaFuncCounters[i] = int32(a.n)
		}
	}
}

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
	fr, ok := stemmaStep(gp, stemmaHalted{pc: pc, sp: sp})
	if !ok {
		return
	}
	pc, sp = fr.raw, fr.end
	if f := findfunc(pc); f.valid() && f.funcID == abi.FuncIDWrapper {
		// A wrapper is no call of its own: the next function is sampled in its place.
		if a.trigger == stemmaTriggerCalls && stemmaCountdown <= 0 {
			stemmaCountdown = 1
		}
		return
	}
	switch a.trigger {
	case stemmaTriggerCalls:
		if stemmaCountdown > 0 {
			return
		}
		stemmaCountdown = a.n
	case stemmaTriggerTime:
		if stemmaTrigger != 2 {
			return
		}
		stemmaTrigger = 0
	case stemmaTriggerFunc:
		c := &stemmaFuncCounters[gp.stemma.Func>>stemmaTriggerShift%sample.FuncTriggerSize]
		if *c > 0 {
			return
		}
		*c = int32(a.n)
		if now := nanotime(); now-a.decayed.Load() > stemmaDecayEvery {
			a.decayed.Store(now)
			sample.Decay(stemmaFuncCounters[:], int32(a.n))
		}
	}
	stemmaAcctSample(gp, stemmaPlace{pc: pc, sp: sp, sym: pc - 1})
}

// stemmaAcctSample takes the sample of a call: of the function at the given place, which gp has just
// entered. It runs on the system stack, in no safe point of gp.
func stemmaAcctSample(gp *g, at stemmaPlace) {
	s := &stemmaSmp.Samples
	if gp != gp.m.curg || gp == gp.m.g0 || stemmaSmp.active.Load() == 0 || gp.m.p == 0 {
		s.Count(layout.StatMissed, 1)
		return
	}
	th := stemmaThreadOf(gp.m)
	switch {
	case th == nil:
		s.Count(layout.StatLostStacks, 1)
		return
	case stemmaSmp.walk < layout.WalkIncremental: // see stemmaTraceInit
		node, ok := stemmaUnwindFrom(gp, th, at)
		if !ok {
			s.Count(layout.StatFailed, 1)
			node = s.Child(0, layout.PCTruncated)
		}
		s.Add(node, layout.WeightCPU, 0, 1)
	case !stemmaTrace(gp, th, at, 0):
		s.Count(layout.StatLostStacks, 1)
		return
	}
	s.Count(layout.StatSamples, 1)
}
