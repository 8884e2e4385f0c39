// Package stemmatest asserts how many calls code makes, in tests that stemma runs.
//
//	func TestLookup(t *testing.T) {
//		idx := build(1000)
//		stemmatest.Calls(t, func() { idx.Lookup("k") }).Of("(*Index).compare").AtMost(24)
//		stemmatest.Growth(t, []int{1000, 2000, 4000}, func(n int) { build(n) }).AtMost(1.2)
//	}
//
// Counts are exact and do not depend on how busy the machine is. They need a test that
// stemma builds:
//
//	stemma test ./...
//
// In a normal go test, [Calls], [Allocs] and [Growth] skip the test, and the message names the
// command. [AllocsPerRun] is then that of package testing.
//
// # What is counted
//
// All calls that the function makes, and all calls below them, including inlined calls,
// calls in the standard library, and calls in goroutines that the function starts. Wait for
// these goroutines: what they do after the function has returned does not count. Calls of
// other tests, and of goroutines that were started elsewhere, never count.
//
// # Names
//
// A pattern is the name of a function as stemma report shows it, in which * stands for
// anything. The package, or the directories of its import path, may be left out:
// (*Index).compare, idx.(*Index).compare and example.com/idx.(*Index).compare are the same
// method. A pattern that no function of the program has is an error, and not a count of 0.
//
// # Chance
//
// What Go does by chance does not count: calls of the runtime if a cache has no entry, what a sync.Pool calls, who
// waits for a lock. A pattern without * that names such a function counts it anyway. See
// docs/reference/by-chance.md.
package stemmatest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/chance"
	"github.com/stemma-go/stemma/internal/diff"
	"github.com/stemma-go/stemma/profile"
)

// A Counted is what a function has called. As a Count it is the number of all these calls.
type Counted struct {
	Count
	tree *cct.Tree // of a function that was counted, and of what it has called
}

// A Count is a number of calls, to be compared. Its methods return it, so that several
// comparisons can follow each other.
type Count struct {
	t     testing.TB
	what  string
	calls uint64
	most  []string // the contexts that most of the calls are in
}

// Calls calls f and counts its calls. A test makes one measurement at a time: f must not call
// Calls or Growth with the same t. The call of f counts as well.
func Calls(t testing.TB, f func()) *Counted {
	t.Helper()
	needCounts(t)
	l := take(t)
	defer l.release()
	tree, err := l.count(f, profile.Calls.Name)
	if err != nil {
		t.Fatalf("stemmatest: %v", err)
	}
	return counted(t, tree)
}

func counted(t testing.TB, tree *cct.Tree) *Counted {
	return &Counted{newCount(t, tree, "calls", everything), tree}
}

// Of returns how often functions whose names match the pattern were called.
func (c *Counted) Of(pattern string) Count {
	c.t.Helper()
	return newCount(c.t, c.tree, "calls of "+pattern, matching(c.t, c.tree, pattern))
}

// A filter says which functions count.
type filter struct {
	match  func(name string) bool
	chance bool // those that Go calls by chance as well
}

// everything is all functions, but for what is chance.
var everything = filter{match: func(string) bool { return true }}

// calls adds up the calls of the functions that count, and lists their nodes.
func (f filter) calls(tree *cct.Tree) (sum uint64, nodes []uint32) {
	drop := make([]bool, len(tree.Nodes))
	if !f.chance {
		drop = chance.Nodes(tree, false)
	}
	for i, n := range tree.Nodes {
		if n.Count > 0 && !drop[i] && f.match(tree.Funcs[n.Func].Name) {
			sum, nodes = sum+n.Count, append(nodes, uint32(i))
		}
	}
	return sum, nodes
}

// newCount adds up the calls of the functions that count.
func newCount(t testing.TB, tree *cct.Tree, what string, f filter) Count {
	c := Count{t: t, what: what}
	var contexts []uint32
	c.calls, contexts = f.calls(tree)
	slices.SortStableFunc(contexts,
		func(a, b uint32) int { return cmp.Compare(tree.Nodes[b].Count, tree.Nodes[a].Count) })
	for _, n := range contexts[:min(len(contexts), maxShown)] {
		c.most = append(c.most, fmt.Sprintf("%12d  %s", tree.Nodes[n].Count, path(tree, n)))
	}
	return c
}

// maxShown is how many contexts a message has, maxFrames how many functions of each.
const (
	maxShown  = 5
	maxFrames = 4
)

// path returns the innermost functions of a context, down from what was counted.
func path(tree *cct.Tree, n uint32) string {
	var frames []string
	for _, f := range tree.Stack(n) {
		if f.Func == lastName {
			break
		}
		if len(frames) == maxFrames {
			frames = append(frames, "…")
			break
		}
		if f.File == "" { // a type, or a native
			frames = append(frames, f.Func)
			continue
		}
		frames = append(frames, fmt.Sprintf("%s %s:%d", f.Func, f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line))
	}
	return strings.Join(frames, " ← ")
}

// N returns the number of calls.
func (c Count) N() int { return int(c.calls) }

// AtMost fails the test if there are more calls than max.
func (c Count) AtMost(max int) Count {
	c.t.Helper()
	return c.check(c.N() <= max, "at most", max)
}

// AtLeast fails the test if there are fewer calls than min.
func (c Count) AtLeast(min int) Count {
	c.t.Helper()
	return c.check(c.N() >= min, "at least", min)
}

// Exactly fails the test if there are more or fewer calls than n.
func (c Count) Exactly(n int) Count {
	c.t.Helper()
	return c.check(c.N() == n, "exactly", n)
}

func (c Count) check(ok bool, how string, want int) Count {
	c.t.Helper()
	if ok {
		return c
	}
	message := fmt.Sprintf("%s: %d, want %s %d", c.what, c.calls, how, want)
	if len(c.most) > 0 {
		message += "; most of them in\n" + strings.Join(c.most, "\n")
	}
	c.t.Error(message)
	return c
}

// matching returns what matches a pattern. One that neither
// a function that was called nor any of the program matches ends the test.
func matching(t testing.TB, tree *cct.Tree, pattern string) filter {
	t.Helper()
	p, err := diff.NewPattern(pattern)
	if err != nil {
		t.Fatalf("stemmatest: Of(%q): %v", pattern, err)
	}
	f := filter{chance: !strings.Contains(pattern, "*")}
	f.match = func(name string) bool {
		short := name[strings.LastIndexByte(untyped(name), '/')+1:]
		return p.Match(name) || p.Match(short) || p.Match(short[strings.IndexByte(short, '.')+1:])
	}
	if slices.ContainsFunc(tree.Funcs, func(fn cct.Func) bool { return !fn.Pseudo && f.match(fn.Name) }) {
		return f
	}
	names, err := programFuncs()
	if err != nil {
		t.Fatalf("stemmatest: Of(%q): no function with that name was called, and whether there is one cannot "+
			"be told: %v", pattern, err)
	}
	if !slices.ContainsFunc(names, func(name string) bool { return f.match(cct.DisplayName(name)) }) {
		t.Fatalf("stemmatest: Of(%q): no function of this program has that name; stemma report shows names as they "+
			"are to be written", pattern)
	}
	return f
}

// untyped returns the part of a name in front of type arguments, which may have slashes.
func untyped(name string) string {
	head, _, _ := strings.Cut(name, "[")
	return head
}

// needCounts skips the test if the program does not count calls, and ends it if it does,
// but lost some.
func needCounts(t testing.TB) {
	t.Helper()
	how := fmt.Sprintf("stemma test -run '^%s$'", strings.ReplaceAll(t.Name(), "/", "$/^"))
	dir, engine, err := recording()
	switch {
	case err != nil:
		t.Fatalf("stemmatest: %v", err)
	case dir == "":
		t.Skipf("stemmatest: calls are counted in tests that stemma runs; run %s", how)
	case engine != "":
		t.Skipf("stemmatest: this test was built with engine %s, which does not count calls; run %s", engine, how)
	}
}
