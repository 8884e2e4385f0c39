package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestVarying: a line that one run lacks, or that has another number in one, varies.
func TestVarying(t *testing.T) {
	lines := make(map[string][]string)
	for _, run := range []string{
		"Unit calls/op assume=exact\nBenchmarkA-2 \t 100\t 3 calls/op\nBenchmarkB-2\t100\t4 calls/op\n" +
			"BenchmarkC 1 1 a\nok p",
		"BenchmarkA-2 \t 200\t 3 calls/op\nBenchmarkB-2\t100\t5 calls/op\n" +
			"pkg: a.b/c\nBenchmarkA-2 1 4 calls/op\npkg: a.b/d\nBenchmarkA-2 1 5 calls/op\n",
	} {
		collect(run, lines)
	}
	want := []string{"BenchmarkB-2", "BenchmarkC", "c.BenchmarkA-2", "d.BenchmarkA-2"}
	if have := varying(lines, 2); !slices.Equal(have, want) {
		t.Errorf("have %q, want %q of %q", have, want, lines)
	}
}

// TestBenchstat gives benchstat what stemma test -bench has printed, and the same with one call more. It takes the line
// Unit and has no interval: equal is 0.00%, and a call more is a call more, however few lines there are.
func TestBenchstat(t *testing.T) {
	base, err := os.ReadFile("../../internal/diff/testdata/benchmarks.txt")
	if err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(t.TempDir(), "first")
	write(t, first, string(base))
	second := filepath.Join(t.TempDir(), "second")
	write(t, second, strings.ReplaceAll(string(base), " 3 calls/op", " 4 calls/op"))
	for _, c := range []struct{ file, want string }{
		{first, `Three-2,3,0%,3,0%,0.00%,n=3`},
		{second, `Three-2,3,0%,4,0%,\+33.33%,n=3`},
		{second, `Once-2,1.14,0%,1.14,0%,0.00%,n=3`},
		{second, `Sizes/size=1/kind=a,b-2"?,1.12,0%,1.12,0%,0.00%,n=3`},
	} {
		have, err := exec.Command("go", "tool", "benchstat", "-format", "csv", first, c.file).Output()
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(c.want).Match(have) {
			t.Errorf("no %s in\n%s", c.want, have)
		}
		grown := map[string]string{second: "Three"}[c.file]
		if lines, wrong := judge(string(have), grown); wrong != nil || len(lines) != 3 {
			t.Errorf("%v, and want 3 of the lines %q", wrong, lines)
		}
	}
}

// TestBenchstatShows reads the table as it is shown. benchstat writes "~" if chance may explain a difference: an exact
// unit leaves nothing to chance, so "~" is never there, whether runs of one text differ or not. Equal is 0.00%, and
// what was 0 before has grown by "?".
func TestBenchstatShows(t *testing.T) {
	const base = "Unit calls/op assume=exact\nUnit allocs/op assume=exact\n" +
		"BenchmarkEqual 9 7 calls/op 0 allocs/op\nBenchmarkMore 9 7 calls/op 0 allocs/op\n" +
		"BenchmarkVaries 9 7 calls/op 0 allocs/op\nBenchmarkVaries 9 8 calls/op 0 allocs/op\n"
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	write(t, first, base)
	write(t, second, strings.Replace(base, "More 9 7 calls/op 0 ", "More 9 8 calls/op 3 ", 1))
	have, err := exec.Command("go", "tool", "benchstat", first, second).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`Equal +7\.000 ± +0% +7\.000 ± +0% +0\.00% \(n=1\)`, `Equal +0\.000 ± +0% +0\.000 ± +0% +0\.00% \(n=1\)`,
		`More +7\.000 ± +0% +8\.000 ± +0% +\+14\.29% \(n=1\)`, `More +0\.000 ± +0% +3\.000 ± +0% +\? \(n=1\)`,
		`Varies .* 0\.00% \(n=2\)`, `exact distribution expected, but values range from 7 to 8`,
	} {
		if !regexp.MustCompile(want).Match(have) {
			t.Errorf("no %s in\n%s", want, have)
		}
	}
	if strings.Contains(string(have), "~") {
		t.Errorf("something is ~ in\n%s", have)
	}
}

// TestJudge reads what benchstat prints of a call more, and of none.
func TestJudge(t *testing.T) {
	const text = "goos: linux\n,a,,b\n,calls/op,CI,calls/op,CI,vs base,P\nNew-2,12,0%,13,0%,+8.33%,n=5\n" +
		"Old-2,7,0%,7,0%,0.00%,n=5\ngeomean,9,,9.5,,+4%\n\n,a,,b\n,ops/op,CI,ops/op,CI,vs base,P\n" +
		"New-2,30,0%,99,0%,+9%,n=5\n"
	for _, tt := range []struct {
		text, grown string
		right       bool
	}{
		{text, "New", true},
		{text, "", false},
		{text, "Old", false},
		{strings.Replace(text, ",13,", ",14,", 1), "New", false},
		{strings.Replace(text, ",13,0%", ",13,1%", 1), "New", false},
		{"", "New", false},
	} {
		lines, wrong := judge(tt.text, tt.grown)
		if (wrong == nil) != tt.right || tt.text != "" && len(lines) != 2 {
			t.Errorf("%q grown in %q: have %v, %q", tt.grown, tt.text, wrong, lines)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestParts finds the calls with which two runs part, and not those that follow from them.
func TestParts(t *testing.T) {
	const get = "\np.BenchmarkA\nfmt.Sprint\nsync.(*Pool).Get"
	first := map[string]uint64{"\np.BenchmarkA": 1, "\np.BenchmarkA\nfmt.Sprint": 100, get: 100,
		get + "\nfmt.newPrinter": 3, get + "\nfmt.newPrinter\nfmt.init": 3, "\np.BenchmarkA\np.f": 7}
	second := map[string]uint64{"\np.BenchmarkA": 1, "\np.BenchmarkA\nfmt.Sprint": 100, get: 100,
		"\np.BenchmarkA\np.f": 8}
	want := []string{"sync.(*Pool).Get → fmt.newPrinter (3 and 0 calls)", "p.BenchmarkA → p.f (7 and 8 calls)"}
	if have := parts(first, second); !slices.Equal(have, want) {
		t.Errorf("have %q, want %q", have, want)
	}
	if have := parts(first, first); have != nil {
		t.Errorf("of a run and itself: %q", have)
	}
}

func TestAlone(t *testing.T) {
	for name, want := range map[string]string{
		"BenchmarkA-2": "^BenchmarkA$", "v3.BenchmarkA/n=1/x.y-16": `^BenchmarkA$/^n=1$/^x\.y$`, "BenchmarkB": "^BenchmarkB$",
	} {
		if have := alone(name); have != want {
			t.Errorf("%s: have %s, want %s", name, have, want)
		}
	}
}

func TestIsBenchmark(t *testing.T) {
	for name, want := range map[string]bool{"a.b/c.BenchmarkX": true, "a.b/c.BenchmarkX.func1": false,
		"testing.(*B).runN": false, "testing.runBenchmarks": false} {
		if have := isBenchmark(name); have != want {
			t.Errorf("%s: %v", name, have)
		}
	}
}
