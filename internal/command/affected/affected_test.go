package affected

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/profile"
)

// shapes are the packages of a module: n uses m, p calls C, and the tests of r have assertions.
func shapes() *Module {
	m := &Module{Dir: "/r", Path: "x.y", others: []string{"/used"}}
	m.take([]*Package{
		{ImportPath: "x.y/m", Dir: "/r/m", GoFiles: []string{"m.go"}, TestGoFiles: []string{"m_test.go"},
			EmbedPatterns: []string{"page/*.html", "all:data"}},
		{ImportPath: "x.y/n", Dir: "/r/n", GoFiles: []string{"n.go"}, TestGoFiles: []string{"n_test.go"},
			Deps: []string{"x.y/m"}},
		{ImportPath: "x.y/o", Dir: "/r/o", GoFiles: []string{"o.go"}, XTestGoFiles: []string{"o_test.go"},
			Deps: []string{"v.z/vendored [x.y/o.test]"}},
		{ImportPath: "x.y/p", Dir: "/r/p", CgoFiles: []string{"p.go"}, CFiles: []string{"p.c"},
			TestGoFiles: []string{"p_test.go"}},
		{ImportPath: "x.y/q", Dir: "/r/q", GoFiles: []string{"q.go"}},
		{ImportPath: "x.y/r", Dir: "/r/r", TestGoFiles: []string{"r_test.go"}, Deps: []string{"x.y/gone"},
			TestImports: []string{"x.y/helper"}},
		{ImportPath: "x.y/s", Dir: "/r/s", GoFiles: []string{"s.go"}, TestGoFiles: []string{"s_test.go"}},
		{ImportPath: "x.y/helper", Dir: "/r/helper", GoFiles: []string{"h.go"},
			Deps: []string{"github.com/stemma-go/stemma/stemmatest"}},
		{ImportPath: "v.z/vendored", Dir: "/r/vendor/v.z/vendored", GoFiles: []string{"v.go"}, DepOnly: true},
	})
	return m
}

// TestSelect changes functions and other things.
func TestSelect(t *testing.T) {
	p, err := profile.ParseText(strings.NewReader(record))
	if err != nil {
		t.Fatal(err)
	}
	of := Test{Name: "TestN", Functions: []string{"x.y/m.(*T[...]).M.func1", "x.y/m.F"}}
	suites := append(Of(p), Suite{Package: "x.y/n", Tests: []Test{of}},
		Suite{Package: "x.y/s", Tests: []Test{{Name: "TestS"}, {Name: "TestSkipped", Partial: true}}},
		Suite{Package: "x.y/p", Incomplete: "not all was recorded", Tests: []Test{{Name: "TestP"}}})
	for _, c := range []struct {
		change Change
		want   string
	}{
		{Change{File: "m/m.go", Function: "inlined"}, "m: TestA"},
		{Change{File: "m/m.go", Function: "inTable"}, "m: TestB"},
		{Change{File: "m/m.go", Function: "table"}, "m: TestB"},
		{Change{File: "m/m.go", Function: "tab"}, "m: built"},
		{Change{File: "m/m.go", Function: "never"}, "m: built"},
		{Change{File: "s/s.go", Function: "f"}, "s: TestSkipped"},
		{Change{File: "m/m.go", Function: "(*T).M"}, "m: built; n: TestN"},
		// It is in a file for another system, or in one that is gone.
		{Change{File: "m/m_plan9.go", Function: "F"}, "m: built; n: TestN"},
		{Change{File: "m/m.go", Function: "inlined", fresh: true}, "m: built"},
		// Once has called a closure of it.
		{Change{File: "m/m_test.go", Function: "TestA", test: true}, "m: TestA TestB"},
		{Change{File: "m/m_test.go", Function: "TestNew", test: true, fresh: true}, "m: TestNew"},
		{Change{File: "m/new.go", What: "file", fresh: true}, "m: built"},
		{Change{File: "m/m_test.go", What: "TestMain", test: true}, "m: all"},
		{Change{File: "m/m.go", What: "var"}, "m: all; n: all"},
		{Change{File: "m/m_test.go", What: "var", test: true}, "m: all"},
		{Change{File: "m/testdata/a", What: "file"}, "m: all; n: all"},
		{Change{File: "m/testdata/a.h", What: "file"}, "m: all; n: all"},
		{Change{File: "m/page/x.html", What: "file"}, "m: all; n: all"},
		{Change{File: "m/data/_deep/.x", What: "file"}, "m: all; n: all"},
		{Change{File: "m/data/x.go", What: "func"}, "m: all; n: all"}, // embedded, and no package
		{Change{File: "m/page/x.css", What: "file"}, "unknown m/page/x.css"},
		{Change{File: "o/o.go", Function: "f"}, "o: all"}, // not recorded
		{Change{File: "p/p.go", Function: "f"}, "p: all"}, // not all of it recorded
		{Change{File: "p/p.c", What: "file"}, "p: all"},
		{Change{File: "p/gone.S", What: "file"}, "p: all"},
		{Change{File: "include/deep/x.h", What: "file"}, "p: all"},
		{Change{File: "q/q.go", What: "var"}, "q: built"}, // it has no tests
		{Change{File: "gone/g.go", What: "function F, which is gone,"}, "r: all"},
		{Change{File: "vendor/v.z/vendored/v.go", Function: "f"}, "o: all; v.z/vendored: built"},
		{Change{File: "vendor", What: "repository", tree: true}, "o: all; v.z/vendored: built"},
		{Change{File: "_hidden/x.go", What: "var"}, "unknown _hidden/x.go"},
		{Change{File: "go.mod", What: "file"}, "m: all; n: all; o: all; p: all; r: all; s: all"},
		{Change{File: "vendor/modules.txt", What: "file"}, "m: all; n: all; o: all; p: all; r: all; s: all"},
		{Change{File: "m/testdata/go.mod", What: "file"}, "m: all; n: all"},
		{Change{File: "README", What: "file"}, "unknown README"},
	} {
		c.change.dir = filepath.Dir(filepath.Join("/r", c.change.File))
		if c.change.tree {
			c.change.dir = filepath.Join("/r", c.change.File)
		}
		affected, unknown := Select([]*Module{shapes()}, suites, []Change{c.change})
		if have := describe(affected, unknown); have != c.want {
			t.Errorf("%+v: have %q, want %q", c.change, have, c.want)
		}
	}
}

// describe puts a selection into a line.
func describe(affected []Affected, unknown []string) string {
	var have []string
	for _, a := range affected {
		what := strings.Join(a.Tests, " ")
		switch {
		case a.All:
			what = "all"
		case what == "":
			what = "built"
		}
		have = append(have, strings.TrimPrefix(a.Package, "x.y/")+": "+what)
	}
	for _, file := range unknown {
		have = append(have, "unknown "+file)
	}
	return strings.Join(have, "; ")
}

// TestSelectModules changes the go.mod of modules that another one uses, may use, and does not use.
func TestSelectModules(t *testing.T) {
	others := []*Module{{Dir: "/used"}, {Dir: "/unused"}}
	for dir, want := range map[string]bool{"/used": true, "/unused": false, "/removed": true, "/r": true} {
		affected, _ := Select(append(others, shapes()), nil, []Change{{File: "go.mod", dir: dir}})
		if len(affected) > 0 != want {
			t.Errorf("%s: have %+v, want some: %v", dir, affected, want)
		}
	}
	broken := &Module{Dir: "/broken", At: "../broken", Off: true, Failed: errors.New("no network")}
	if affected, _ := Select([]*Module{broken}, nil, nil); len(affected) > 0 {
		t.Errorf("nothing has changed, and %+v is affected", affected)
	}
	affected, _ := Select([]*Module{broken}, nil, []Change{{File: "a.go", dir: "/a"}})
	if len(affected) != 1 || affected[0].line() != "GOWORK=off stemma test -C ../broken ./...  "+
		"# all: its packages are not known: no network" {
		t.Errorf("have %+v", affected)
	}
}

// TestUnrecorded has a test that was not run when its package was recorded.
func TestUnrecorded(t *testing.T) {
	dir := t.TempDir()
	const text = `package m
func TestOld(t *testing.T) {}
func TestNever(t *testing.T) {}
func BenchmarkNever(b *testing.B) {}
func FuzzNever(f *testing.F) {}
func (x) TestMethod() {}
func Example() {
	// Output: 1
}
func Example_silent() {}
`
	if err := os.WriteFile(filepath.Join(dir, "m_test.go"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	m := &Module{Dir: dir}
	m.take([]*Package{{ImportPath: "m", Dir: dir, GoFiles: []string{"m.go"}, TestGoFiles: []string{"m_test.go"}}})
	suites := []Suite{{Package: "m", Tests: []Test{{Name: "TestOld"}}}}
	affected, _ := Select([]*Module{m}, suites, []Change{{File: "m.go", Function: "f", dir: real(dir)}})
	if have := describe(affected, nil); have != "m: Example FuzzNever TestNever" {
		t.Errorf("have %q", have)
	}
}

// TestCommands checks which command runs tests: assertions of package stemmatest need the instrumentation.
func TestCommands(t *testing.T) {
	m := shapes()
	suites := []Suite{{Package: "x.y/r", Flags: []string{"-metrics=calls,alloc"}, Tests: []Test{{Name: "TestR"}}}}
	for file, want := range map[string]string{
		"r/r_test.go": "stemma test -metrics=calls,alloc -run '^(TestX)$' x.y/r",
		"m/m_test.go": "go test x.y/m  # all: its tests were not recorded",
	} {
		c := Change{File: file, Function: "TestX", test: true, dir: filepath.Dir("/r/" + file)}
		affected, _ := Select([]*Module{m}, suites, []Change{c})
		if len(affected) != 1 || affected[0].line() != want {
			t.Errorf("%s: have %+v, want %s", file, affected, want)
		}
	}
}

// TestShell gives lines to a shell that has no commands but go and stemma, which print their arguments.
func TestShell(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh here; install it")
	}
	dir := t.TempDir()
	for _, tool := range []string{"go", "stemma"} {
		text := "#!" + shell + "\nprintf '<%s>' \"$0\" \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, tool), []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, evil := range []string{"a", "a b", "$(ran)", "`ran`", "';ran;'", "a\nran", "\"", "a\\", "#x", "\r\nran",
		"a&ran", "é", "-x", "*", "~", "a\x1b]0;x\a", "a\u2028ran"} {
		a := Affected{All: true, Why: evil, Package: evil, Command: []string{"go", "test", "-C", evil, evil}}
		cmd := exec.Command(shell)
		cmd.Stdin = strings.NewReader(a.line() + "\n")
		cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=" + dir}
		out, err := cmd.CombinedOutput()
		want := "<" + dir + "/go><test><-C><" + evil + "><" + evil + ">"
		if err != nil || string(out) != want {
			t.Errorf("%q: have %q, %v, want %q", a.line(), out, err, want)
		}
	}
}

// TestStatic changes functions that variables get their values from, which the compiler calls, and others.
func TestStatic(t *testing.T) {
	top := real(t.TempDir())
	for name, text := range map[string]string{
		"m/m.go": "package m\nvar limit = most()\nfunc most() int { return half() }\nfunc half() int { return 2 }\n" +
			"func F() int { return 1 }\ntype T int\nfunc (T) M() int { return 3 }\n" +
			"func other() int { return most() }\n" +
			"var late = func() int { return other() }\nfunc long() int { println(); return inLong() }\n" +
			"var x = long()\nfunc inLong() int { return 1 }\nfunc G[E any]() int { return 4 }\n",
		"m/m_test.go": "package m\nvar inTest = forTest()\nfunc forTest() int { return 1 }\n" +
			"func TestM(*testing.T) {}\n",
		"n/n.go": "package n\nimport (\n\"x.y/m\"\nother \"x.y/o-go/v2\"\n)\nvar A = m.F()\nvar B = m.T(1).M()\n" +
			"var C = m.G[int]()\nvar D = other.F()\n",
		"n/n_test.go": "package n\nfunc TestN(*testing.T) {}\n",
		"o/o.go":      "package o\nfunc F() int { return 1 }\nfunc M() int { return 1 }\n",
		"p/p_test.go": "package p_test\nimport \"x.y/o-go/v2\"\nvar v = o.F()\nfunc TestP(*testing.T) {}\n",
	} {
		name = filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	m := &Module{Dir: top, Path: "x.y"}
	m.take([]*Package{
		{ImportPath: "x.y/m", Dir: top + "/m", GoFiles: []string{"m.go"}, TestGoFiles: []string{"m_test.go"}},
		{ImportPath: "x.y/n", Dir: top + "/n", GoFiles: []string{"n.go"}, TestGoFiles: []string{"n_test.go"},
			Deps: []string{"x.y/m", "x.y/o-go/v2"}},
		{ImportPath: "x.y/o-go/v2", Dir: top + "/o", GoFiles: []string{"o.go"}},
		{ImportPath: "x.y/p", Dir: top + "/p", XTestGoFiles: []string{"p_test.go"},
			XTestImports: []string{"x.y/o-go/v2"}},
	})
	var suites []Suite
	for _, test := range []string{"TestM", "TestN", "TestP"} {
		suites = append(suites, Suite{Package: "x.y/" + strings.ToLower(test[4:]), Tests: []Test{{Name: test}}})
	}
	for change, want := range map[string]string{
		"m/m.go most":         "m: all; n: all",
		"m/m.go half":         "m: all; n: all",
		"m/m.go long":         "m: all; n: all",
		"m/m.go other":        "m: built",
		"m/m.go inLong":       "m: built", // it was called, and is in the record
		"m/m.go F":            "m: built; n: all",
		"m/m.go T.M":          "m: built; n: all",
		"m/m.go G":            "m: built; n: all",
		"m/m_test.go forTest": "m: all",
		"o/o.go F":            "n: all; o-go/v2: built; p: all",
		"o/o.go M":            "o-go/v2: built",
	} {
		file, name, _ := strings.Cut(change, " ")
		c := Change{File: file, Function: name, dir: filepath.Dir(filepath.Join(top, file)),
			test: strings.HasSuffix(file, "_test.go")}
		affected, unknown := Select([]*Module{m}, suites, []Change{c})
		if have := describe(affected, unknown); have != want {
			t.Errorf("%s: have %q, want %q", change, have, want)
		}
	}
}
