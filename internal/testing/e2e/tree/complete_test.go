package tree

import (
	"go/version"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestComplete runs programs that make every kind of invocation.
func TestComplete(t *testing.T) {
	for i, name := range []string{"calls", "goroutines", "cgo", "defers", "initorder", "asm", "middleware"} {
		if i == 3 && !e2e.More() {
			break
		}
		t.Run(name, func(t *testing.T) { e2e.Prove(t, name, []int{1, 2, 8}) })
	}
}

// TestSegmentBase runs C that uses the segment base GS for itself, whichever way the runtime sets it.
func TestSegmentBase(t *testing.T) {
	e2e.NeedMore(t)
	for _, how := range []string{"", "call"} {
		e2e.Prove(t, "segment", []int{1, 2, 8}, "STEMMA_SEGMENT="+how)
	}
}

// TestUnasked ends a program if it asks the kernel for its segment base where C returns, or calls back. Where that is a
// system call, as on virtual machines without FSGSBASE, a program over SQLite took 22 times the CPU. If C sets a base
// the program notices, also where a shard would lie beyond the end of a file, or nowhere.
func TestUnasked(t *testing.T) {
	e2e.OnlyHost(t, "there is no segment base")
	exe := e2e.BuildDir(t, "testdata/unasked")
	for _, set := range []string{"", "0", "0x10000", "0x10000000000"} {
		r := e2e.Run(t, exe, "STEMMA_SEGMENT=call", "SET="+set)
		r.OK(t)
		if r.Stdout == "no filter\n" {
			t.Log("the kernel has no filter of system calls for this program")
			continue
		}
		if r.Stdout != "called back 1000\n" || r.Stderr != "" {
			t.Errorf("%s: have %q, and %q", set, r.Stdout, r.Stderr)
		}
		p := r.Read(t)
		e2e.NoLoss(t, p)
		tree, calls := cct.New(p), uint64(0)
		for _, n := range tree.Nodes {
			if tree.Funcs[n.Func].Name == "main.back" {
				calls += n.Count
			}
		}
		if calls != 1000 {
			t.Errorf("%s: %d calls of main.back, want 1000", set, calls)
		}
	}
}

// TestVerify compares folded trees with real stacks: back edges, faults and wrappers
// below them, goroutines.
func TestVerify(t *testing.T) {
	e2e.NeedMore(t)
	for _, name := range e2e.Few(3, "calls", "goroutines", "defers", "middleware") {
		n, _ := e2e.Run(t, e2e.Build(t, name, "-verify")).Verify(t)
		t.Logf("%s: %d contexts", name, n)
	}
}

// TestGenericMethods calls methods that have type parameters of their own.
func TestGenericMethods(t *testing.T) {
	out, err := exec.Command("go", "env", "GOVERSION").Output()
	if err != nil {
		t.Fatal(err)
	}
	if v := strings.TrimSpace(string(out)); version.Compare(v, "go1.27") < 0 {
		t.Skipf("%s has none; run with GOTOOLCHAIN=go1.27.4", v)
	}
	e2e.Prove(t, "go1.27/generic", []int{1})
}

// TestExitHooks ends a program by returning and by os.Exit.
func TestExitHooks(t *testing.T) {
	e2e.Prove(t, "exithooks", []int{1})
	e2e.Prove(t, "exithooks", []int{1}, "EXIT=1")
}

// TestPlugin loads a package at run time.
func TestPlugin(t *testing.T) {
	e2e.NeedFull(t)
	lib := e2e.Build(t, "plugin/lib", "-buildmode=plugin")
	r := e2e.Run(t, e2e.Build(t, "plugin"), "PLUGIN="+lib, "GOMAXPROCS=2")
	r.OK(t)
	p := r.Read(t)
	e2e.NoLoss(t, p)
	e2e.Check(t, cct.New(p), e2e.SourceWants(t, "plugin"), "default")
}

// TestInlinedPlaces looks up in the sources where each inlined function begins.
func TestInlinedPlaces(t *testing.T) {
	r := e2e.Run(t, e2e.Build(t, "calls"))
	tree := cct.New(r.Read(t))
	seen := map[string]bool{}
	for _, n := range tree.Nodes {
		f := tree.Funcs[n.Func]
		if tree.Sites[n.Site].Via != cct.ViaInlined || seen[f.Name] {
			continue
		}
		seen[f.Name] = true
		source, err := os.ReadFile(f.File)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		lines := strings.Split(string(source), "\n")
		if f.Line < 1 || f.Line > len(lines) || !strings.Contains(lines[f.Line-1], "func") {
			t.Errorf("%s does not begin at %s:%d", f.Name, f.File, f.Line)
		}
	}
	if len(seen) < 20 {
		t.Errorf("%d inlined functions, want at least 20", len(seen))
	}
}
