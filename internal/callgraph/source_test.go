package callgraph

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/packages"
)

// load analyzes the package in testdata/calls.
func load(t *testing.T, names Names) (s *Source, file string) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("testdata", "calls"))
	if err != nil {
		t.Fatal(err)
	}
	pkgs, err := packages.Load(&packages.Config{Dir: dir}, ".")
	if err != nil {
		t.Fatal(err)
	}
	if s, err = Analyze(pkgs, names); err != nil {
		t.Fatal(err)
	}
	return s, filepath.Join(dir, "calls.go")
}

// An expectation is what a comment in the source says about a line.
type expectation struct{ is, calls, deferred, weight string }

// expectations reads the comments of a file.
func expectations(t *testing.T, file string) (list []expectation) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		_, comment, _ := strings.Cut(sc.Text(), "\t//")
		if _, c, ok := strings.Cut(sc.Text(), " // "); ok {
			comment = c
		}
		var e expectation
		for part := range strings.SplitSeq(comment, ";") {
			switch word, rest, _ := strings.Cut(strings.TrimSpace(part), " "); word {
			case "is":
				e.is, _, _ = strings.Cut(rest, ":")
			case "calls":
				e.calls = rest
			case "deferred":
				e.deferred = rest
			case "weight":
				e.weight = rest
			}
		}
		list = append(list, e)
	}
	return list
}

// names returns the functions at places, sorted.
func names(list []expectation, places map[Place]bool) string {
	var found []string
	for p := range places {
		name := list[p.Line-1].is
		if name == "" {
			name = fmt.Sprintf("line %d", p.Line)
		}
		found = append(found, name)
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

// sorted sorts words. "-" stands for none.
func sorted(words string) string {
	list := strings.Fields(strings.TrimPrefix(words, "-"))
	slices.Sort(list)
	return strings.Join(list, " ")
}

func TestAnalyze(t *testing.T) {
	s, file := load(t, Names{})
	list := expectations(t, file)
	calls := 0
	for i, e := range list {
		at := Place{file, i + 1}
		if e.calls != "" {
			calls++
			if have, want := names(list, s.calls[at]), sorted(e.calls); have != want {
				t.Errorf("line %d calls %q, want %q", i+1, have, want)
			}
		}
		if have, want := names(list, s.deferred[at]), sorted(e.deferred); have != want {
			t.Errorf("line %d defers %q, want %q", i+1, have, want)
		}
		if have := fmt.Sprint(s.weight(at)); e.weight != "" && have != e.weight {
			t.Errorf("line %d has weight %s, want %s", i+1, have, e.weight)
		}
	}
	if calls < 15 {
		t.Errorf("%d lines with calls; the file is not read as it should be", calls)
	}
}

// A call that begins on another line than its parenthesis is known by both.
func TestAnalyzeChain(t *testing.T) {
	s, file := load(t, Names{})
	list := expectations(t, file)
	for i, e := range list {
		if e.is == "split" {
			if have := names(list, s.calls[Place{file, i}]); have != e.calls {
				t.Errorf("the line before %d calls %q", i+1, have)
			}
			return
		}
	}
	t.Error("no such call")
}

func TestAnalyzeNames(t *testing.T) {
	find := func(s *Source, file string) bool {
		for p := range s.calls {
			if p.File == file {
				return true
			}
		}
		return false
	}
	if s, _ := load(t, Names{Trimmed: true}); !find(s, "calls/calls.go") {
		t.Error("-trimpath: no call in calls/calls.go")
	}
	_, file := load(t, Names{})
	if s, _ := load(t, Names{From: filepath.Dir(file), To: "/elsewhere"}); !find(s, "/elsewhere/calls.go") {
		t.Error("moved: no call in /elsewhere/calls.go")
	}
}

// TestAnalyzeCover analyzes what the go command makes of a program to measure what is covered: it imports more than the
// go command lists.
func TestAnalyzeCover(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module covered\n",
		"main.go":    "package main\n\nimport \"covered/lib\"\n\nfunc main() { lib.F() }\n",
		"lib/lib.go": "package lib\n\nfunc F() { println() }\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []string{"set", "atomic"} {
		flags := []string{"-cover", "-covermode=" + mode}
		pkgs, err := packages.Load(&packages.Config{Dir: dir, Flags: flags}, ".")
		if err == nil {
			_, err = Analyze(pkgs, Names{})
		}
		if err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

func TestAnalyzeError(t *testing.T) {
	pkgs, err := packages.Load(new(packages.Config), "./nothing")
	if err == nil {
		_, err = Analyze(pkgs, Names{})
	}
	if err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("have error %v, want one about the package", err)
	}
}
