package report

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/profile"
)

// TestHeadings prints a tree of times: its columns are not calls.
func TestHeadings(t *testing.T) {
	tree := &cct.Tree{
		Type:  profile.CPU,
		Funcs: []cct.Func{{Name: "[root]", Pseudo: true}, {Name: "main.main"}},
		Sites: make([]cct.Site, 1),
		Nodes: []cct.Node{{}, {Func: 1, Count: 1_500_000}},
	}
	var out bytes.Buffer
	r := &reporter{w: &out, t: tree, o: &Options{Top: -1, Depth: -1, Min: 1}, totals: tree.Totals()}
	r.tree()
	r.contexts()
	if err := r.groups(profile.New()); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); strings.Contains(s, "calls") || strings.Count(s, " cpu ") != 3 ||
		!strings.Contains(s, "less than 1% of the time on CPU are left out") {
		t.Error(s)
	}
}

// TestOneWarning reports a profile with losses of samples: each is said once, in the header and in the summary.
func TestOneWarning(t *testing.T) {
	p := profile.New(profile.CPU)
	losses := []profile.Loss{{Kind: profile.LossTruncated, Count: 1001}, {Kind: profile.LossSampleNodes, Count: 1002},
		{Kind: profile.LossTraces, Count: 1003}, {Kind: profile.LossMismatches, Count: 1004}}
	p.Processes = []profile.Process{{Engine: "sample", Losses: losses, Sampling: &profile.Sampling{Sampler: "isps",
		Stats: []profile.Loss{{Kind: "failed", Count: 1001}, {Kind: "overflow", Count: 1002},
			{Kind: "lost", Count: 1003}, {Kind: "mismatches", Count: 1004}}}}}
	for name, write := range map[string]func(w io.Writer) error{
		"report":  func(w io.Writer) error { return Write(w, &record.Record{Profile: p}, &Options{Top: -1}) },
		"summary": func(w io.Writer) error { return Summarize(w, &record.Record{Profile: p}, "out") },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		for _, number := range []string{"1,001", "1,002", "1,003", "1,004"} {
			if n := strings.Count(out.String(), number); n != 1 {
				t.Errorf("%s: %s stands there %d times, want once:\n%s", name, number, n, &out)
			}
		}
	}
}

// TestEmpty prints tables without rows, of a record that has nothing and of a selection that leaves nothing: below the
// head it says why.
func TestEmpty(t *testing.T) {
	p := profile.New(profile.Calls, profile.Existing, profile.Idle)
	p.Processes = make([]profile.Process, 1)
	none := regexp.MustCompile("^nobody$")
	for name, o := range map[string]Options{"functions": {}, "lines": {By: "line"}, "contexts": {Contexts: true},
		"tree": {Tree: true, Depth: -1}, "classes": {Classes: true},
		"goroutines": {Goroutines: true, Metric: profile.Existing.Name}} {
		o.Top = -1
		for _, focus := range []bool{false, true} {
			if focus {
				o.Selection.Focus = none
			}
			var out bytes.Buffer
			if err := Write(&out, &record.Record{Profile: p}, &o); err != nil {
				t.Fatal(err)
			}
			want := "the record has no " + cmp.Or(o.Metric, profile.Calls.Name)
			if focus {
				want = "no context is left by -focus, -ignore and -hide"
			}
			if !strings.HasSuffix(out.String(), "\n"+want+"\n") {
				t.Errorf("%s: no %q at the end of\n%s", name, want, &out)
			}
		}
	}
}

// TestNeverSampled prints the time on CPU of a program that was to be sampled and was not: the report says why, and
// does not if the sampler was due.
func TestNeverSampled(t *testing.T) {
	for stat, want := range map[string]string{
		"ticks": "\nthe record has no cpu\n",
		"other": "\nthe record has no cpu: sampling was not started (-start=off), or the program ended before the " +
			"first sample was due\n",
	} {
		p := profile.New(profile.Calls, profile.CPU)
		p.Processes = []profile.Process{{Sampling: &profile.Sampling{Stats: []profile.Loss{{Kind: stat, Count: 1}}}}}
		var out bytes.Buffer
		if err := Write(&out, &record.Record{Profile: p}, &Options{Top: -1, Metric: profile.CPU.Name}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("%s: no %q at the end of\n%s", stat, want, &out)
		}
	}
}

// TestNothingVaries asks for what varies of runs that are the same: the record has that, and it is 0.
func TestNothingVaries(t *testing.T) {
	p := profile.New(profile.Calls, profile.Calls.Varying())
	p.Processes = make([]profile.Process, 2)
	var out bytes.Buffer
	o := &Options{Top: -1, Metric: profile.Calls.Varying().Name}
	if err := Write(&out, &record.Record{Profile: p}, o); err != nil {
		t.Fatal(err)
	}
	if want := "\nthe runs do not differ in calls\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("no %q at the end of\n%s", want, &out)
	}
}

// TestFolded prints a call that was folded, and the function that it was folded into, in both forms.
func TestFolded(t *testing.T) {
	tree := &cct.Tree{
		Type:  profile.Calls,
		Funcs: []cct.Func{{Name: "[root]", Pseudo: true}, {Name: "main.f"}, {Name: "main.g"}},
		Sites: make([]cct.Site, 1),
		Nodes: []cct.Node{{}, {Func: 1, Count: 1, Fold: cct.FoldHere}, {Parent: 1, Func: 2, Count: 5},
			{Parent: 2, Func: 1, Count: 4, Fold: cct.FoldAway}},
	}
	var out bytes.Buffer
	r := &reporter{w: &out, t: tree.Trim(0).Select(cct.Selection{Hide: regexp.MustCompile("^x$")}),
		o: &Options{Top: -1, Depth: -1, Min: 1}, totals: tree.Totals()}
	r.tree()
	if s := out.String(); strings.Count(s, "main.f (recursive)") != 1 || strings.Count(s, "main.f (folded)") != 1 {
		t.Error(s)
	}
	r.contexts()
	if s := out.String(); strings.Count(s, "main.f (recursive)") != 4 || strings.Count(s, "main.f (folded)") != 2 {
		t.Error(s)
	}
}

// TestDeepTree prints a context of many calls: where lines are not indented any further, they have the depth.
func TestDeepTree(t *testing.T) {
	const calls = 50_000
	tree := &cct.Tree{Type: profile.Calls, Funcs: []cct.Func{{Name: "[root]", Pseudo: true}, {Name: "main.f"}},
		Sites: make([]cct.Site, 1), Nodes: make([]cct.Node, calls)}
	for i := range tree.Nodes[1:] {
		tree.Nodes[i+1] = cct.Node{Parent: uint32(i), Func: 1, Count: 1}
	}
	var out bytes.Buffer
	r := &reporter{w: &out, t: tree, o: &Options{Top: -1, Depth: -1}, totals: tree.Totals()}
	r.tree()
	s := out.String()
	if out.Len() > 300*calls || strings.Count(s, "main.f") != calls-1 || strings.Contains(s, "[100]") ||
		!strings.Contains(s, "  [101] main.f") || !strings.Contains(s, "  [49998] main.f") {
		t.Errorf("%d bytes, %d lines", out.Len(), strings.Count(s, "\n"))
	}
}

// TestLossTexts looks for a text of each kind of loss that package profile knows.
func TestLossTexts(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "../../../profile/profile.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	kinds := 0
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !regexp.MustCompile("^Loss[A-Z]").MatchString(spec.Names[0].Name) {
			return true
		}
		kind, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		kinds++
		text, ok := lossTexts[kind]
		if !ok || text[0] == "" || text[1] == "" {
			t.Errorf("%s, %q: no text", spec.Names[0].Name, kind)
		}
		return true
	})
	if kinds < 20 || kinds != len(lossTexts) {
		t.Errorf("%d kinds of losses, %d texts", kinds, len(lossTexts))
	}
}

// TestManyProcesses has a sum of so many processes that a list of them would hide the report.
func TestManyProcesses(t *testing.T) {
	for n, want := range map[int]int{1: 1, 11: 11, 12: 11, 500: 11} {
		p := &profile.Profile{Processes: make([]profile.Process, n)}
		lines := ProcessLines(p)
		if len(lines) != want {
			t.Errorf("%d processes have %d lines, want %d", n, len(lines), want)
		}
		if more := "and 490 more processes"; n == 500 && lines[want-1] != more {
			t.Errorf("the last line is %q, want %q", lines[want-1], more)
		}
	}
}

// TestProcessesOfRepeats has the processes of two runs and the counts of one.
func TestProcessesOfRepeats(t *testing.T) {
	p := profile.New(profile.Calls, profile.Calls.Varying())
	p.Processes = make([]profile.Process, 500)
	lines := ProcessLines(p)
	want := "runs of the same work: counts are those of the first run, not a sum; " +
		"by how much calls vary is in -metric=calls.varies"
	if last := lines[len(lines)-1]; last != want {
		t.Errorf("the last line is %q, want %q", last, want)
	}
}
