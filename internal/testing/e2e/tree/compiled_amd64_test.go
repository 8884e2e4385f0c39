package tree

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"syscall"
	"testing"

	"github.com/stemma-go/stemma/internal/costmodel"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// TestCompiled compares the instructions that a file of stemma costs makes of operations with those that the plain
// program executes, counted one by one.
func TestCompiled(t *testing.T) {
	e2e.NeedMore(t)
	e2e.OnlyHost(t, "steps through a program of this machine")
	want := stepThrough(t, e2e.Plain(t, "stepped"), "main.work")
	r := e2e.Run(t, e2e.Build(t, "stepped", "-metrics=calls,ops"), "GOMAXPROCS=1", "GOGC=off")
	r.OK(t)
	p := r.Read(t)
	file := filepath.Join(t.TempDir(), "stepped.costs")
	cmd := exec.Command(e2e.Tool(t), "costs", "-o", file, ".")
	cmd.Dir = e2e.Program("stepped")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("stemma costs: %v\n%s", err, out)
	}
	costs, err := costmodel.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	have := instructionsOf(p, costs)
	functions, all := 0, 0
	for function, n := range want {
		if !strings.HasPrefix(function, "main.") {
			continue
		}
		functions, all = functions+1, all+n
		if have[function] != n {
			t.Errorf("%s: %d instructions, %d were executed", function, have[function], n)
		}
	}
	t.Logf("%d instructions in %d functions", all, functions)
	if functions < 15 || all < 40000 {
		t.Errorf("%d instructions in %d functions, want 40,000 in 15", all, functions)
	}
}

// instructionsOf adds up what the operations of functions are by a file of costs.
func instructionsOf(p *profile.Profile, costs *costmodel.Program) map[string]int {
	known, _ := costs.In(p)
	sums := map[string]int{}
	for i, n := range p.Nodes {
		counts := p.NodeCounts(i)
		for _, w := range known[n.Func] {
			sums[p.String(p.Funcs[n.Func].Name)] += int(w.N) * int(counts[w.Counter])
		}
	}
	return sums
}

// stepThrough runs a program up to a function, and then each instruction until the function returns. It returns how
// many there were in each function.
func stepThrough(t *testing.T, exe, function string) map[string]int {
	t.Helper()
	symbols := functionSymbols(t, exe)
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Skipf("no program can be traced here (%v); run it where ptrace is allowed", err)
	}
	pid := cmd.Process.Pid
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	wait := func() {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
			t.Fatalf("the program has ended: %v, %v", status, err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var regs syscall.PtraceRegs
	wait()
	at := -1
	for i, s := range symbols {
		if s.Name == function {
			at = i
		}
	}
	if at < 0 {
		t.Fatalf("no function %s", function)
	}
	entry := symbols[at].Value
	code := make([]byte, 1)
	_, err := syscall.PtracePeekText(pid, uintptr(entry), code)
	must(err)
	_, err = syscall.PtracePokeText(pid, uintptr(entry), []byte{0xcc}) // a breakpoint
	must(err)
	must(syscall.PtraceCont(pid, 0))
	wait()
	must(syscall.PtraceGetRegs(pid, &regs))
	_, err = syscall.PtracePokeText(pid, uintptr(entry), code)
	must(err)
	regs.Rip = entry
	must(syscall.PtraceSetRegs(pid, &regs))
	back := make([]byte, 8) // the stack may move, what it returns to does not
	_, err = syscall.PtracePeekData(pid, uintptr(regs.Rsp), back)
	must(err)
	counts := map[string]int{}
	entered, since := "", 0 // the function that was entered last, and how many instructions of it were counted then
	again := uint64(0)      // its entry, if it is on the way there once more
	for regs.Rip != raw.Load[uint64](back) {
		k := sort.Search(len(symbols), func(i int) bool { return symbols[i].Value > regs.Rip })
		if k == 0 {
			t.Fatalf("an instruction at %#x", regs.Rip)
		}
		switch s := symbols[k-1]; {
		case strings.HasPrefix(s.Name, "runtime.morestack") && again == 0:
			// The stack grows, or the scheduler has asked for a pause since all takes long here.
			counts[entered] = since
			again = entry
		case again != 0 && regs.Rip != again:
		default:
			if again = 0; regs.Rip == s.Value {
				entered, since, entry = s.Name, counts[s.Name], s.Value
			}
			counts[s.Name]++
		}
		must(syscall.PtraceSingleStep(pid))
		wait()
		must(syscall.PtraceGetRegs(pid, &regs))
	}
	return counts
}

// functionSymbols returns the functions of a program by address.
func functionSymbols(t *testing.T, exe string) (list []elf.Symbol) {
	t.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			list = append(list, s)
		}
	}
	sort.Slice(list, func(i, k int) bool { return list[i].Value < list[k].Value })
	return list
}
