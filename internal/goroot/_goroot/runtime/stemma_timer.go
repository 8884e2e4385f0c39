// Timers that say when a running thread is to be sampled. A sample is due at a moment that
// has nothing to do with what the program does, and belongs to the instruction that runs then; so
// it must be the interrupt of a timer, on the thread's own CPU, that brings the signal. A signal
// from another thread is on its way for some microseconds, and in virtual machines for tens; whatever
// enters the kernel meanwhile, a system call or a page fault, meets it on the way back, and gets
// the samples of all that ran in between.
//
// Every thread has two timers of the kernel. The first one measures the thread's CPU time: the
// kernel looks at it in its own tick, of 1 to 10 ms, so that it comes to threads that run and to no
// others, but not often. Where samples are due more often each one sets the thread's second timer,
// which is exact, for the next one, as long as the thread keeps running; if it sleeps when that
// goes off, the sample is dropped and the first timer begins anew.

package runtime

import (
	rt "internal/runtime/stemma"
	"unsafe"
)

// stemmaKernelTick is the shortest interval for which the kernel's CPU timers are good,
// in nanoseconds: most kernels have a tick of 250 Hz.
const stemmaKernelTick = 4e6

// A stemmaTimer is a timer of the kernel: its number plus one, 0 before it is made.
type stemmaTimer int32

// set makes the timer send sigPreempt to a thread in after nanoseconds, then at each interval
// if that is not 0. It makes the timer first if need be, and reports whether there is one.
// It may run in a signal handler: timers are system calls and nothing else here.
//
//go:nowritebarrierrec
func (t *stemmaTimer) set(clock int32, tid uint64, after, interval int64) bool {
	if *t == 0 {
		var id int32
		ev := sigevent{}
		ev.notify, ev.signo, ev.sigev_notify_thread_id = _SIGEV_THREAD_ID, sigPreempt, int32(tid)
		if timer_create(clock, &ev, &id) != 0 {
			return false
		}
		*t = stemmaTimer(id + 1)
	}
	var spec itimerspec
	spec.it_value.setNsec(after)
	spec.it_interval.setNsec(interval)
	return timer_settime(int32(*t-1), 0, &spec, nil) == 0
}

// end deletes the timer.
//
//go:nowritebarrierrec
func (t *stemmaTimer) end() {
	if *t != 0 {
		timer_delete(int32(*t - 1))
		*t = 0
	}
}

// stemmaTimed tells whether threads are sampled by timers: not in the paper's way, in which the
// sampler asks, nor where the accumulator's triggers take the samples.
//
//go:nowritebarrierrec
func stemmaTimed() bool {
	return !stemmaSmp.guard && stemmaSmp.sampler != rt.SamplerACCT
}

// begin sets the timer of the thread's CPU time, to a first moment at random, so that threads that
// live for less than one interval have their chance. A thread that the kernel has no timer for is
// counted. The lock of the threads is held.
//
//go:nowritebarrierrec
func (th *stemmaThread) begin() {
	if !stemmaTimed() || *cgo_yield != nil {
		return // see stemmaSignaled
	}
	every := max(stemmaSmp.interval.Load(), stemmaKernelTick)
	th.due = 0
	if !th.anchor.set(stemmaThreadClock(th.tid), th.tid, 1+int64(cheaprandn(uint32(min(every, 1e9)))), every) {
		stemmaSmp.Count(rt.StatLostStacks, 1)
	}
}

// rest stops the timers. The lock of the threads is held.
//
//go:nowritebarrierrec
func (th *stemmaThread) rest() {
	for _, t := range [...]*stemmaTimer{&th.anchor, &th.chain} {
		if *t != 0 {
			t.set(0, 0, 0, 0)
		}
	}
}

// timer takes the sample that this thread's timer says is due, if it is. It runs in
// the signal handler.
//
//go:nowritebarrierrec
func (th *stemmaThread) timer(c *sigctxt, gp *g, mp *m) {
	now := nanotime()
	if now < th.due || stemmaSmp.active.Load() == 0 {
		return // the first timer, while the second one is set, or it was stopped just now
	}
	cpu, due := stemmaThreadCPU(), th.due
	th.due = 0
	stemmaSmp.Count(rt.StatRequests, 1)
	if due != 0 && (stemmaWoken(c) || th.away(now, due, cpu)) || !th.state.CompareAndSwap(stemmaTicketFree, stemmaTicketTaken) {
		stemmaSmp.Count(rt.StatDropped, 1) // in tests the thread may be at a sample in a prologue
		return
	}
	if every := stemmaSmp.interval.Load(); every < stemmaKernelTick && gp != nil && (gp != mp.curg || gp.syscallsp == 0) {
		th.setChain(now, cpu, every)
	}
	stemmaSampleHere(th, c, gp, mp, cpu)
	if due != 0 {
		stemmaSmp.Latency(uint64(nanotime() - due))
	}
	th.state.Store(stemmaTicketFree)
}

// setChain sets the second timer, to about every nanoseconds from now: at random, or a
// program that does something as often would be seen at the same place again and again.
//
//go:nowritebarrierrec
func (th *stemmaThread) setChain(now int64, cpu uint64, every int64) {
	const clockMonotonic = 1
	after := every/2 + int64(cheaprandn(uint32(every)))
	if th.chain.set(clockMonotonic, th.tid, after, 0) {
		th.due, th.set, th.setCPU = now+after, now, cpu
	}
}

// away tells whether this thread may have been without a CPU when its sample was due, of which it
// hears now. Then it is at the instruction at which it gave the CPU up. It was not if the signal
// comes at once, or if it has run all the time since the timer was set, and was in the kernel.
//
//go:nowritebarrierrec
func (th *stemmaThread) away(now, due int64, cpu uint64) bool {
	const atOnce, slack = 5e3, 10e3
	return now-due > atOnce && now-th.set-int64(cpu-th.setCPU) > slack
}

// stemmaWoken tells whether the signal has woken the thread from a system call in which it
// slept: the call has ended with EINTR, or is about to be made again. What the thread used of the
// CPU before is not known to be that call's, and stays on its clock.
//
//go:nowritebarrierrec
func stemmaWoken(c *sigctxt) bool {
	const syscall = 0x050f // the instruction, as it lies in memory
	pc := uintptr(c.sigpc())
	if !findfunc(pc).valid() {
		return false // C: nobody knows
	}
	return int64(c.rax()) == -_EINTR && *(*uint16)(unsafe.Pointer(pc - 2)) == syscall || *(*uint16)(unsafe.Pointer(pc)) == syscall
}
