package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mentioned are tests as documents name them: `rt.TestRandom`, and with the command that runs
// them, `go test -run TestRepeat ./internal/e2e/sampling`.
var (
	mentioned = regexp.MustCompile("`([a-z][a-z0-9/]*)\\.((?:Test|Fuzz|Benchmark)[A-Za-z0-9]+)`")
	commanded = regexp.MustCompile("-run ((?:Test|Fuzz)[A-Za-z0-9]+) (\\./[a-z0-9/]*|\\.)`")
)

// TestDocuments looks for the tests that documents name, which stand for what they say.
func TestDocuments(t *testing.T) {
	tests := testFuncs(t)
	for _, file := range []string{"README.md", "ARCHITECTURE.md", "SAMPLING.md", "profile/FORMAT.md"} {
		text, err := os.ReadFile(filepath.Join("..", file))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		check := func(dir, name string) {
			found++
			for _, have := range tests[name] {
				if have == dir || strings.HasSuffix(have, "/"+dir) {
					return
				}
			}
			t.Errorf("%s names %s in %s; it is in %q", file, name, dir, tests[name])
		}
		for _, m := range mentioned.FindAllStringSubmatch(string(text), -1) {
			if m[1] == "stemma" {
				m[1] = "."
			}
			check(m[1], m[2])
		}
		for _, m := range commanded.FindAllStringSubmatch(string(text), -1) {
			check(filepath.Clean(m[2]), m[1])
		}
		if file == "ARCHITECTURE.md" && found < 20 {
			t.Errorf("%s: only %d tests found", file, found)
		}
	}
}

// testFuncs returns the directories in which there are tests of each name.
func testFuncs(t *testing.T) map[string][]string {
	list := make(map[string][]string)
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Za-z0-9]+)\(`)
	err := filepath.WalkDir("..", func(file string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel("..", filepath.Dir(file))
		for _, m := range declared.FindAllStringSubmatch(string(src), -1) {
			list[m[1]] = append(list[m[1]], filepath.ToSlash(dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
