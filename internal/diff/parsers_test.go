package diff_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Expressions by which others read lines of Go benchmarks.
var (
	// https://github.com/benchmark-action/github-action-benchmark, src/extract.ts, extractGoResult. What it calls the
	// remainder it splits at spaces into values and units.
	actionLine = regexp.MustCompile(
		`^(?P<name>Benchmark\w+[\w()$%^&*-=|,[\]{}"#]*?)(?P<procs>-\d+)?\s+(?P<times>\d+)\s+(?P<remainder>.+)$`)
	// https://github.com/CodSpeedHQ/codspeed-go, codspeed-cli/cli/parser.go, benchmarkPattern
	codspeedLine = regexp.MustCompile(`^([a-zA-Z0-9_]+)-(\d+)\s+\t\s*(\d+)\s+(\d+(?:\.\d+)?)\s+ns/op`)
)

// TestParsers reads what stemma test -bench has printed as github-action-benchmark and CodSpeed do. The first takes
// each unit; the second reads nothing but ns/op, and so no line.
func TestParsers(t *testing.T) {
	text, err := os.ReadFile("testdata/benchmarks.txt")
	if err != nil {
		t.Fatal(err)
	}
	names, units := make(map[string]int), make(map[string]int)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if codspeedLine.MatchString(line) {
			t.Errorf("CodSpeed takes %q for a time", line)
		}
		m := actionLine.FindStringSubmatch(line)
		if (m != nil) != strings.HasPrefix(line, "Benchmark") {
			t.Errorf("%q: have %q", line, m)
		}
		if m == nil {
			continue
		}
		names[m[1]]++
		pieces := regexp.MustCompile(`[ \t]+`).Split(m[4], -1)
		for i := 1; i < len(pieces); i += 2 {
			units[pieces[i]]++
		}
	}
	for _, name := range []string{"BenchmarkThree", "BenchmarkSizes/size=1/kind=a,b", "BenchmarkOnce"} {
		if names[name] != 3 {
			t.Errorf("%s: %d lines, want 3 of %v", name, names[name], names)
		}
	}
	have := readBenchmarks(t, string(text))
	if want := []string{"calls/op", "allocs/op", "B/op"}; !slices.Equal(have.Exact, want) {
		t.Errorf("exact units %v, want %v", have.Exact, want)
	}
	for _, unit := range have.Exact {
		if units[unit] != 9 {
			t.Errorf("%s: %d values, want 9", unit, units[unit])
		}
	}
	if plain := "BenchmarkFib-16 \t 1\t 1523 ns/op"; !codspeedLine.MatchString(plain) {
		t.Errorf("CodSpeed does not take %q", plain)
	}
}
