package suite

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseExceptions(t *testing.T) {
	known, err := ParseExceptions("# why\n\n  a/b.TestX = counts = allocations \nc = hangs\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(known) != 2 || known["a/b.TestX"] != "counts = allocations" || known["c"] != "hangs" {
		t.Errorf("got %v", known)
	}
	for text, want := range map[string]string{
		"a.TestX":              "exceptions.txt:1: ",
		"# x\na.TestX =\n":     "exceptions.txt:2: ",
		"a.T = x\n\na.T = y\n": "exceptions.txt:3: a.T is there twice",
	} {
		if _, err := ParseExceptions(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestParseEvents(t *testing.T) {
	for _, c := range []struct {
		name, events string
		failed       string // names with commas
		ok           string
	}{
		{"passes", `{"Action":"pass","Test":"TestA"}
{"Action":"pass"}`, "", "TestA"},
		{"nothing to test", `{"Action":"skip"}`, "", ""},
		{"subtest", `{"Action":"fail","Test":"TestA/sub"}
{"Action":"fail","Test":"TestA"}
{"Action":"pass","Test":"TestB/sub"}
{"Action":"pass","Test":"TestB"}
{"Action":"fail"}`, "TestA", "TestB,TestB/sub"},
		{"package only", `{"Action":"pass","Test":"TestA"}
{"Action":"fail"}`, "''", "TestA"},
		{"build", `{"ImportPath":"p","Action":"build-output","Output":"p.go:1: no\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"fail","FailedBuild":"p"}`, "''", ""},
		{"no end", `{"Action":"run","Test":"TestA"}`, "''", ""},
		{"no events", "stemma: no compiler\n", "''", ""},
	} {
		o := parseEvents([]byte(c.events))
		var failed, ok []string
		for _, n := range names(o.failed) {
			if n == "" {
				n = "''"
			}
			failed = append(failed, n)
		}
		for n := range o.ok {
			ok = append(ok, n)
		}
		slices.Sort(ok)
		if strings.Join(failed, ",") != c.failed || strings.Join(ok, ",") != c.ok || o.passed != (c.failed == "") {
			t.Errorf("%s: %+v, want failed %s, ok %s", c.name, o, c.failed, c.ok)
		}
	}
}

func TestParseEventsKeepsOutput(t *testing.T) {
	o := parseEvents([]byte(`{"Action":"output","Test":"TestA","Output":"a\n"}
{"Action":"output","Test":"TestA/sub","Output":"b\n"}
{"Action":"output","Test":"TestB","Output":"c\n"}
{"Action":"fail","Test":"TestA"}`))
	if got := o.failed["TestA"]; got != "a\nb\n" {
		t.Errorf("output %q", got)
	}
}

// fake makes a stemma command that prints these events for all tests.
func fake(t *testing.T, known, events string) *Tester {
	t.Helper()
	e, err := ParseExceptions(known)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	stemma := filepath.Join(dir, "stemma")
	script := "#!/bin/sh\ncat <<'END'\n" + events + "\nEND\n"
	if err := os.WriteFile(stemma, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return &Tester{Timeout: time.Minute, Known: e, Work: dir, Stemma: stemma}
}

func TestFailuresAreSorted(t *testing.T) {
	if testing.Short() {
		t.Skip("runs go test errors; run without -short")
	}
	const events = `{"Action":"fail","Test":"TestIs"}
{"Action":"fail","Test":"TestAs"}
{"Action":"pass","Test":"TestJoin"}
{"Action":"pass","Test":"TestUnwrap"}
{"Action":"fail"}`
	x := fake(t, "errors.TestAs = a reason\nerrors.TestJoin = another\nerrors.TestUnwrap = -engine=x: a third\n",
		events).Test("errors")
	if !slices.Equal(x.unknown, []string{"TestIs"}) || !slices.Equal(x.listed, []string{"TestAs"}) ||
		!slices.Equal(x.stale, []string{"TestJoin"}) {
		t.Errorf("unknown %q, listed %q, stale %q", x.unknown, x.listed, x.stale)
	}
}

// TestPackageThatFailsOnce has a test program that does not end, and passes when it is run again.
func TestPackageThatFailsOnce(t *testing.T) {
	tester := fake(t, "", "")
	script := "#!/bin/sh\nif mkdir " + tester.Work + "/once 2>/dev/null; then\n" +
		`echo '{"Action":"pass","Test":"TestIs"}'; echo '{"Action":"run","Test":"TestAs"}'; exit 1` + "\nfi\n" +
		`for t in TestIs TestAs TestJoin; do echo '{"Action":"pass","Test":"'$t'"}'; done; echo '{"Action":"pass"}'` + "\n"
	if err := os.WriteFile(tester.Stemma, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	x := tester.Test("errors")
	if x.passed != 3 || !slices.Equal(x.flaky, []string{""}) || len(x.unknown) > 0 {
		t.Errorf("%d passed, failed once %q, unknown %q; want 3, the package, none", x.passed, x.flaky, x.unknown)
	}
}

// TestListedTestThatFailsOnce has an exception that is needed, although the test passes when it is run again.
func TestListedTestThatFailsOnce(t *testing.T) {
	tester := fake(t, "errors.TestAs = a reason\n", "")
	script := "#!/bin/sh\nif mkdir " + tester.Work + "/once 2>/dev/null; then\n" +
		`echo '{"Action":"fail","Test":"TestAs"}'; echo '{"Action":"fail"}'; exit 1` + "\nfi\n" +
		`case "$*" in *-skip=*) ;; *) echo '{"Action":"pass","Test":"TestAs"}';; esac; echo '{"Action":"pass"}'` + "\n"
	if err := os.WriteFile(tester.Stemma, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	x := tester.Test("errors")
	if x.passed != 1 || !slices.Equal(x.flaky, []string{"TestAs"}) || len(x.stale) > 0 {
		t.Errorf("%d passed, failed once %q, stale %q; want 1, TestAs, none", x.passed, x.flaky, x.stale)
	}
}

func TestListedPackageIsNotRun(t *testing.T) {
	x := fake(t, "errors = a reason\n", "nonsense").Test("errors")
	if !x.notRun || len(x.unknown) > 0 {
		t.Errorf("got %+v", x)
	}
}

// TestListedPackageOfOneBuild lists a package for a build with a flag.
func TestListedPackageOfOneBuild(t *testing.T) {
	x := fake(t, "errors = -engine=cct: crashes\n", `{"Action":"pass"}`)
	for _, engine := range []string{"cct", "dacce"} {
		x.Build = []string{"-engine=" + engine}
		if r := x.Test("errors"); r.notRun != (engine == "cct") {
			t.Errorf("%s: %s", engine, r.Outcome())
		}
	}
}

// TestLeftOut lets stemma fail unless it is told to skip the test that might not end.
func TestLeftOut(t *testing.T) {
	const list = "errors.TestAs = -engine=dacce: hangs\nerrors.TestIs = -engine=cct: hangs\n"
	x := fake(t, list, `{"Action":"pass"}`)
	x.Build = []string{"-engine=dacce"}
	script := "#!/bin/sh\n[ \"$5\" = '-skip=^(TestAs)$' ] && echo '{\"Action\":\"pass\"}'\n"
	if err := os.WriteFile(x.Stemma, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	r := x.Test("errors")
	if r.Outcome() != "passes but for exceptions: TestAs" {
		t.Errorf("%s: %+v", r.Outcome(), r)
	}
	x.All = true
	if left := x.leftOut("errors"); left != nil {
		t.Errorf("left out with -all: %q", left)
	}
}

func TestReport(t *testing.T) {
	known := Exceptions{"b.TestB": "counts", "c": "hangs"}
	r := NewReport([]*Result{
		{pkg: "a", flaky: []string{"TestF"}},
		{pkg: "b", listed: []string{"TestB"}},
		{pkg: "c", notRun: true},
		{pkg: "d", plain: []string{""}},
	})
	if !r.OK() {
		t.Error("known failures are not ok")
	}
	r.results = append(r.results,
		&Result{pkg: "e", unknown: []string{"TestE"}, output: map[string]string{"TestE": "e_test.go:1: no\n"}})
	if r.OK() {
		t.Error("an unknown failure is ok")
	}
	text := r.Text(known)
	for _, want := range []string{
		"\nFAIL e.TestE\n\te_test.go:1: no\n", "\n5 packages with tests\n",
		"     1 pass all", "     1 pass but", "     1 are listed", "     1 have a test", "     1 fail\n",
		"exceptions:\n\tb.TestB: counts\n\tc: hangs\n", "again:\n\ta.TestF\n", "plain Go:\n\td\n",
		"failed:\n\te.TestE\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("report\n%s\ndoes not have %q", text, want)
		}
	}
}

// TestReleaseExceptions has an exception of one release: it excuses nothing in another, and
// is not called needless there.
func TestReleaseExceptions(t *testing.T) {
	if testing.Short() {
		t.Skip("runs go test errors; run without -short")
	}
	const list = "errors.TestIs = go1.27: a reason\nerrors.TestJoin = go1.27: another\n"
	const events = `{"Action":"fail","Test":"TestIs"}
{"Action":"pass","Test":"TestJoin"}
{"Action":"fail"}`
	x := fake(t, list, events)
	x.Release = "go1.26"
	if r := x.Test("errors"); !slices.Equal(r.unknown, []string{"TestIs"}) || r.stale != nil {
		t.Errorf("go1.26: unknown %q, stale %q", r.unknown, r.stale)
	}
	x.Release = "go1.27"
	if r := x.Test("errors"); !slices.Equal(r.listed, []string{"TestIs"}) ||
		!slices.Equal(r.stale, []string{"TestJoin"}) {
		t.Errorf("go1.27: listed %q, stale %q", r.listed, r.stale)
	}
}

// TestMissing has a program that ends early, and says that all is well.
func TestMissing(t *testing.T) {
	if testing.Short() {
		t.Skip("runs go test errors; run without -short")
	}
	x := fake(t, "errors.TestJoin = -engine=cct: hangs\n", `{"Action":"pass","Test":"TestIs"}
{"Action":"pass"}`)
	x.Build, x.Compare = []string{"-engine=cct"}, true
	r := x.Test("errors")
	if !slices.Contains(r.unknown, "TestUnwrap") || slices.Contains(r.unknown, "TestIs") ||
		slices.Contains(r.unknown, "TestJoin") {
		t.Errorf("unknown %q, want TestUnwrap and others, but not TestIs, which ran, and TestJoin, which is listed",
			r.unknown)
	}
}
