package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/run"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// runMain runs the tool and returns its exit code and what it wrote.
func runMain(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// ages are what a report says about when a record was made.
var ages = regexp.MustCompile(` · (recorded|sealed) (just now|\d+ \w+ ago)|"changed": "[^"]*"`)

// golden compares have with the file testdata/name below dir, but for the ages of records.
func golden(t *testing.T, dir, name, have string) {
	t.Helper()
	have = ages.ReplaceAllString(have, "(age)")
	path := filepath.Join(dir, "testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(have), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if have != string(want) {
		t.Errorf("%s differs; run with -update and look at the difference. have:\n%s", path, have)
	}
}

// inTemp changes to a new directory with the live directory
// stemma.out/shapes.4242, and returns the old one.
func inTemp(t *testing.T) string {
	t.Helper()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	recordtest.Shapes().WriteTo(t, "stemma.out/shapes.4242")
	return wd
}

func TestReportGolden(t *testing.T) {
	wd := inTemp(t)
	for name, args := range map[string][]string{
		"report_flat":        {"report", "stemma.out/shapes.4242"},
		"report_top":         {"report", "-top", "2"},
		"report_contexts":    {"report", "stemma.out", "-contexts"},
		"report_tree":        {"report", "-tree", "-min=0"},
		"report_depth":       {"report", "-tree", "-depth=3", "-min=20"},
		"report_func":        {"report", "-func", `guard|clean|square`},
		"report_json":        {"report", "-json", "-contexts"},
		"report_jsonfunc":    {"report", "-json", "-func", "guard"},
		"report_stacks":      {"report", "-contexts", "-func", `clean|square`},
		"report_focus":       {"report", "-focus", `guard`, "-ignore", "gopanic", "-contexts"},
		"report_hide":        {"report", "-hide", `area|worker`, "-tree", "-min=0"},
		"report_package":     {"report", "-by=package"},
		"report_file":        {"report", "-by=file", "-sort=total"},
		"report_line":        {"report", "-by=line"},
		"report_go":          {"report", "-by=goroutine"},
		"report_classes":     {"report", "-classes"},
		"report_jsonclasses": {"report", "-classes", "-app=guard", "-json", "-focus=guard"},
		"report_jsonby":      {"report", "-by=goroutine", "-focus=guard", "-json", "-top=1"},
		"report_sum":         {"report", "stemma.out/shapes.4242", "stemma.out/shapes.4242"},
		"info":               {"info"},
		"info_text":          {"info", "-text"},
	} {
		code, stdout, stderr := runMain(args...)
		if code != base.ExitOK || stderr != "" {
			t.Errorf("%v: exit code %d, stderr %q", args, code, stderr)
		}
		golden(t, wd, name+".txt", stdout)
	}
}

// TestSealed checks that a sealed file reports what the live directory does.
// checkModes looks at who can read what is written: the command line is its user's alone.
func checkModes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	for _, c := range []struct {
		args []string
		want os.FileMode
	}{
		{[]string{"seal"}, 0o600}, {[]string{"view"}, 0o600}, {[]string{"export", "-format=pprof"}, 0o600},
		{[]string{"export", "-format=pgo"}, 0o644}, {[]string{"baseline"}, 0o644},
	} {
		if code, _, stderr := runMain(append(c.args, "-o", "written",
			"stemma.out/shapes.4242")...); code != base.ExitOK {
			t.Error(stderr)
		}
		info, err := os.Stat("written")
		if err != nil || info.Mode().Perm() != c.want {
			t.Errorf("%v: mode %v, %v, want %v", c.args, info.Mode(), err, c.want)
		}
		if err := os.Remove("written"); err != nil {
			t.Error(err)
		}
	}
}

func TestSealed(t *testing.T) {
	inTemp(t)
	if code, _, stderr := runMain("seal", "-o", "shapes.stemma", "stemma.out/shapes.4242"); code != base.ExitOK {
		t.Fatal(stderr)
	}
	checkModes(t)
	for _, flags := range [][]string{{"-json", "-contexts"}, {"-tree", "-min=0"}} {
		_, live, _ := runMain(append([]string{"report", "stemma.out/shapes.4242"}, flags...)...)
		_, sealed, _ := runMain(append([]string{"report", "shapes.stemma"}, flags...)...)
		live, sealed = withoutRecords(t, live), withoutRecords(t, sealed)
		if flags[0] == "-tree" && live != sealed {
			t.Errorf("%v: live:\n%s\nsealed:\n%s", flags, live, sealed)
		}
		if len(live) != len(sealed) {
			t.Errorf("%v: live:\n%s\nsealed:\n%s", flags, live, sealed)
		}
	}
	if left, _ := filepath.Glob("*.tmp"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// withoutRecords returns a report without what it says it is of.
func withoutRecords(t *testing.T, report string) string {
	t.Helper()
	of := regexp.MustCompile(`(?s)^record [^\n]*\n|"records": \[.*?\],`)
	if !of.MatchString(report) {
		t.Errorf("the report does not say which record it is of:\n%s", report)
	}
	return of.ReplaceAllString(report, "")
}

func TestSummary(t *testing.T) {
	wd := inTemp(t)
	var stderr bytes.Buffer
	if err := run.SealAndSummarize(&base.Env{Stderr: &stderr}, "stemma.out/shapes.4242", "shapes.stemma",
		0); err != nil {
		t.Fatal(err)
	}
	golden(t, wd, "summary.txt", stderr.String())
	// A command that a message names can be typed as it is.
	for out, want := range map[string]string{
		"my shapes.stemma": `wrote my shapes.stemma; see 'stemma report "my shapes.stemma"'`,
		"a\x1bb.stemma":    `wrote a\x1bb.stemma; see 'stemma report $'a\x1bb.stemma''`,
	} {
		stderr.Reset()
		err := run.SealAndSummarize(&base.Env{Stderr: &stderr}, "stemma.out/shapes.4242", out, 0)
		if err != nil || !strings.Contains(stderr.String(), want+"\n") {
			t.Errorf("%q: have %v, %s, want %s", out, err, &stderr, want)
		}
	}
}

func TestReportErrors(t *testing.T) {
	inTemp(t)
	for _, err := range []error{
		os.Mkdir("empty", 0o777),
		os.WriteFile("broken.stemma", []byte("stemma\x00\x02\x01"), 0o666),
		os.WriteFile("text", []byte("what is this? certainly no profile"), 0o666),
		os.WriteFile("base.txt", []byte("stemma baseline 2\n"), 0o666),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		code int
		want string
		args []string
	}{
		{base.ExitFailure, "stemma: empty: no record; want a live directory, a directory of live directories, or a " +
			"*.stemma file", []string{"report", "empty"}},
		{base.ExitFailure, "stemma: broken.stemma: offset 9: file ends in the file header",
			[]string{"report", "broken.stemma"}},
		{base.ExitFailure, "stemma: text: offset 0: not a stemma profile", []string{"report", "text"}},
		{base.ExitFailure, "base.txt: a baseline, which is text to compare with; only 'stemma diff' reads it",
			[]string{"baseline", "base.txt"}},
		{base.ExitFailure, "no such file", []string{"report", "missing"}},
		{base.ExitUsage, "-func: error parsing regexp", []string{"report", "-func", "("}},
		{base.ExitUsage, "-tree excludes -contexts, -func and -json", []string{"report", "-tree", "-json"}},
		{base.ExitUsage, "-hide: error parsing regexp", []string{"report", "-hide", "("}},
		{base.ExitUsage, "-by=lines: no such grouping (have function, package, file, line, goroutine, reason, type, " +
			"label:KEY, site, context)", []string{"report", "-by=lines"}},
		{base.ExitUsage, "-sort=below: no such order (have self, total)", []string{"report", "-sort=below"}},
		{base.ExitUsage, "-classes excludes -tree, -contexts, -func and -by", []string{"report", "-classes",
			"-by=line"}},
		{base.ExitUsage, "-app does nothing for a report by function", []string{"report", "-app=x"}},
		{base.ExitUsage, "-by=type: calls has no types", []string{"report", "-by=type", "-metric=calls", "stemma.out"}},
		{base.ExitUsage, "no alloc_space in this profile (have calls); build with -metrics=calls,alloc",
			[]string{"report", "-by=type", "stemma.out"}},
		{base.ExitUsage, "-by does nothing for report -func", []string{"report", "-by=line", "-func=x"}},
		{base.ExitUsage, "report: flag provided but not defined: -x", []string{"report", "-x"}},
		{base.ExitUsage, "seal: no live directory given; name one, or several that are added up; the one here: " +
			"stemma seal stemma.out/shapes.4242\n", []string{"seal"}},
		{base.ExitUsage, "; the one here: stemma baseline stemma.out/shapes.4242\n", []string{"baseline"}},
		{base.ExitUsage, "verify: -live: no live directory given", []string{"verify", "-live"}},
		{base.ExitUsage, `-format=dot: no such format`, []string{"export", "-format=dot", "stemma.out"}},
		{base.ExitUsage, `-format=dot: no such format`, []string{"export", "-format=dot", "nothing"}},
		{base.ExitFailure, "stemma: nothing: no such file or directory", []string{"report", "nothing"}},
		{base.ExitFailure, "stemma: nothing: no such file or directory", []string{"clean", "nothing"}},
	} {
		code, _, stderr := runMain(test.args...)
		if code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%v: exit code %d, stderr %q; want %d, %q", test.args, code, stderr, test.code, test.want)
		}
	}
	t.Chdir("empty")
	if code, _, stderr := runMain("report"); code != base.ExitUsage || !strings.Contains(stderr, "no profile given") {
		t.Errorf("nothing to report: exit code %d, stderr %q", code, stderr)
	}
	if _, _, stderr := runMain("seal"); !strings.HasSuffix(stderr, "several that are added up\n") {
		t.Errorf("nothing to seal: stderr %q", stderr)
	}
	for i, name := range []string{"a.1-000001", "my b.2-000002"} {
		dir := filepath.Join("stemma.out", name)
		recordtest.Shapes().WriteTo(t, dir)
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		for _, path := range append(files, dir) {
			made := time.Now().Add(time.Duration(i-2) * time.Hour)
			err = errors.Join(err, os.Chtimes(path, made, made))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, _, stderr := runMain("seal"); !strings.HasSuffix(stderr,
		"; the newest of 2 here: stemma seal \"stemma.out/my b.2-000002\"\n") {
		t.Errorf("two to seal: stderr %q", stderr)
	}
	// The newest records are one of context IDs, which has no counts, a pipe, and what is no record.
	d, _, _, _ := recordtest.Shop(t)
	d.WriteTo(t, filepath.Join("stemma.out", "ids.3-000003"))
	err := errors.Join(syscall.Mkfifo("pipe.stemma", 0o600), os.WriteFile("cut.stemma", []byte("stemma"), 0o666))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the newest of 2 here: stemma baseline \"stemma.out/my b.2-000002\"\n",
		"the newest of 3 here: stemma baseline sealed.stemma\n"} {
		if _, _, stderr := runMain("baseline"); !strings.HasSuffix(stderr, "; "+want) {
			t.Errorf("have %q, want %q", stderr, want)
		}
		if code, _, stderr := runMain("seal", "-o", "sealed.stemma", "stemma.out/a.1-000001"); code != base.ExitOK {
			t.Fatal(stderr)
		}
	}
}

// TestExportWarnings exports a record with losses, in a format with and one without room for a warning, to a file and
// to standard output: what is missing is said on standard error.
func TestExportWarnings(t *testing.T) {
	d := recordtest.Shapes()
	d.Header(func(h *layout.Header) { h.Lost[layout.LostPages] = 1234 })
	dir := filepath.Join(t.TempDir(), "live")
	d.WriteTo(t, dir)
	const want = "stemma: warning: 1,234 pages could not be written to the disk; their counts are missing\n"
	for _, args := range [][]string{
		{"-format=folded"}, {"-format=pprof", "-o", filepath.Join(t.TempDir(), "out")},
	} {
		code, stdout, stderr := runMain(append(append([]string{"export"}, args...), dir)...)
		if code != base.ExitOK || strings.Count(stderr, want) != 1 || strings.Contains(stdout, "warning") {
			t.Errorf("export %q: exit code %d, standard error %q, want %q", args, code, stderr, want)
		}
	}
}

func TestReportWarnings(t *testing.T) {
	d := recordtest.Shapes()
	d.Header(func(h *layout.Header) { h.Lost[layout.LostPages] = 1234 })
	d.Header(func(h *layout.Header) { h.Shards = 3 })
	dir := filepath.Join(t.TempDir(), "live")
	d.WriteTo(t, dir)
	_, stdout, _ := runMain("report", dir)
	for _, want := range []string{"warning: 1,234 pages could not be written", "warning: pid 4242: shard.2: missing"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("have\n%s\nwant %q", stdout, want)
		}
	}
	var out struct {
		Processes []struct{ Lost map[string]uint64 }
	}
	_, stdout, _ = runMain("report", "-json", dir)
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || out.Processes[0].Lost["pages"] != 1234 {
		t.Errorf("have losses %+v, error %v", out, err)
	}
}

// TestReportWithout adds up a record with allocations and two without.
func TestReportWithout(t *testing.T) {
	out := t.TempDir()
	for i := range 3 {
		d := recordtest.Shapes()
		d.Header(func(h *layout.Header) { h.Run = uint64(i + 1) })
		if i == 0 {
			d.Node(recordtest.Root, layout.RootMain, d.Alloc("main.T"))
		}
		d.WriteTo(t, filepath.Join(out, fmt.Sprintf("shapes.%d-0a1b2c", i)))
	}
	const want = "\nwarning: 2 records have no alloc_objects, alloc_space, so that sums of that are too low\n"
	if _, stdout, stderr := runMain("report", out); !strings.Contains(stdout, want) {
		t.Errorf("have\n%s%s\nwant %q", stdout, stderr, want)
	}
}

// A report says how many of the calls are in no context of their own, and what to do: the same share in the warning as
// beside [overflow], also where one counter stands for several calls.
func TestReportOverflow(t *testing.T) {
	d := recordtest.New(1, "prog")
	f := d.Func(recordtest.Func{Name: "main.f", Files: []string{"main.go"},
		Inlined: []recordtest.Inlined{{Callee: "main.in", Line: 2, Counter: 2}},
		Sites:   []recordtest.Site{{Kind: layout.SiteNative, In: 1, Line: 3, Callee: "runtime.newobject", Counter: 2}}})
	n := d.Node(recordtest.Root, layout.RootMain, f)
	d.Count(0, n, 0, 300)
	d.Count(0, n, 1, 50)
	d.Count(0, d.Node(recordtest.Overflow, 0, f), 0, 100)
	d.Header(func(h *layout.Header) { h.Lost[layout.LostNodes] = 7 })
	dir := filepath.Join(t.TempDir(), "live")
	d.WriteTo(t, dir)
	_, stdout, _ := runMain("report", dir)
	for _, want := range []string{
		"500 calls · 3 contexts · 3 functions · 100 calls truncated\n",
		"warning: 7 times a new context had no room; their calls are counted by function, under [overflow]: 20.00% " +
			"of all calls; build with a larger -nodes=N if the disk has room\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("have\n%s\nwant %q", stdout, want)
		}
	}
}

func TestExportFile(t *testing.T) {
	inTemp(t)
	if code, _, stderr := runMain("export", "-format", "folded", "-o", "out.folded", "-min=10"); code != base.ExitOK {
		t.Fatal(stderr)
	}
	have, err := os.ReadFile("out.folded")
	if err != nil || !strings.Contains(string(have), "[main];main.main;main.area;main.square 20\n") ||
		!strings.Contains(string(have), "[main];main.main;main.area;[trimmed] 4\n") {
		t.Errorf("have %q, error %v", have, err)
	}
}
