package goroot

// deterministicHooks make runs repeat, see stemma_deterministic.go.
func deterministicHooks() []Hook {
	const random, proc = "runtime/rand.go", "runtime/proc.go"
	return []Hook{
		{File: random, Decl: "func randinit", Anchor: "seed := &globalRand.seed", Where: After, Part: Contexts,
			Lines: []string{"stemmaDecide()"},
			Why:   "Nothing has been drawn: seeds of hashes, the base of the heap."},
		{File: random, Decl: "func rand", Anchor: "mp := getg().m", Where: Before, Part: Contexts,
			Lines: []string{"if stemmaDeterministic {", "return stemmaDraw()", "}"},
			Why:   "What a program draws would depend on the thread it runs on: seeds and orders of maps, math/rand, names of temporary files."},
		{File: random, Decl: "func cheaprand", Anchor: "mp := getg().m", Where: Before, Part: Contexts,
			Lines: []string{"if stemmaDeterministic {", "return stemmaDrawCheap()", "}"},
			Why:   "So would what the runtime draws: which type assertions are remembered, and so made without a call."},
		{File: "runtime/select.go", Decl: "func selectgo", Anchor: "j := cheaprandn(uint32(norder + 1))", Where: After, Part: Contexts,
			Lines: []string{"if stemmaDeterministic {", "j = uint32(stemmaDraw() % uint64(norder+1))", "}"},
			Why:   "The order of cases is drawn by the program, not by the runtime."},
		{File: proc, Decl: "func newproc1", Anchor: "newg.trackingSeq = uint8(cheaprand())", Where: After, Part: Contexts,
			Lines: []string{"if stemmaDeterministic {", "stemmaSow(newg, callergp)", "}"},
			Why:   "A goroutine draws what it always draws, whatever ran before it."},
		{File: proc, Decl: "func schedinit", Anchor: "if procresize(procs) != nil {", Where: Before, Part: Contexts,
			Lines: []string{"if stemmaDeterministic {", "procs, sched.customGOMAXPROCS = 1, true", "}"},
			Why:   "Goroutines on several Ps run in an order that nobody decides."},
		{File: proc, Decl: "func main", Anchor: "gcenable()", Where: Before, Part: Contexts,
			Lines: []string{"if stemmaDeterministic {", "systemstack(stemmaMakeSpares)", "}"},
			Why:   "How many threads there are, and so how large the heap is, depends on when they become idle."},
		{File: proc, Decl: "func retake", Anchor: "if int64(pd.schedtick) != schedt {", Where: Before, Part: Contexts,
			Lines: []string{"if stemmaDeterministic && stemmaPatient(pp, now) {", "continue", "}"},
			Why:   "A goroutine loses its P by time."},
		{File: proc, Decl: "func sysmon", Anchor: "if scavenger.sysmonWake.Load() != 0 {", Where: Before, Part: Contexts,
			Lines: []string{"if stemmaDeterministic {", "scavenger.sysmonWake.Store(0)", "}"},
			Why:   "The goroutine that gives memory back would run at any time, and others in another order behind it."},
		{File: "runtime/mgcpacer.go", Decl: "func (c *gcControllerState) trigger", Anchor: "goal, minTrigger := c.heapGoalInternal()", Where: After, Part: Contexts,
			Lines: []string{"if stemmaDeterministic {", "return goal, goal", "}"},
			Why:   "The pacer begins earlier, by how fast the last collections were."},
	}
}
