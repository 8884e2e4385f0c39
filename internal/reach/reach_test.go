package reach

import (
	"fmt"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/profile"
)

// record has the tests TestA, which starts a goroutine that calls m.inGoroutine and calls a closure by sync.Once, and
// TestB, which runs subtests by way of m.table; recursion is folded, so that the closure m.table.func1 hangs beside
// the tests. Both call m.both. The node of m.never has counted nothing.
const record = `stemma profile 2
record 0 run 00000000000000a1
process 0 args "m.test" run 00000000000000a1 pid 7 go "go1.26.8" engine "cct"
func 0 kind root name "root" cells 10 counters 1
func 1 name "main.main" file "main.go" line 3 cells 1 counters 1
	site 0 kind call callee "testing.tRunner" file "main.go" line 4 cell 0
func 2 name "testing.tRunner" file "testing.go" line 1 cells 1 counters 1
	site 0 kind call file "testing.go" line 2 cell 0
func 3 name "x.y/m.TestA" file "m_test.go" line 3 cells 3 counters 2
	inlined 0 callee "x.y/m.inlined" file "m_test.go" line 4 counter 1 beginsFile "m.go" beginsLine 1
	site 0 kind go callee "x.y/m.inGoroutine" file "m_test.go" line 5 cell 0
	site 1 kind call callee "x.y/m.both" file "m_test.go" line 6 cell 1
	site 2 kind call callee "sync.(*Once).doSlow" file "m_test.go" line 7 cell 2
func 4 name "x.y/m_test.TestB" file "m_test.go" line 13 cells 2 counters 1
	site 0 kind call callee "x.y/m.both" file "m_test.go" line 14 cell 0
	site 1 kind call callee "x.y/m.table" file "m_test.go" line 15 cell 1
func 5 name "x.y/m.inGoroutine" file "m.go" line 10 counters 1
func 6 name "x.y/m.both" file "m.go" line 20 counters 1
func 7 name "x.y/m.table" file "m.go" line 30 cells 1 counters 1
	site 0 kind go callee "testing.tRunner" file "m.go" line 31 cell 0
func 8 name "x.y/m.table.func1" file "m.go" line 33 cells 1 counters 1
	site 0 kind call callee "x.y/m.inTable" file "m.go" line 34 cell 0
func 9 name "x.y/m.inTable" file "m.go" line 40 counters 1
func 10 name "sync.(*Once).doSlow" file "once.go" line 1 cells 1 counters 1
	site 0 kind call file "once.go" line 2 cell 0
func 11 name "x.y/m.TestA.func2" file "m_test.go" line 7 counters 1
func 12 name "x.y/m.never" file "m.go" line 50 counters 1
value 0 name "calls" unit "count" about "the calls" flags perCounter
node 0 calls 0
node 1 func 1 parent 0 calls 1
node 2 func 2 parent 1 calls 1
node 3 func 3 parent 2 calls 1,1
node 4 func 5 parent 3 calls 1
node 5 func 6 parent 3 cell 1 calls 1
node 6 func 4 parent 2 calls 1
node 7 func 6 parent 6 calls 1
node 8 func 7 parent 6 cell 1 calls 1
node 9 func 2 parent 8 calls 2
node 10 func 8 parent 2 calls 2
node 11 func 9 parent 10 calls 2
node 12 func 10 parent 3 cell 2 calls 1
node 13 func 11 parent 12 calls 1
node 14 func 12 parent 3 cell 1 calls 0
`

func TestOf(t *testing.T) {
	p, err := profile.ParseText(strings.NewReader(record))
	if err != nil {
		t.Fatal(err)
	}
	suites := Union(Of(p), Of(p))
	if len(suites) != 1 || suites[0].Package != "x.y/m" || len(suites[0].Tests) != 2 {
		t.Fatalf("have %+v, want one suite with two tests", suites)
	}
	s := suites[0]
	want := map[string]string{
		"TestA":  "[x.y/m.TestA x.y/m.both x.y/m.inGoroutine x.y/m.inlined]",
		"TestB":  "[x.y/m.both x.y/m.inTable x.y/m.table x.y/m.table.func1 x.y/m_test.TestB]",
		"shared": "[main.main sync.(*Once).doSlow testing.tRunner x.y/m.TestA.func2]",
	}
	for _, test := range s.Tests {
		if have := fmt.Sprint(test.Functions); have != want[test.Name] {
			t.Errorf("%s: have %s, want %s", test.Name, have, want[test.Name])
		}
	}
	if have := fmt.Sprint(s.Shared); have != want["shared"] {
		t.Errorf("shared: have %s, want %s", have, want["shared"])
	}
	if subs := s.Tests[1].Subtests; len(subs) != 1 || subs[0].Function != "x.y/m.table.func1" {
		t.Errorf("subtests of TestB: %+v, want m.table.func1", subs)
	}
}

// TestSelect changes functions and other things of two packages, one of which depends on the other.
func TestSelect(t *testing.T) {
	p, err := profile.ParseText(strings.NewReader(record))
	if err != nil {
		t.Fatal(err)
	}
	packages := []*Package{
		{ImportPath: "x.y/m", Dir: "/r/m", GoFiles: []string{"m.go"}, TestGoFiles: []string{"m_test.go"}},
		{ImportPath: "x.y/n", Dir: "/r/n", GoFiles: []string{"n.go"}, TestGoFiles: []string{"n_test.go"},
			Deps: []string{"x.y/m"}},
		{ImportPath: "x.y/o", Dir: "/r/o", GoFiles: []string{"o.go"}, XTestGoFiles: []string{"o_test.go"}},
	}
	of := Test{Name: "TestN", Functions: []string{"x.y/m.(*T[...]).M.func1"}}
	suites := append(Of(p), Suite{Package: "x.y/n", Tests: []Test{of}})
	for _, c := range []struct {
		change Change
		want   string
	}{
		{Change{File: "m/m.go", dir: "/r/m", Function: "inlined"}, "m: TestA"},
		{Change{File: "m/m.go", dir: "/r/m", Function: "inTable"}, "m: TestB"},
		{Change{File: "m/m.go", dir: "/r/m", Function: "table"}, "m: TestB"},
		{Change{File: "m/m.go", dir: "/r/m", Function: "tab"}, ""},
		{Change{File: "m/m.go", dir: "/r/m", Function: "never"}, ""},
		{Change{File: "m/m.go", dir: "/r/m", Function: "(*T).M"}, "n: TestN"},
		// Once has called a closure of it.
		{Change{File: "m/m_test.go", dir: "/r/m", Function: "TestA", test: true}, "m: TestA TestB"},
		{Change{File: "m/m.go", dir: "/r/m", What: "var"}, "m: all; n: all"},
		{Change{File: "m/m_test.go", dir: "/r/m", What: "var", test: true}, "m: all"},
		{Change{File: "m/testdata/a", dir: "/r/m/testdata", What: "file"}, "m: all; n: all"},
		{Change{File: "o/o.go", dir: "/r/o", Function: "f"}, "o: all"}, // not recorded
		{Change{File: "go.mod", dir: "/r", What: "file"}, "m: all; n: all; o: all"},
		{Change{File: "README", dir: "/r", What: "file"}, "unknown README"},
		{Change{File: "m/m_plan9.go", dir: "/r/q", Function: "f"}, ""},
	} {
		affected, unknown := Select(packages, suites, []Change{c.change})
		var have []string
		for _, a := range affected {
			what := strings.Join(a.Tests, " ")
			if a.All {
				what = "all"
			}
			have = append(have, strings.TrimPrefix(a.Package, "x.y/")+": "+what)
		}
		for _, file := range unknown {
			have = append(have, "unknown "+file)
		}
		if have := strings.Join(have, "; "); have != c.want {
			t.Errorf("%+v: have %q, want %q", c.change, have, c.want)
		}
	}
}

func TestParseHunk(t *testing.T) {
	for text, want := range map[string]string{
		"@@ -3 +4 @@ func f() {": "{{3 4} {4 5}}",
		"@@ -3,2 +4,0 @@":        "{{3 5} {4 4}}",
	} {
		if h, err := parseHunk(text); err != nil || fmt.Sprint(h) != want {
			t.Errorf("%s: have %v, %v, want %s", text, h, err, want)
		}
	}
	for _, text := range []string{"@@ -3 @@", "@@ -x +y @@", "@@ -1,z +1 @@"} {
		if _, err := parseHunk(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

// TestTouch asks for the declarations that lines lie in.
func TestTouch(t *testing.T) {
	const text = `package m

//go:build linux
import "fmt"

// F is documented.
func F() {
	fmt.Println()
}

func (t *T[K]) M() {}

type T[K any] struct {
	a K
}
`
	s := &source{fset: token.NewFileSet()}
	var err error
	if s.file, err = parser.ParseFile(s.fset, "m.go", text, parser.ParseComments); err != nil {
		t.Fatal(err)
	}
	for line, want := range []string{"", " package", "", " directive", " import", "", "", "F", "F", "F", "",
		"(*T).M", "", " type", " type", " type"} {
		touched := make(map[string]bool)
		if s.touch(lines{line, line + 1}, touched); strings.Join(sortedKeys(touched), ",") != want {
			t.Errorf("line %d: have %v, want %q", line, touched, want)
		}
	}
	s.touch(lines{8, 8}, nil) // no lines, of which it takes note nowhere
}

func TestTestNames(t *testing.T) {
	names := []string{"Test", "TestX", "Test1", "BenchmarkX", "FuzzÄ", "Example", "Example_x", "Testing", "TestMain",
		"test", "TestX.func1"}
	names = slices.DeleteFunc(names, func(n string) bool { return !IsTestName(n) })
	if have := strings.Join(names, " "); have != "Test TestX Test1 BenchmarkX FuzzÄ Example Example_x" {
		t.Error(have)
	}
}

// TestPaths takes paths whose last part has a dot, which symbols escape.
func TestPaths(t *testing.T) {
	for path, symbol := range map[string]string{
		"gopkg.in/yaml.v3": "gopkg.in/yaml%2ev3", "x.y/m": "x.y/m", "x.y/m.v2/sub": "x.y/m.v2/sub", "m": "m",
		"x.y/50%": "x.y/50%25",
	} {
		if have := symbolPath(path); have != symbol || importPath(have) != path {
			t.Errorf("%s: have %s and %s, want %s", path, have, importPath(have), symbol)
		}
	}
	if pkg, name := split("gopkg.in/yaml%2ev3_test.Test"); pkg != "gopkg.in/yaml.v3" || name != "Test" {
		t.Errorf("have %s and %s", pkg, name)
	}
}
