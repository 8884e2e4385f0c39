package tree

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// inContexts has, for functions of the program split, where their time is: in functions whose names begin so, in that
// context.
var inContexts = map[string][]string{
	"main.one": {"main.spin"}, "main.three": {"main.spin"}, "main.within": {"main.inlined", "main.within"},
	"main.moves": {"runtime.memmove"}, "main.maps": {"runtime.", "internal/runtime/maps.", "main.maps"},
	"main.left": {"main.tiny", "main.leaf", "main.left"}, "main.right": {"main.tiny", "main.leaf", "main.right"},
	"main.deep": {"main.spin"},
}

// TestContextCPU compares the time on CPU of contexts with what a program has measured itself, at two rates, with
// recursion folded and in full. Samples are some thousand: shares differ by chance.
func TestContextCPU(t *testing.T) {
	e2e.NeedFull(t)
	for _, build := range [][]string{{"-metrics=calls,cpu"},
		{"-metrics=calls,cpu,alloc", "-every=100us", "-recursion=full"}} {
		exe := e2e.Build(t, "split", build...)
		t.Run(strings.Join(build, " "), func(t *testing.T) {
			e2e.Retry(t, func() error {
				r := e2e.Run(t, exe)
				r.OK(t)
				return checkContextCPU(t, r)
			})
		})
	}
}

// TestContextCPURace has the time on CPU in contexts with the race detector. Most of it is the detector's, which has
// none.
func TestContextCPURace(t *testing.T) {
	e2e.NeedFull(t) // it builds Go's library with the race detector
	e2e.OnlyHost(t, "the race detector does not start in an emulator")
	r := e2e.Run(t, e2e.Build(t, "split", "-metrics=calls,cpu", "-race"), "ROUNDS=50")
	r.OK(t)
	tree, err := cct.Of(r.Read(t), profile.ContextCPU.Name)
	if err != nil {
		t.Fatal(err)
	}
	for name, within := range map[string][]string{"main.one": {"main.spin"}, "main.three": {"main.spin"}} {
		if total, in := contextTime(tree, name, within); total == 0 || in == 0 {
			t.Errorf("%s has %.0f ms, of which %.0f ms are in %v", name, total/1e6, in/1e6, within)
		}
	}
}

// checkContextCPU checks one run.
func checkContextCPU(t *testing.T, r e2e.Result) error {
	p := r.Read(t)
	e2e.NoLoss(t, p)
	tree, err := cct.Of(p, profile.ContextCPU.Name)
	if err != nil {
		t.Fatal(err)
	}
	spent := make(map[string]float64)
	all := 0.0
	for line := range strings.Lines(r.Stdout) {
		var name string
		var ns float64
		if _, err := fmt.Sscan(line, &name, &ns); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		spent["main."+name] = ns
		all += ns
	}
	if len(spent) != len(inContexts) {
		return fmt.Errorf("%d parts, want %d", len(spent), len(inContexts))
	}
	for name, ns := range spent {
		total, within := contextTime(tree, name, inContexts[name])
		// Of n samples a part's number differs by the root of n, and what a sample stands for varies as well.
		allowed := 6*math.Sqrt(ns*2e6) + 0.03*ns
		if math.Abs(total-ns) > allowed {
			return fmt.Errorf("%s has %.0f ms, the program says %.0f ms, allowed are %.0f ms more or less", name,
				total/1e6, ns/1e6, allowed/1e6)
		}
		if within < 0.9*total {
			return fmt.Errorf("%s: of %.0f ms only %.0f ms are in %v", name, total/1e6, within/1e6, inContexts[name])
		}
	}
	if calls := p.Total(profile.Calls); calls == 0 {
		return fmt.Errorf("no calls")
	}
	return nil
}

// contextTime returns the time in and below the contexts of a function, and what of it is in certain functions.
func contextTime(tree *cct.Tree, function string, where []string) (total, within float64) {
	in := make([]bool, len(tree.Nodes))
	for i, n := range tree.Nodes[1:] {
		f := tree.Funcs[n.Func]
		in[i+1] = in[n.Parent] || f.Name == function
		if !in[i+1] {
			continue
		}
		total += float64(n.Count)
		for _, w := range where {
			if strings.HasPrefix(f.Name, w) {
				within += float64(n.Count)
			}
		}
	}
	return total, within
}
