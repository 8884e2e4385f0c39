package command

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

const src = "/src/m.go"

// at returns a frame of a stack walk.
func at(fn string, line int) recordtest.Frame {
	return recordtest.Frame{Func: fn, File: src, Line: line}
}

// inlined marks a frame as inlined into the next one.
func inlined(f recordtest.Frame) recordtest.Frame {
	f.Inlined = true
	return f
}

// checkedProgram returns a directory in which main.main (line 10) calls main.a
// (line 20), which calls through main.in, inlined at line 21, a wrapper, which
// calls main.b (line 30), which panics at line 31, whereupon main.d runs; and
// main.b recursively calls main.a. The result has the nodes by name.
func checkedProgram() (*recordtest.Dir, map[string]int) {
	d := recordtest.New(1, "prog")
	site := func(line, in, cell int) recordtest.Site {
		return recordtest.Site{Kind: layout.SiteCall, Line: line, In: in, Cell: cell}
	}
	mainF := d.Func(recordtest.Func{Name: "main.main", Files: []string{src},
		Sites: []recordtest.Site{site(11, 0, 1), {Kind: layout.SiteGo, Line: 12, Cell: 2}}})
	a := d.Func(recordtest.Func{Name: "main.a", Files: []string{src}, Sites: []recordtest.Site{site(25, 1, 1)},
		Inlined: []recordtest.Inlined{{Callee: "main.in[go.shape.int]", Line: 21}}})
	wrapper := d.Func(recordtest.Func{Name: "main.(*T).b", Flags: layout.MetaFlagWrapper, Files: []string{src},
		Sites: []recordtest.Site{site(1, 0, 1)}})
	b := d.Func(recordtest.Func{Name: "main.b", Files: []string{src},
		Sites: []recordtest.Site{{Kind: layout.SitePanic, Line: 31, Callee: "runtime.gopanic", Cell: 1, Counter: 2},
			site(33, 0, 2)}})
	dF := d.Func(recordtest.Func{Name: "main.d", Files: []string{src}})
	fault := d.Fault("runtime.sigpanic", at("main.in[go.shape.int]", 25), at("main.a", 21))
	n := map[string]int{"main": d.Node(recordtest.Root, layout.RootMain, mainF)}
	n["a"] = d.Node(n["main"], 0, a)
	n["wrapper"] = d.Node(n["a"], 0, wrapper)
	n["b"] = d.Node(n["wrapper"], 0, b)
	n["d"] = d.Node(n["b"], 0, dF)
	n["fault"] = d.Node(n["a"], layout.NoCell, fault)
	n["d2"] = d.Node(n["fault"], 0, dF)
	n["go"] = d.Node(n["main"], 1, dF)
	n["lost"] = d.Node(recordtest.Overflow, 0, dF)
	return d, n
}

// fromMain returns a record of a node on the main goroutine.
func fromMain(node int) recordtest.Check {
	return recordtest.Check{Node: node, Events: 1, Start: recordtest.Root, StartCell: layout.RootMain}
}

// outermost returns the frames of main.a, called by main.main, by the runtime.
func outermost() []recordtest.Frame {
	return []recordtest.Frame{inlined(at("main.in[...]", 25)), at("main.a", 21), at("main.main", 11),
		{Func: "runtime.main", File: "proc.go", Line: 1}}
}

func TestVerify(t *testing.T) {
	d, n := checkedProgram()
	d.AddCheck(fromMain(n["d"]),
		append([]recordtest.Frame{at("main.d", 40), at("runtime.gopanic", 99), at("main.b", 31)}, outermost()...)...)
	d.AddCheck(fromMain(n["d2"]),
		append([]recordtest.Frame{at("main.d", 40), inlined(at("runtime.helper", 5)), at("runtime.sigpanic", 99)},
			outermost()...)...)
	d.AddCheck(recordtest.Check{Node: n["go"], Start: n["main"], StartCell: 1}, at("main.d", 40), at("runtime.goexit",
		7))
	d.AddCheck(fromMain(n["lost"]), at("main.d", 40), at("main.x", 7))
	// At a call site, not at an entry.
	leave := fromMain(n["b"])
	leave.Cell = 2
	d.AddCheck(leave, append([]recordtest.Frame{at("main.b", 33)}, outermost()...)...)
	// Recursion: b called a, which called b again.
	deep := append([]recordtest.Frame{at("main.b", 30), inlined(at("main.in[...]", 25)), at("main.a", 21),
		at("main.b", 33)}, outermost()...)
	d.AddCheck(fromMain(n["b"]), deep...)
	code, stdout, stderr := verifyLive(t, d)
	if want := "checked 5 contexts, 0 mismatches\n\t1 truncated context was not compared\n"; code != base.ExitOK ||
		stdout != want || stderr != "" {
		t.Errorf("exit code %d, have %q, want %q; stderr %q", code, stdout, want, stderr)
	}
}

func verifyLive(t *testing.T, d *recordtest.Dir) (code int, stdout, stderr string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "prog.1")
	d.WriteTo(t, dir)
	return runMain("verify", "-v", "-live", dir)
}

func TestVerifyMismatches(t *testing.T) {
	for kind, frames := range map[string][]recordtest.Frame{
		"function": {at("main.d", 0)},
		"file": {at("main.b", 0), {Func: "main.in[...]", File: "x.go", Line: 25, Inlined: true},
			at("main.a", 21), at("main.main", 11)},
		"line":    {at("main.b", 0), inlined(at("main.in[...]", 26)), at("main.a", 21), at("main.main", 11)},
		"inlined": {at("main.b", 0), at("main.a", 21), at("main.main", 11)},
		"depth":   {at("main.b", 0), inlined(at("main.in[...]", 25)), at("main.a", 21)},
	} {
		d, n := checkedProgram()
		d.AddCheck(fromMain(n["b"]), frames...)
		code, stdout, _ := verifyLive(t, d)
		if code != base.ExitFailure || !strings.Contains(stdout, "checked 1 context, 1 mismatch\n") ||
			!strings.Contains(stdout, "mismatch of kind "+kind+" in frame") {
			t.Errorf("%s: exit code %d, have\n%s", kind, code, stdout)
		}
	}
	d, n := checkedProgram()
	d.AddCheck(fromMain(n["b"]+8), at("main.b", 0))
	if code, stdout, _ := verifyLive(t, d); code != base.ExitFailure || !strings.Contains(stdout, "\tmissing    1\n") {
		t.Errorf("missing: exit code %d, have\n%s", code, stdout)
	}
}

func TestVerifyNothing(t *testing.T) {
	d, _ := checkedProgram()
	if code, _, stderr := verifyLive(t, d); code != base.ExitFailure ||
		!strings.Contains(stderr, "nothing was checked; build the program with") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

// TestVerifyCounts compares how often inlined calls are counted with how often they began. Of a program that has ended,
// and has stopped no goroutine midway, the two are equal.
func TestVerifyCounts(t *testing.T) {
	mark := slices.Index(layout.OpClassNames[:], "mark")
	for _, test := range []struct {
		counted, began, stopped uint64
		ended                   bool
		want                    string
	}{
		{7, 7, 0, true, "0 mismatches"},
		{7, 6, 0, true, "1 mismatch\n"},
		{7, 6, 1, true, "0 mismatches"},
		{7, 5, 1, true, "1 mismatch\n"},
		{7, 8, 1, true, "1 mismatch\n"},
		{7, 3, 0, false, "0 mismatches"}, // it was killed
	} {
		d := recordtest.New(1, "prog")
		f := d.Func(recordtest.Func{Name: "main.main", Files: []string{src},
			Inlined: []recordtest.Inlined{{Callee: "main.in", Line: 21, Counter: 2}},
			Weights: []recordtest.Weight{{Counter: 2, In: 1, Class: mark, N: 1}}})
		n := d.Node(recordtest.Root, layout.RootMain, f)
		for counter, calls := range []uint64{7, test.counted, test.began} {
			d.Count(0, n, counter, calls)
		}
		d.AddCheck(fromMain(n), at("main.main", 10))
		if test.ended {
			d.AddCheck(recordtest.Check{Cell: layout.CheckEnd, Events: test.stopped})
		}
		code, stdout, _ := verifyLive(t, d)
		failed := test.want != "0 mismatches"
		if !strings.Contains(stdout, "checked 1 context, "+test.want) || (code != base.ExitOK) != failed ||
			!strings.Contains(stdout, "compared the counts of 1 inlined call\n") ||
			failed != strings.Contains(stdout, "main.in, inlined at "+src+":21 into main.main, began") {
			t.Errorf("%+v: exit code %d, %q", test, code, stdout)
		}
	}
}
