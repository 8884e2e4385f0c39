package goroot

// sampleHooksGo126 returns the hooks of the sampling engine.
func sampleHooksGo126() []Hook {
	const (
		runtime2 = "runtime/runtime2.go"
		proc     = "runtime/proc.go"
		preempt  = "runtime/preempt.go"
	)
	return []Hook{
		{runtime2, "type g", "gcAssistBytes int64", After,
			[]string{"stemmaAsk uint8"},
			"The goroutine was asked for a sample."},
		{runtime2, "type p", "id int32", Before,
			[]string{"stemmaTicket stemmaTicket"},
			"The request for a sample of what this P runs."},
		{proc, "func schedinit", "goenvs()", After,
			[]string{"stemmaSampleInit()"},
			"The record is there before anything can be sampled."},
		{proc, "func main", "gcenable()", After,
			[]string{"stemmaSampleMain()"},
			"Threads can be started: the sampler begins."},
		{proc, "func main", "exit(0)", Before,
			[]string{"stemmaSampleExit()"},
			"The program ends: the record is completed."},
		{proc, "func os_beforeExit", "runExitHooks(exitCode)", After,
			[]string{"stemmaSampleExit()"},
			"The program ends: the record is completed."},
		{proc, "func execute", "gogo(&gp.sched)", Before,
			[]string{"stemmaScheduled(gp, mp.p.ptr())"},
			"A request was for the goroutine that ran before."},
		{"runtime/coro.go", "func coroswitch_m", "gogo(&gnext.sched)", Before,
			[]string{"stemmaScheduled(gnext, mp.p.ptr())"},
			"A request was for the coroutine that ran before."},
		{"runtime/stack.go", "func newstack", "if gp.stack.lo == 0 {", Before,
			[]string{"if preempt && stemmaGuard(gp) {", "gogo(&gp.sched)", "}"},
			"A goroutine that was asked for a sample takes it at its stack guard."},
		{preempt, "func wantAsyncPreempt", "return (gp.preempt || gp.m.p != 0 && gp.m.p.ptr().preempt) && readgstatus(gp)&^_Gscan == _Grunning", Before,
			[]string{"if stemmaWantsAsync(gp) {", "return true", "}"},
			"A signal makes a goroutine take its sample that came to no stack guard."},
		{preempt, "func asyncPreempt2", "if gp.preemptStop {", Before,
			[]string{"if stemmaAsync(gp) {", "gogo(&gp.sched)", "}"},
			"A goroutine that was asked for a sample takes it where a signal interrupted it."},
		{"runtime/runtime1.go", "func releasem", "if mp.locks == 0 && gp.preempt {", Before,
			[]string{"if mp.locks == 0 && gp.stemmaAsk != 0 {", "gp.stackguard0 = stackPreempt", "}"},
			"A request that came while the M was locked is repeated."},
		{"runtime/lock_spinbit.go", "func unlock2", "if gp.m.locks == 0 && gp.preempt {", Before,
			[]string{"if gp.m.locks == 0 && gp.stemmaAsk != 0 {", "gp.stackguard0 = stackPreempt", "}"},
			"A request that came while a lock was held is repeated."},
		{proc, "func exitsyscall", "if sched.disable.user && !schedEnabled(gp) {", Before,
			[]string{"if gp.stemmaAsk != 0 {", "gp.stackguard0 = stackPreempt", "}"},
			"A request that came before a system call is repeated."},
	}
}
