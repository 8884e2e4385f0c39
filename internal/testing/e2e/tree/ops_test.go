package tree

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// opsOf returns the operations of each context below main.main, by its stack.
func opsOf(t *testing.T, p *profile.Profile) map[string]uint64 {
	t.Helper()
	tree, err := cct.Of(p, profile.Ops.Name)
	if err != nil {
		t.Fatal(err)
	}
	ops := map[string]uint64{}
	for i, n := range tree.Nodes {
		var stack []string
		for _, f := range tree.Stack(uint32(i)) {
			stack = append(stack, f.Func)
		}
		if key := strings.Join(stack, " < "); strings.Contains(key, "main.main") && n.Count > 0 {
			ops[key] += n.Count
		}
	}
	return ops
}

// TestOps compares operations that follow from counters on some edges of the flow graphs with those of a build that
// counts in each block, which a build for the checker does. Only frames that never come to an end may differ:
// they count as if they had gone on.
func TestOps(t *testing.T) {
	e2e.NeedFull(t)
	derived := e2e.Build(t, "ops", "-metrics=calls,ops")
	each := e2e.Build(t, "ops", "-metrics=calls,ops", "-verify")
	run := func(exe string) *profile.Profile {
		r := e2e.Run(t, exe, "GOMAXPROCS=1", "GOGC=off") // what a sync.Pool has depends on the P and on collections
		r.OK(t)
		p := r.Read(t)
		e2e.NoLoss(t, p)
		return p
	}
	p := run(derived)
	have, want := opsOf(t, p), opsOf(t, run(each))
	if len(want) < 50 {
		t.Fatalf("%d contexts with operations below main.main, want 50 or more", len(want))
	}
	for stack := range want {
		if _, ok := have[stack]; !ok {
			have[stack] = 0
		}
	}
	unended := []string{"main.attempt", "main.faults", "main.exits.func1", "main.forever.func1"}
	for stack, n := range have {
		innermost, _, _ := strings.Cut(stack, " < ")
		switch {
		case n == want[stack]:
		case slices.Contains(unended, innermost) && n > want[stack] && n < 2*want[stack]+100:
		default:
			t.Errorf("%s: %d operations, %d if counted in each block", stack, n, want[stack])
		}
	}
	again := opsOf(t, run(derived))
	for stack, n := range have {
		if n != again[stack] {
			t.Errorf("%s: %d operations, %d in a second run", stack, n, again[stack])
		}
	}
	// A multiplication and an addition; the return is the wrapper's.
	tree := cct.New(p)
	calls, ops := e2e.Calls(tree, "main.word.double"), sumOf(have, "main.word.double")
	if calls != 2 || ops != 2*calls {
		t.Errorf("main.word.double: %d operations in %d calls, want 2 in each of 2", ops, calls)
	}
	// A multiplication, an addition and the return.
	if calls, ops := e2e.Calls(cct.New(p), "main.straight"), sumOf(have, "main.straight"); ops != 3*calls || ops == 0 {
		t.Errorf("main.straight: %d operations in %d calls, want 3 in each", ops, calls)
	}
}

// TestLongChains builds functions of thousands of blocks; each leads to the next or out. The memory that the compiler
// takes for them must not grow with their square.
func TestLongChains(t *testing.T) {
	e2e.NeedFull(t)
	const blocks, most = 3000, 512 << 20
	var cases, checks strings.Builder
	for i := range blocks {
		fmt.Fprintf(&cases, "\t\tcase v < %d: s += v * %d\n", i*7+3, i+2)
		fmt.Fprintf(&checks, "\t\ts ^= a[(s+%d)&1023]\n", i)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module long\n\ngo 1.26\n",
		"main.go": fmt.Sprintf(longChains, &cases, &checks)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(e2e.Tool(t), "build", "-metrics=calls,ops", "-o", filepath.Join(dir, "long"), ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	took := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	t.Logf("%d MB at most", took>>20)
	if took > most {
		t.Errorf("a process of the build takes %d MB, want at most %d", took>>20, most>>20)
	}
}

const longChains = `package main

import "os"

//go:noinline
func cases(a []int) (s int) {
	for _, v := range a {
		switch {
%s		}
	}
	return s
}

//go:noinline
func checks(a []int, n int) (s int) {
	if n > 2 {
%s		if s < 77 {
			s += a[s&1]
		} else {
			s *= n
		}
	}
	return s
}

func main() {
	a := make([]int, 2000)
	for i := range a {
		a[i] = i*7 + len(os.Args)
	}
	println(cases(a), checks(a, len(a)))
}
`

// TestCosts holds against the source what tables of costs need of functions that are easy to see through.
func TestCosts(t *testing.T) {
	r := e2e.Run(t, e2e.Build(t, "ops", "-metrics=calls,ops"))
	r.OK(t)
	p := r.Read(t)
	for _, c := range []struct {
		function string
		want     map[string]int
	}{
		{"main.kept", map[string]int{"int": 1, "call": 1, "return": 1, "argument": 1, "result": 1, "spill": 1,
			"reload": 1}},
		{"main.mixed", map[string]int{"int": 1, "rotate": 1, "load": 1, "bytes": 7, "compare": 0, "check": 1,
			"branch": 1, "result": 1, "spill": 0, "reload": 0}},
		{"main.compared", map[string]int{"word": 1, "uword": 1, "half": 1, "constant": 3, "big": 1, "widen": 0,
			"kept": 0}},
		{"main.widened", map[string]int{"zero": 1, "widen": 1, "extend": 0, "word": 0}},
		{"main.again", map[string]int{"int": 2, "kept": 1}},
		{"main.distant", map[string]int{"load": 1, "far": 1, "frame": 0}},
		{"main.roomy", map[string]int{"spill": 1, "reload": 2, "far": 0, "frame": 24 + 5}},
		// Never and always one way, a thousand times each; and two selections each time.
		{"main.heavy", map[string]int{"counted": 7*1000 + 3 + 8*1000 + 3, "select": 0}},
		{"main.within", map[string]int{"branch": 1001, "select": 2000}},
		{"main.stored", map[string]int{"store": 2, "check": 1, "call": 1, "return": 1, "counted": 5}},
		{"main.pieces", map[string]int{"store": 1, "pieces": 3, "bytes": 0, "mark": 1}},
	} {
		have := classesOf(p, c.function)
		for class, n := range c.want {
			if have[class] != n {
				t.Errorf("%s: %d of class %s, want %d; have %v", c.function, have[class], class, n, have)
			}
		}
	}
}

// classesOf returns how many operations of each class, or what else costs something, the calls of a function have.
func classesOf(p *profile.Profile, function string) map[string]int {
	classes := map[string]int{}
	for i, n := range p.Nodes {
		if f := &p.Funcs[n.Func]; p.String(f.Name) == function {
			counts := p.NodeCounts(i)
			for _, w := range f.Weights {
				classes[profile.OpClasses()[w.Class]] += int(w.N) * int(counts[w.Counter])
			}
		}
	}
	return classes
}

// sumOf adds up the values of the contexts of a function.
func sumOf(values map[string]uint64, function string) (sum uint64) {
	for stack, n := range values {
		if innermost, _, _ := strings.Cut(stack, " < "); innermost == function {
			sum += n
		}
	}
	return sum
}
