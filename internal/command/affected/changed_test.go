package affected

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/level"
)

// TestCompare compares two versions of a package.
func TestCompare(t *testing.T) {
	const head = "package m\n"
	for _, c := range []struct{ name, old, now, want string }{
		{"m.go", "func f() {}", "func f() { g() }", "f"},
		{"m.go", "func f() { g() }", "func f() {\n\n\tg() // now with a comment\n}\n// end", ""},
		{"m.go", "func f(a int) {}", "func f(b int) {}", "f"},
		{"m.go", "func f(a int) {}", "func f(a, b int) {}", " signature of f"},
		{"m.go", "func f(a []int) {}", "func f(a []any) {}", " signature of f"},
		{"m.go", "func f(a chan<- int) {}", "func f(a <-chan int) {}", " signature of f"},
		{"m.go", "func f[K any, V any](V) {}", "func f[V any, K any](V) {}", " signature of f"},
		{"m.go", "func (T[K]) F() {}", "func (T[K]) F() { g() }", "T.F"},
		{"m.go", "func (*T) F() {}", "func (T) F() {}", " methods"},
		{"m.go", "", "func F() {}", "F"},
		{"m.go", "", "func f() {}\nfunc init() {}", " init,f"},
		{"m.go", "", "func (T) F() {}", " methods"},
		{"m.go", "", "func min() {}", " function min, which Go also has,"},
		{"m.go", "func min() {}", "", " function min, which Go also has,"},
		{"m.go", "func F() {}", "", " function F, which is gone,"},
		{"m.go", "func f() {}", "", "f"},
		{"m_test.go", "func TestX(t *testing.T) {}", "", "TestX"},
		{"m_test.go", "", "func TestMain(m *testing.M) {}", " TestMain"},
		{"m_test.go", "func TestMain(m *testing.M) { f() }", "func TestMain(m *testing.M) {}", " TestMain"},
		{"m_test.go", "func Example() {\n// Output: 1\n}", "func Example() {\n// Output: 2\n}", "Example"},
		{"m.go", "func Example() {\n// Output: 1\n}", "func Example() {\n// Output: 2\n}", ""},
		{"m.go", "var a, b = 1, 2", "var a, b = 2, 1", " var"},
		{"m.go", "const a = 1", "const a = iota", " const"},
		{"m.go", "type T struct { a int `x` }", "type T struct { a int `y` }", " type"},
		{"m.go", "//go:noinline\nfunc f() {}", "func f() {}", " directive of f"},
		{"m.go", "", "//go:noinline\nfunc f() {}", "f"},
		{"m.go", "func f() { g() }", "//go:nosplit\nfunc f() {}", " function f, whose calls are not counted,"},
		{"m.go", "//go:linkname f\n\nfunc f() {}", "//go:linkname f\n\nfunc f() { g() }",
			" function f, whose calls are not counted,"},
		{"m.go", "//go:linkname f x.y\n\nfunc f() {}", "func f() {}",
			" directive"},
		{"m.go", "func f()", "func f() {}", " function f, whose calls are not counted,"},
		{"m.go", "//go:embed a\nvar a string", "//go:embed b\nvar a string", " directive"},
		{"m.go", "//go:generate x\nvar a string", "//go:generate y\nvar a string", ""},
		{"m.go", "//export f\nfunc f() {}\nfunc g() {}", "func f() {}\n//export f\nfunc g() {}",
			" directive of f, directive of g"},
		{"m.go", "//line a.go:1\nvar a int", "//line b.go:1\nvar a int", " directive"},
		{"m.go", "// int f() { return 1; }\nimport \"C\"", "// int f() { return 2; }\nimport \"C\"", " import"},
		{"m.go", "import (\n\t// #define A 1\n\t\"C\"\n)", "import (\n\t// #define A 2\n\t\"C\"\n)", " import"},
		{"m.go", "// as documented\nimport \"fmt\"", "// as said\nimport \"fmt\"", ""},
		{"m.go", "var a int", "var a int }", " syntax"},
	} {
		g := &changes{r: &Repository{top: "/"}, packages: make(map[unit]*versions)}
		g.source(parse(c.name, []byte(head+c.old)), parse(c.name, []byte(head+c.now)))
		if have := g.describe(); have != c.want {
			t.Errorf("%q to %q: have %q, want %q", c.old, c.now, have, c.want)
		}
	}
}

// describe puts what was found into a line, without the names of files: functions, and other things behind a space.
func (g *changes) describe() string {
	for _, v := range g.packages {
		v.compare(g)
	}
	var have []string
	for _, c := range g.list {
		have = append(have, strings.TrimSuffix(c.Function+" "+c.What, " "))
	}
	slices.Sort(have)
	return strings.Join(slices.Compact(have), ",")
}

// TestMoved moves functions between files: the same one is no change where all around it means the same.
func TestMoved(t *testing.T) {
	for _, c := range []struct{ from, to, import1, import2, want string }{
		{"a.go", "b.go", "", "", ""},
		{"a_linux.go", "a_plan9.go", "", "", "f"},
		{"a.go", "b.go", `import x "y"`, `import x "z"`, "f"},
		{"a.go", "b_test.go", "", "", "f"},
	} {
		g := &changes{r: &Repository{top: "/"}, packages: make(map[unit]*versions)}
		const f = "\nfunc f() { x.F() }"
		head1, head2 := "package m\n"+c.import1, "package m\n"+c.import2
		g.source(parse(c.from, []byte(head1+f)), parse(c.from, []byte(head1)))
		g.source(parse(c.to, []byte(head2)), parse(c.to, []byte(head2+f)))
		if have := g.describe(); have != c.want {
			t.Errorf("%s to %s: have %q, want %q", c.from, c.to, have, c.want)
		}
	}
}

// place is a repository with a module in it, and nothing of the user's own settings.
type place struct {
	*testing.T
	dir string
}

func newPlace(t *testing.T) *place {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here; install it")
	}
	p := &place{t, t.TempDir()}
	t.Chdir(p.dir)
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"} {
		t.Setenv(name, os.DevNull)
	}
	t.Setenv("GOWORK", "")
	t.Setenv("GOFLAGS", "")
	p.git("init", "-q", "-b", "main")
	p.git("config", "user.name", "me")
	p.git("config", "user.email", "me@example.com")
	p.write(map[string]string{
		"go.mod": "module x.y/m\ngo 1.26.0\n", ".gitignore": "made.go\n", "real.go": "package m\n\nvar link = 1\n",
		"m.go":       "package m\n\nfunc f() int { return 1 }\n\nfunc g() int {\n\treturn 1\n}\n",
		"sub/sub.go": "package sub\n",
		"sub/ö ä.go": "package sub\n\nfunc f() {}\n", "hidden.go": "package m\n\nfunc h() int { return 1 }\n",
	})
	if err := os.Symlink("../real.go", "sub/link.go"); err != nil {
		t.Fatal(err)
	}
	p.git("add", ".")
	p.git("commit", "-qm", "base")
	return p
}

func (p *place) git(args ...string) {
	p.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (p *place) write(files map[string]string) {
	p.Helper()
	for name, text := range files {
		name = filepath.Join(p.dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			p.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			p.Fatal(err)
		}
	}
}

// changes returns what has changed, a line for each.
func (p *place) changes(versions string) string {
	p.Helper()
	r, err := Open(versions)
	if err != nil {
		p.Fatal(err)
	}
	modules, err := Modules(r)
	if err != nil {
		p.Fatal(err)
	}
	list, err := Changes(r, modules)
	if err != nil {
		p.Fatal(err)
	}
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "%s:%s %s\n", c.File, c.Function, c.What)
	}
	return b.String()
}

// TestChangesSettings changes files in a repository whose settings change what git prints, or hide what has changed.
func TestChangesSettings(t *testing.T) {
	p := newPlace(t)
	p.write(map[string]string{".gitattributes": "m.go diff=hide\n*ä.go -diff\n", "cover": "#!/bin/sh\necho nothing\n"})
	p.git("add", ".")
	p.git("commit", "-qm", "attributes")
	if err := os.Chmod("cover", 0o777); err != nil {
		t.Fatal(err)
	}
	text := map[string]string{"m.go": "package m\n\nfunc g() int {\n\treturn 2\n}\n\nfunc f() int { return 1 }\n",
		"sub/ö ä.go": "package sub\n\nfunc f() { f() }\n"}
	p.write(text)
	const want = "m.go:g \nsub/ö ä.go:f \n"
	settings := [][]string{
		{"diff.noprefix", "true"}, {"diff.mnemonicPrefix", "true"}, {"diff.relative", "true"},
		{"color.ui", "always"}, {"color.diff", "always"}, {"diff.external", filepath.Join(p.dir, "cover")},
		{"diff.hide.textconv", filepath.Join(p.dir, "cover")}, {"diff.hide.binary", "true"}, {"core.quotePath", "true"},
		{"diff.renames", "copies"}, {"diff.orderFile", filepath.Join(p.dir, "cover")}, {"diff.interHunkContext", "9"},
		{"diff.ignoreSubmodules", "all"}, {"status.showUntrackedFiles", "no"}, {"diff.wordRegex", "."},
		{"diff.algorithm", "patience"}, {"diff.context", "9"}, {"diff.srcPrefix", "x"}, {"core.fileMode", "false"},
		{"diff.autoRefreshIndex", "false"}, {"core.pager", filepath.Join(p.dir, "cover")}}
	for _, setting := range settings[:level.Rounds(5, len(settings))] {
		p.git("config", setting[0], setting[1])
		for _, dir := range []string{p.dir, filepath.Join(p.dir, "sub")} {
			t.Chdir(dir)
			if have := p.changes("HEAD"); have != want && have != "cover: file\n"+want {
				t.Errorf("%v, in %s: have\n%swant\n%s", setting, filepath.Base(dir), have, want)
			}
		}
	}
	t.Setenv("GIT_EXTERNAL_DIFF", filepath.Join(p.dir, "cover"))
	t.Setenv("GIT_DIFF_OPTS", "--unified=9")
	t.Setenv("GIT_DIR", "../.git")
	t.Setenv("GIT_WORK_TREE", "..")
	if have := p.changes("HEAD"); have != want {
		t.Errorf("with variables of the environment: have\n%swant\n%s", have, want)
	}
}

// TestChangesUnseen changes files that git does not report, one at a time.
func TestChangesUnseen(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *place)
		want   string
	}{
		"not known yet": {func(p *place) {
			p.write(map[string]string{"new.go": "package m\n\nvar a = 1\n"})
		}, "new.go: file\nnew.go: var\n"},
		"ignored": {func(p *place) { p.write(map[string]string{"made.go": "package m\n"}) },
			"made.go: file that git ignores, which may be another one,\n"},
		"assumed to be unchanged": {func(p *place) {
			p.git("update-index", "--assume-unchanged", "hidden.go", "real.go")
			p.write(map[string]string{"hidden.go": "package m\n\nfunc h() int { return 2 }\n"})
		}, "hidden.go:h \n"},
		"not in the work tree": {func(p *place) {
			p.git("update-index", "--skip-worktree", "hidden.go")
			p.write(map[string]string{"hidden.go": "package m\n\nfunc h() int { return 2 }\n"})
		}, "hidden.go:h \n"},
		"staged": {func(p *place) {
			p.write(map[string]string{"m.go": "package m\n"})
			p.git("add", ".")
		}, "m.go:f \nm.go:g \n"},
		"to be added": {func(p *place) {
			p.write(map[string]string{"new.go": "package m\n\nvar a = 1\n"})
			p.git("add", "-N", ".")
		}, "new.go: file\nnew.go: var\n"},
		"taken out of the index": {func(p *place) { p.git("rm", "-q", "--cached", "m.go") }, ""},
		"renamed":                {func(p *place) { p.git("mv", "m.go", "n.go") }, "m.go: file\nn.go: file\n"},
		"a link": {func(p *place) {
			if err := os.Remove("sub/link.go"); err != nil {
				p.Fatal(err)
			}
			if err := os.Symlink("../m.go", "sub/link.go"); err != nil {
				p.Fatal(err)
			}
		}, "sub/link.go: file\n"},
		"another repository": {func(p *place) {
			p.write(map[string]string{"inner/x.go": "package inner\n"})
			p.git("-C", "inner", "init", "-q")
		}, "inner: repository\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			c.change(p)
			if have := p.changes("HEAD"); have != c.want {
				t.Errorf("have\n%swant\n%s", have, c.want)
			}
		})
	}
}

// TestRanges compares versions, with files that are not committed. Without a version behind the dots these count.
func TestRanges(t *testing.T) {
	p := newPlace(t)
	p.git("checkout", "-qb", "work")
	p.write(map[string]string{"m.go": "package m\n\nfunc f() int { return 2 }\n\nfunc g() int {\n\treturn 1\n}\n"})
	p.git("commit", "-qam", "work")
	p.git("checkout", "-q", "main")
	p.write(map[string]string{"hidden.go": "package m\n\nfunc h() int { return 2 }\n"})
	p.git("commit", "-qam", "main")
	p.git("checkout", "-q", "work")
	p.write(map[string]string{"new.go": "package m\n\nvar a = 1\n"})
	const main, work, dirty = "hidden.go:h \n", "m.go:f \n", "new.go: file\nnew.go: var\n"
	for versions, want := range map[string]string{
		"": dirty, "HEAD": dirty, "main": main + work + dirty, "main..": main + work + dirty, "main...": work + dirty,
		"main..HEAD": main + work, "main...work": work, "work...main": main, "main~1..main": main, "HEAD..HEAD": "",
	} {
		if have := p.changes(versions); have != want {
			t.Errorf("%q: have\n%swant\n%s", versions, have, want)
		}
	}
	for _, versions := range []string{"nothing", "--output=x", "..--output=x", "HEAD:m.go"} {
		if _, err := Open(versions); err == nil || !strings.Contains(err.Error(), "want one, or a range") {
			t.Errorf("%q: %v", versions, err)
		}
	}
}

// TestModules finds what a module and others of its repository are built from.
func TestModules(t *testing.T) {
	p := newPlace(t)
	p.write(map[string]string{
		"b/go.mod":    "module x.y/b\ngo 1.26.0\nrequire x.y/c v0.0.0\nreplace x.y/c => ../c\n",
		"b/b.go":      "package b\n\nimport _ \"x.y/c\"\n",
		"b/b_test.go": "package b\n\nimport _ \"x.y/b/only\"\n",
		"b/only/o.go": "package only\n\nimport _ \"x.y/b\"\n",
		"c/go.mod":    "module x.y/c\ngo 1.26.0\n", "c/c.go": "package c\n",
		"testdata/d/go.mod": "module x.y/d\n",
	})
	t.Chdir(filepath.Join(p.dir, "sub"))
	r, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	for _, work := range []string{"", "go 1.26.0\nuse ./c\nuse .\n"} {
		if work != "" {
			p.write(map[string]string{"go.work": work})
		}
		modules, err := Modules(r)
		if err != nil {
			t.Fatal(err)
		}
		have := make(map[string]string)
		for _, m := range modules {
			var own, used []string
			for _, q := range m.Packages {
				if m.owns(q) {
					own = append(own, q.ImportPath)
				} else if !q.Standard {
					used = append(used, q.ImportPath)
				}
			}
			slices.Sort(own)
			have[m.At] = fmt.Sprint(own, used, m.Off)
		}
		want := map[string]string{"": "[x.y/m x.y/m/sub] [] false", "../b": "[x.y/b x.y/b/only] [x.y/c] " +
			fmt.Sprint(work != ""), "../c": "[x.y/c] [] false"}
		if !maps.Equal(have, want) {
			t.Errorf("have %v, want %v", have, want)
		}
		b := modules[1]
		only := b.byPath["x.y/b/only"]
		if !b.dependsOn(b.byPath["x.y/b"], only) || !b.dependsOn(only, b.byPath["x.y/c"]) {
			t.Error("b depends on only, and that on c")
		}
	}
}
