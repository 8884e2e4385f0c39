package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stemma-go/stemma/internal/command/diff"
	"github.com/stemma-go/stemma/profile"
)

// sealText seals the text of a profile after some replacements, as name in the working directory.
func sealText(t *testing.T, text, name string, changes ...string) {
	t.Helper()
	p, err := profile.ParseText(strings.NewReader(strings.NewReplacer(changes...).Replace(text)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// inDiff changes to a directory with base.stemma, new.stemma, in which main.area has one call more,
// other.stemma of another program and other values in samples.stemma; in lucky.stemma 54 calls are by chance.
func inDiff(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("../../profile/testdata/shapes.txt")
	if err != nil {
		t.Fatal(err)
	}
	samples, err := os.ReadFile("../../profile/testdata/values.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	sealText(t, string(text), "base.stemma", "/src", wd)
	sealText(t, string(text), "new.stemma", "/src", wd, "calls 10,20", "calls 11,20", "0123456789abcdef",
		"00000000000000b2")
	sealText(t, string(text), "other.stemma", "/tmp/shapes", "/tmp/circles", "main.", "example.com/x.", "main.main",
		"main.main")
	sealText(t, string(samples), "samples.stemma", "/tmp/prog", "shapes", `"prog"`, `"shapes"`)
	sealText(t, string(text), "lucky.stemma", "/src", wd, "main.area", "internal/sync.(*Mutex).lockSlow")
	sealText(t, string(text), "old.stemma", "/src", wd, "go1.26.8", "go1.26.7")
}

// fleetOf has commands find a stemma-fleet that is a script, and nothing else.
func fleetOf(t *testing.T, script string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "stemma-fleet"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
}

// TestDiffAccounts compares what two accounts of one Pyroscope have: without credentials their URLs are the same.
func TestDiffAccounts(t *testing.T) {
	inDiff(t)
	fleetOf(t, `case "$2" in *one:*) echo base.stemma;; *) echo new.stemma;; esac`)
	const one, two = "pyroscope://one:secret@h:1?service=a", "pyroscope://two:secret@h:1?service=a"
	for _, args := range [][]string{{one, two}, {"-store=s3://b", one}} { // in the store is what two has
		out, errs, code := mainOf(t, "", append([]string{"diff"}, args...)...)
		if code != 0 || !strings.Contains(out, "main.area") || strings.Contains(out+errs, "secret") {
			t.Errorf("%q: exit code %d, want that main.area has one call more:\n%s%s", args, code, out, errs)
		}
	}
}

// TestBaselineOfStore reads the records in a store, and diff says of how many its baseline is.
func TestBaselineOfStore(t *testing.T) {
	losses, err := filepath.Abs("../../profile/testdata/losses.txt")
	if err != nil {
		t.Fatal(err)
	}
	inDiff(t)
	text, err := os.ReadFile(losses)
	if err != nil {
		t.Fatal(err)
	}
	sealText(t, string(text), "lossy.stemma")
	fleetOf(t, `case "$*" in *lossy*) echo lossy.stemma;; *) echo base.stemma; echo other.stemma;; esac`)
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"baseline -o stored.txt -store=s3://b -since=24h", 0, ""},
		{"diff -force stored.txt base.stemma", 0, "2 records on one side and 1 record on the other: sums are compared"},
		{"baseline -o two.txt base.stemma other.stemma", 0, ""},
		{"diff two.txt stored.txt", 0, "the same in each function"},
		{"info -store=s3://b", 0, "other.stemma"},
		{"baseline -store=s3://b -service=lossy", 1, "s3://b of lossy is not complete"},
		{"baseline -store=s3://b base.stemma", 2, `have "base.stemma" and -store`},
		{"baseline -since=24h base.stemma", 2, "give it with -store"},
	} {
		out, errs, code := mainOf(t, "", strings.Fields(test.args)...)
		if code != test.code || !strings.Contains(out+errs, test.want) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s%s", test.args, code, test.code, test.want, out, errs)
		}
	}
	stored, _ := os.ReadFile("stored.txt")
	if two, _ := os.ReadFile("two.txt"); !bytes.Equal(stored, two) || !bytes.Contains(two, []byte("\nrecords 2\n")) {
		t.Errorf("of the store:\n%s\nof the same files:\n%s", stored, two)
	}
	bad := bytes.Replace(stored, []byte("records 2"), []byte("records -2"), 1)
	if err := os.WriteFile("bad.txt", bad, 0o666); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := mainOf(t, "", "diff", "bad.txt", "base.stemma"); code != 1 || !strings.Contains(errs, `records "-2"`) {
		t.Errorf("exit code %d:\n%s%s", code, out, errs)
	}
}

func TestDiff(t *testing.T) {
	inDiff(t)
	if out, errs, code := mainOf(t, "", "baseline", "-o", "baseline.txt", "base.stemma"); code != 0 || out != "" {
		t.Fatalf("baseline: exit code %d, %s%s", code, out, errs)
	}
	if err := os.WriteFile("bad.txt", []byte("stemma baseline 2\n<<<<<<<\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args string
		code int
		out  string // a regular expression, of both streams
	}{
		{"base.stemma new.stemma", 0,
			`(?s)calls: 67 → 68 \(\+1\.49%\), 1 function differs.* 10 +11 +\+1 +\+10\.00%  main\.area\n`},
		{"-by context base.stemma new.stemma", 0, `\+1 +\+10\.00%  main\.area ← main\.main ← \[main\]\n`},
		{"-by line base.stemma new.stemma", 0, `\+1 +\+10\.00%  main\.main → main\.area main\.go:12\n`},
		{"base.stemma base.stemma", 0, `the same in each function\n$`},
		{"lucky.stemma lucky.stemma", 0, `the same in each function\n\ncalls by chance, not compared: 54 on both sides`},
		{"-chance lucky.stemma lucky.stemma", 0, `the same in each function\n$`},
		{"-fail-over calls>5% -warn-over calls>1% base.stemma new.stemma", 0,
			`stemma: warning: calls of all functions: 67 → 68 \(\+1\.49%\), limit calls>1%`},
		{"-fail-over calls>1%,calls/function>0 base.stemma new.stemma", 3,
			`stemma: diff: calls of all functions: 67 → 68 .*; calls of main\.area: 10 → 11 \(\+10\.00%\), limit calls/function>0\n`},
		{"-fail-over calls/function>0 new.stemma base.stemma", 0, `kept`},
		{"-fail-over calls>0 -ignore main.area base.stemma new.stemma", 0, `kept`},
		{"-fail-over calls>0 baseline.txt base.stemma", 0, `kept`},
		{"-fail-over calls/function>0 baseline.txt new.stemma", 3, `calls of main\.area: 10 → 11`},
		{"-fail-over calls>0 -annotate base.stemma new.stemma", 3,
			`::error file=shapes/main\.go,line=12,title=stemma diff::calls of all functions: 67 → 68 \(\+1\.49%25\), limit calls>0\n`},
		{"-markdown -warn-over calls>0 base.stemma new.stemma", 0, `### stemma diff: ⚠️ a limit that warns is exceeded`},
		{"-markdown -fail-over calls/function>0 base.stemma new.stemma", 3,
			"(?s)❌ a limit is exceeded.*\\| 10 \\| 11 \\| \\+1 \\| \\+10\\.00% \\| `` main\\.area `` \\|\n"},
		{"-format=benchmark base.stemma new.stemma", 0,
			`(?s)^Unit calls better=lower assume=exact\n\nside: base\n\nBenchmarkTotal 1 67 calls\n.*BenchmarkFunction/main\.area 1 10 calls\n.*side: new\n.*BenchmarkFunction/main\.area 1 11 calls\n`},
		{"base.stemma,other.stemma -force new.stemma", 0, `sums are compared`},
		{"base.stemma other.stemma", 1,
			`which have no function of their own in common; name two records of one program, or compare anyway with -force\n`},
		{"-fail-over cpu>0 base.stemma samples.stemma -force", 1,
			`limit "cpu>0": base\.stemma has no cpu, but calls; record it on both sides`},
		{"-metric cpu base.stemma new.stemma", 1, `-metric: base\.stemma has no cpu`},
		{"baseline.txt base.stemma", 0, `(?s)base record baseline\.txt · baseline, written (just now|\d+ \w+ ago)\n.*sealed (just now|\d+ \w+ ago)`},
		{"base.stemma pipe", 2, `pipe is a pipe, which can be read once only`},
		{"baseline.txt old.stemma", 1,
			`baseline\.txt is of go1\.26\.8, old\.stemma of go1\.26\.7: .*make the baseline again`},
		{"-force baseline.txt old.stemma", 0, `note: baseline\.txt is of go1\.26\.8`},
		{"-by context baseline.txt new.stemma", 1, `make it with 'stemma baseline -contexts'`},
		{"-gate base.stemma new.stemma", 0, `limit calls/cost>1%\+10 +kept`},
		{"-fail-over calls/cost>0 base.stemma new.stemma", 3,
			`stemma: diff: calls of main\.main → main\.area: \d+ → \d+ \(.*\), limit calls/cost>0\n`},
		{"-gate baseline.txt new.stemma", 1, `limit "calls/cost>1%\+10": .*make it with 'stemma baseline -contexts'`},
		{"-chance baseline.txt new.stemma", 1, `a baseline, which has nothing of what Go does by chance`},
		{"-fail-over calls@runtime.typeAssert>0 base.stemma new.stemma", 1, `by chance \(.*\), and not compared; use -chance`},
		{"bad.txt new.stemma", 1, `bad\.txt: line 2: `},
		{"missing.txt new.stemma", 1, `missing\.txt`},
		{"base.stemma", 2, `want two records`},
		{"-fail-over calls base.stemma new.stemma", 2, `-fail-over: limit "calls": no >`},
		{"-warn-over calls>x base.stemma new.stemma", 2, `"x" is no amount`},
		{"-by file base.stemma new.stemma", 2, `unknown scope`},
		{"-format xml base.stemma new.stemma", 2, `no format "xml"`},
		{"-json -markdown base.stemma new.stemma", 2, `exclude each other`},
		{"-annotate base.stemma new.stemma", 2, `does nothing without`},
		{"-fail-over calls@x.*>0 base.stemma new.stemma", 1, `guards nothing`},
	} {
		out, errs, code := mainOf(t, "", append([]string{"diff"}, strings.Fields(test.args)...)...)
		if code != test.code || !regexp.MustCompile(test.out).MatchString(out+errs) {
			t.Errorf("diff %s: exit code %d, want %d; want %s in\n%s%s", test.args, code, test.code, test.out, out,
				errs)
		}
	}
}

func TestDiffJSON(t *testing.T) {
	inDiff(t)
	out, errs, code := mainOf(t, "", "diff", "-json", "-fail-over", "calls/function>0", "base.stemma", "new.stemma")
	var have diff.JsonDiff
	if err := json.Unmarshal([]byte(out), &have); err != nil || code != 3 {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, errs)
	}
	if len(have.Values) != 1 || len(have.Values[0].Rows) != 1 || len(have.Limits) != 1 ||
		len(have.Limits[0].Over) != 1 {
		t.Fatalf("have %s", out)
	}
	want := diff.JsonRow{Name: "main.area", Change: "changed", Base: 10, New: 11, Line: 20}
	row := have.Limits[0].Over[0]
	if filepath.Base(row.File) != "main.go" {
		t.Errorf("file %s", row.File)
	}
	if row.File = ""; row.Name != want.Name || row.Change != want.Change || row.Base != want.Base ||
		row.New != want.New || row.Line != want.Line {
		t.Errorf("have %+v, want %+v", row, want)
	}
}
