// Timers that say when a running thread is to be sampled. A sample is due at a moment that
// has nothing to do with what the program does, and belongs to the instruction that then runs; so
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
//
// The signal is SIGPROF, with a value that says whose it is, and not the one that the runtime uses for preemption.
// The kernel takes two signals of one number for one if the second comes from a thread (tgkill) while
// the first is pending, and it drops that of a timer which has been stopped or set anew meanwhile (Linux 6.13 and
// later): a request for preemption that was merged into it would be lost with it, and never be made again, since
// signalPending says that it is on its way. Nobody sends SIGPROF to a thread. It comes from timers, of the CPU profile
// among others, and each timer's is queued for itself. Package os/signal leaves it alone, and where a thread has no
// M the runtime ignores one of a timer.

package runtime

import (
	"internal/runtime/stemma/layout"
	"unsafe"
)

// stemmaKernelTick is the shortest interval for which the kernel's CPU timers are good,
// in nanoseconds: most kernels have a tick of 250 Hz.
const stemmaKernelTick = 4e6

// A stemmaTimer is a timer of the kernel: its number plus one, 0 before it is made.
type stemmaTimer int32

// set makes the timer send SIGPROF to th in after nanoseconds, then at each interval
// if that is not 0. It makes the timer first if need be, and reports whether there is one.
// It may run in a signal handler: timers are system calls and nothing else here.
//
//go:nowritebarrierrec
func (t *stemmaTimer) set(clock int32, th *stemmaThread, after, interval int64) bool {
	if *t == 0 {
		var id int32
		ev := sigevent{}
		ev.value = uintptr(unsafe.Pointer(th))
		ev.notify, ev.signo, ev.sigev_notify_thread_id = _SIGEV_THREAD_ID, _SIGPROF, int32(th.tid)
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

// stemmaTimed reports whether threads are sampled by timers: not in the paper's ways, in which the
// sampler asks or stops them, nor where the accumulator's triggers take the samples.
//
//go:nowritebarrierrec
func stemmaTimed() bool {
	return !stemmaSmp.guard && stemmaSmp.sampler != layout.SamplerACCT && stemmaSmp.sampler != layout.SamplerJVMTI
}

// begin sets the timer of the thread's CPU time, to a first moment at random, so that threads that
// live for less than one interval have their chance. A thread that the kernel has no timer for is
// counted. The lock of the threads is held.
//
//go:nowritebarrierrec
func (th *stemmaThread) begin() {
	if !stemmaTimed() || *cgo_yield != nil || stemmaSmp.foreign {
		return // see stemmaSignaled and stemmaHandles
	}
	every := max(stemmaSmp.interval.Load(), stemmaKernelTick)
	th.due = 0
	if !th.anchor.set(stemmaThreadClock(th.tid), th, 1+int64(cheaprandn(uint32(min(every, 1e9)))), every) {
		stemmaSmp.Count(layout.StatLostStacks, 1)
	}
}

// rest stops the timers. The lock of the threads is held.
//
//go:nowritebarrierrec
func (th *stemmaThread) rest() {
	for _, t := range [...]*stemmaTimer{&th.anchor, &th.chain} {
		if *t != 0 {
			t.set(0, th, 0, 0)
		}
	}
}

// timer takes the sample that this thread's timer says is due, if it is. It runs in
// the signal handler.
//
//go:nowritebarrierrec
func (th *stemmaThread) timer(c *sigctxt, gp *g, mp *m) {
	now := nanotime()
	if now < th.due || now < th.pause || stemmaSmp.active.Load() == 0 {
		return // the first timer, while the second one is set, or it was stopped just now
	}
	cpu, due := stemmaThreadCPU(), th.due
	th.due = 0
	if due != 0 {
		if stemmaWoken(c) {
			th.slept()
			return
		}
		th.sleepy -= min(th.sleepy, 1)
		if th.away(now, due, cpu) {
			th.setChain(now, cpu, stemmaSoon/10+int64(cheaprandn(stemmaSoon)))
			return
		}
	}
	if !th.state.CompareAndSwap(stemmaTicketFree, stemmaTicketTaken) {
		return // in tests the thread may be at a sample in a prologue
	}
	stemmaSmp.Count(layout.StatRequests, 1)
	stemmaSampleHere(th, c, gp, mp, cpu)
	end := nanotime()
	if due != 0 {
		stemmaSmp.Latency(uint64(end - due))
	}
	// The program gets eight times what a sample took, which for a deep stack may be more than
	// the kernel's tick. What other threads had of the CPU meanwhile does not count.
	const share, long = 8, 100e3
	took := end - now
	if took > long {
		took = int64(stemmaThreadCPU() - cpu)
	}
	th.pause = end + share*took
	if every := stemmaSmp.interval.Load(); due == 0 && th.skip > 0 {
		th.skip--
	} else if every < stemmaKernelTick && gp != nil && (gp != mp.curg || gp.syscallsp == 0) {
		// At random, or a program that does something as often would be seen at the same
		// place again and again.
		th.setChain(end, cpu, max(every/2+int64(cheaprandn(uint32(every))), th.pause-end))
		th.set = now
	}
	th.state.Store(stemmaTicketFree)
}

// slept notes that this thread was asleep when its second timer went off. One that often is
// does without that timer for a while: being woken for nothing costs more than a sample.
//
//go:nowritebarrierrec
func (th *stemmaThread) slept() {
	const most = 32
	stemmaSmp.Count(layout.StatRequests, 1)
	stemmaSmp.Count(layout.StatDropped, 1)
	th.sleepy = min(2*th.sleepy+1, most)
	th.skip = th.sleepy
}

// stemmaSoon is how long a thread is given that may have been without a CPU when
// its sample was due, in nanoseconds.
const stemmaSoon = 100e3

// away reports whether this thread may have been without a CPU when the sample was due that it now
// hears of. Then it is at the instruction at which it gave the CPU up. It was not if the signal
// comes at once, nor if the thread has been without a CPU for less than the signal is late: then
// it was in the kernel.
//
//go:nowritebarrierrec
func (th *stemmaThread) away(now, due int64, cpu uint64) bool {
	const atOnce, slack = 5e3, 5e3
	late, off := now-due, now-th.set-int64(cpu-th.setCPU)
	return late > atOnce && off > slack && off > late-slack
}

// setChain sets the second timer, to some nanoseconds from now.
//
//go:nowritebarrierrec
func (th *stemmaThread) setChain(now int64, cpu uint64, after int64) {
	const clockMonotonic = 1
	if th.chain.set(clockMonotonic, th, after, 0) {
		th.due, th.set, th.setCPU = now+after, now, cpu
	}
}

// stemmaWoken reports whether the signal has woken the thread from a system call in which it
// slept: the call has ended with EINTR, or is about to be made again. What the thread used of the
// CPU before is not known to be that call's, and stays on its clock.
//
//go:nowritebarrierrec
func stemmaWoken(c *sigctxt) bool {
	pc := uintptr(c.sigpc())
	if !findfunc(pc).valid() {
		return false // C: nobody knows
	}
	return stemmaRepeats(c)
}
