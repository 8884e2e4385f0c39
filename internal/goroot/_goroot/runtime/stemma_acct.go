// The accumulator acct: an approximate calling context tree beside the exact
// one. Every so many calls, or at ticks of the sampler, the function that has just been
// entered takes a sample, and splices its new frames into the tree of samples.

package runtime

import (
	"internal/abi"
	"internal/goarch"
	rt "internal/runtime/stemma"
	"internal/runtime/stemma/sample"
	"unsafe"
)

// stemmaAcct is the state of the accumulator.
var stemmaAcct struct {
	on      bool
	all     bool // the strategy increment-all-new-edges
	trigger uint8
	n       int64 // calls, or nanoseconds
	decayed int64 // when the counters of functions were
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
	a.on = true
	a.all = stemmaOption("weights") == "all-new-edges"
	trigger := stemmaOption("trigger")
	i := 0
	for i < len(trigger) && trigger[i] != ':' {
		i++
	}
	a.n = 307
	if i < len(trigger) {
		if n := stemmaDuration(trigger[i+1:]); n > 0 {
			a.n = n
		}
	}
	stemmaCountdown = a.n
	switch trigger[:i] {
	case "func":
		a.trigger = stemmaTriggerFunc
		stemmaTrigger = 1
		for i := range stemmaFuncCounters {
			stemmaFuncCounters[i] = int32(a.n)
		}
		stemmaCountdown = stemmaNever
	case "time":
		a.trigger = stemmaTriggerTime
		stemmaSmp.interval.Store(a.n)
		stemmaCountdown = stemmaNever
	}
	stemmaSmp.sampler, stemmaSmp.walk = rt.SamplerACCT, rt.WalkMarker
	stemmaSmp.waiting = false
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
	fr, ok := stemmaStep(gp, pc, sp, false)
	if !ok {
		return
	}
	pc, sp = *(*uintptr)(unsafe.Pointer(fr.slot)), fr.slot+goarch.PtrSize
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
		c := &stemmaFuncCounters[gp.stemmaFunc>>stemmaTriggerShift%sample.FuncTriggerSize]
		if *c > 0 {
			return
		}
		*c = int32(a.n)
		if now := nanotime(); now-a.decayed > 100e6 {
			a.decayed = now
			sample.Decay(stemmaFuncCounters[:], int32(a.n))
		}
	}
	if gp != gp.m.curg || gp == gp.m.g0 || stemmaSmp.active.Load() == 0 || gp.m.p == 0 {
		stemmaSmp.Count(rt.StatMissed, 1)
		return
	}
	stemmaSmp.Count(rt.StatRequests, 1)
	s := &stemmaSmp.Samples
	t, th := stemmaTraceOf(gp), stemmaThreadOf(gp.m)
	if t == nil || th == nil {
		s.Count(rt.StatLostStacks, 1)
		return
	}
	stemmaDropDead(gp, t, sp)
	ref, ok := stemmaMark(gp, t, th, stemmaPlace{pc: pc, sp: sp})
	if !ok {
		s.Count(rt.StatLostStacks, 1)
		return
	}
	s.Add(s.Child(ref, pc-1), rt.WeightCPU, 0, 1)
	s.Count(rt.StatSamples, 1)
}
