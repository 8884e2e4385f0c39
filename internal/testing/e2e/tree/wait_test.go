package tree

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// reasons are why the functions of the program parked wait.
var reasons = map[string]string{
	"main.sleep": "sleep", "main.receive": "chan receive", "main.send": "chan send", "main.choose": "select",
	"main.mutex": "sync.Mutex.Lock", "main.readers": "sync.RWMutex.RLock", "main.group": "sync.WaitGroup.Wait",
	"main.cond": "sync.Cond.Wait", "main.network": "IO wait", "main.call": "system call", "main.pull": "coroutine",
	"main.levels": "sleep", "main.stop": "wait for GC cycle", "main.busy": "sync.WaitGroup.Wait",
	"main.assigns": "sync.WaitGroup.Wait", "main.yields": "sync.WaitGroup.Wait",
	"main.leak": "sleep", "main.work": "sleep",
}

// TestWaits compares the time that functions did not run, for the reason that they are to wait for and for all,
// with the time that they took by the clock: they ran for the rest. All wait for at least 19 ms, but for the
// one that stops the world.
func TestWaits(t *testing.T) {
	exe := e2e.Build(t, "parked", "-metrics=calls,wait")
	for _, env := range []string{"GOGC=100", "GOGC=1", "GODEBUG=asyncpreemptoff=1"} {
		t.Run(env, func(t *testing.T) {
			e2e.Retry(t, func() error {
				r := e2e.Run(t, exe, env)
				r.OK(t)
				return checkWaits(t, r)
			})
		})
	}
}

// checkWaits checks one run.
func checkWaits(t *testing.T, r e2e.Result) error {
	p := r.Read(t)
	e2e.NoLoss(t, p)
	if notes := p.Processes[0].Notes; len(notes) > 0 {
		return fmt.Errorf("notes of a program that ended: %q", notes)
	}
	tree, err := cct.Of(p, profile.Wait.Name)
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(r.Stdout) {
		var name string
		var took uint64
		if _, err := fmt.Sscanf(line, "%s %d", &name, &took); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		lines++
		all, wanted := waits(tree, name, "wait("+reasons[name]+")")
		if all > took || wanted == 0 || name != "main.stop" && wanted < 19e6 {
			return fmt.Errorf("%s took %d ns: waited for %d, of it %d for %s", name, took, all, wanted, reasons[name])
		}
	}
	if lines != len(reasons) {
		return fmt.Errorf("%d functions of %d", lines, len(reasons))
	}
	// What ends with the program is counted as well, and goroutines that wait for a CPU or are preempted.
	if _, n := waits(tree, "main.forever", "wait(chan receive)"); n < 19e6 {
		return fmt.Errorf("a goroutine that the end of the program met: %d ns", n)
	}
	if all, n := waits(tree, "main.spin", "wait(runnable)"); n == 0 || n > all {
		return fmt.Errorf("goroutines that share a P: %d ns of %d ready to run", n, all)
	}
	for _, name := range []string{"main.assign", "main.yield"} {
		if n := ownWait(tree, name, "wait(runnable)"); n < 19e6 {
			return fmt.Errorf("goroutines that share a P: %d ns of %s itself ready to run", n, name)
		}
	}
	if n := ownWait(tree, "main.before", "wait(runnable)"); n > 19e6 {
		return fmt.Errorf("%d ns where a function was ready to run that had returned", n)
	}
	if err := checkHeld(t, p, tree); err != nil {
		return err
	}
	if waits, time := p.Total(profile.Waits), p.Total(profile.Wait); waits == 0 || time < waits {
		return fmt.Errorf("%d waits of %d ns", waits, time)
	}
	return nil
}

// TestWaitsKilled reads what a program waited that a signal has ended: a note says that waits are missing.
func TestWaitsKilled(t *testing.T) {
	exe := e2e.Build(t, "parked", "-metrics=calls,wait")
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Kill} {
		out := t.TempDir()
		cmd := e2e.Command(t, out, exe)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := stdout.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatalf("%v did not end it", sig)
		}
		p := e2e.Result{Dir: e2e.LiveDir(out, cmd)}.Read(t)
		if notes := fmt.Sprint(p.Processes[0].Notes); p.Column(profile.Wait.Name) == nil ||
			!strings.Contains(notes, "waits that last") {
			t.Errorf("ended by %v: notes %s", sig, notes)
		}
	}
}

// TestWaitsTwoExits reads what a program waited that two goroutines end at once: all of it is counted.
func TestWaitsTwoExits(t *testing.T) {
	exe := e2e.Build(t, "exits", "-metrics=calls,wait")
	for range 20 {
		r := e2e.Run(t, exe)
		r.OK(t)
		p := r.Read(t)
		tree, err := cct.Of(p, profile.Wait.Name)
		if err != nil {
			t.Fatal(err)
		}
		_, n := waits(tree, "main.wait", "wait(chan receive)")
		if notes := p.Processes[0].Notes; len(notes) > 0 || n < 1000*10e6 {
			t.Fatalf("goroutines waited for %d ns; notes %q", n, notes)
		}
	}
}

// ownWait returns how long goroutines waited for a reason in a function itself, or in what it called of the runtime:
// with allocations, with which tests that do not have -full build this program, the runtime's functions have cells.
func ownWait(tree *cct.Tree, function, reason string) (sum uint64) {
	for _, n := range tree.Nodes[1:] {
		in := &tree.Nodes[n.Parent]
		for strings.HasPrefix(tree.Funcs[in.Func].Name, "runtime.") {
			in = &tree.Nodes[in.Parent]
		}
		if tree.Funcs[n.Func].Name == reason && tree.Funcs[in.Func].Name == function {
			sum += n.Count
		}
	}
	return sum
}

// checkHeld compares the time that others waited for locks with their waits, and looks for it where the locks were
// released.
func checkHeld(t *testing.T, p *profile.Profile, waited *cct.Tree) error {
	held, err := cct.Of(p, profile.Delay.Name)
	if err != nil {
		t.Fatal(err)
	}
	for f, reason := range map[string]string{"main.mutex": "sync.Mutex.Lock", "main.readers": "sync.RWMutex.RLock"} {
		released, all, others := uint64(0), uint64(0), uint64(0)
		for i, n := range held.Nodes {
			if held.Funcs[n.Func].Name != "delay("+reason+")" {
				continue
			}
			all += n.Count
			stack := held.Stack(uint32(i))
			if in := func(name string) bool {
				return slices.ContainsFunc(stack, func(fr cct.Frame) bool { return fr.Func == name })
			}; in(f) && in("main.after.func1") {
				released += n.Count
			}
		}
		for _, n := range waited.Nodes {
			if waited.Funcs[n.Func].Name == "wait("+reason+")" {
				others += n.Count
			}
		}
		if released < 19e6 || all > others || 10*all < 9*others {
			return fmt.Errorf("%s: the goroutine that releases its lock held it for %d ns of others; all did for "+
				"%d ns, of waits for %d ns", f, released, all, others)
		}
	}
	return nil
}

// waits returns for how long the goroutines that called a function did not run in it, and what of it was for a
// reason. The function that pull makes a coroutine of runs on another goroutine.
func waits(tree *cct.Tree, function, reason string) (all, wanted uint64) {
	in := make([]bool, len(tree.Nodes))
	for i, n := range tree.Nodes[1:] {
		f := tree.Funcs[n.Func]
		in[i+1] = f.Name == function ||
			in[n.Parent] && tree.Sites[n.Site].Via != cct.ViaGo && f.Name != "main.pull.func1"
		if in[i+1] {
			all += n.Count
			if f.Name == reason {
				wanted += n.Count
			}
		}
	}
	return all, wanted
}
