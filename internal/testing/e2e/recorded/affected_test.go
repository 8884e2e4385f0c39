package recorded

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

var (
	edits    = flag.Int("edits", 0, "how many edits TestAffected makes; some if it is 0, and of all kinds with -full")
	editSeed = flag.Uint64("editseed", 1, "what these edits are drawn from")
)

// affectedModules are where go test runs in testdata/affected.txtar.
var affectedModules = []string{".", "lib", "other", "tool", "space/one", "space/two"}

// A repo is a repository whose tests were recorded.
type repo struct {
	*testing.T
	dir, tool string
	base      map[string]string // results of tests before any change
	r         *rand.Rand
}

// run runs a command in the repository.
func (p *repo) run(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = filepath.Join(p.dir, dir)
	cmd.Env = append(cmd.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"STEMMA_OUT="+filepath.Join(p.dir, "stemma.out"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return out, err
}

func (p *repo) must(dir, name string, args ...string) []byte {
	p.Helper()
	out, err := p.run(dir, name, args...)
	if err != nil {
		p.Fatal(err)
	}
	return out
}

// newRepo makes the repository and records its tests.
func newRepo(t *testing.T) *repo {
	for _, tool := range []string{"git", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s here; install it", tool)
		}
	}
	p := &repo{T: t, dir: t.TempDir(), tool: e2e.Tool(t), r: rand.New(rand.NewPCG(*editSeed, 8))}
	files, err := txtar.ParseFile(filepath.Join("testdata", "affected.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files.Files {
		p.write(f.Name, string(f.Data))
	}
	p.must("", "git", "init", "-q")
	p.must("", "git", "add", "-f", ".")
	p.must("", "git", "-c", "user.name=me", "-c", "user.email=me@example.com", "commit", "-qm", "base")
	for _, dir := range affectedModules {
		p.must(dir, p.tool, "test", "./...")
	}
	p.base, _ = p.results()
	for name, result := range p.base {
		if result != "pass" {
			t.Fatalf("%s: %s before any change", name, result)
		}
	}
	if len(p.base) < 29 {
		t.Fatalf("%d tests, want 29", len(p.base))
	}
	return p
}

func (p *repo) write(name, text string) {
	p.Helper()
	name = filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		p.Fatal(err)
	}
}

func (p *repo) read(name string) string {
	p.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.Fatal(err)
	}
	return string(text)
}

func (p *repo) remove(name string) {
	p.Helper()
	if err := os.RemoveAll(filepath.Join(p.dir, name)); err != nil {
		p.Fatal(err)
	}
}

// results runs all tests in a plain build, and returns what became of each, by package and name. Broken are the
// packages that cannot be built.
func (p *repo) results() (results map[string]string, broken map[string]bool) {
	results, broken = make(map[string]string), make(map[string]bool)
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, dir := range affectedModules {
		all.Go(func() {
			out, _ := p.run(dir, "go", "test", "-json", "-vet=off", "./...")
			mu.Lock()
			defer mu.Unlock()
			for in := bufio.NewScanner(bytes.NewReader(out)); in.Scan(); {
				var e struct{ Action, Package, Test, FailedBuild string }
				if json.Unmarshal(in.Bytes(), &e) != nil || strings.Contains(e.Test, "/") {
					continue
				}
				switch {
				case e.Test != "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip"):
					results[e.Package+"."+e.Test] = e.Action
				case e.Test == "" && e.Action == "fail":
					broken[e.Package] = true // it does not compile, or its process has failed
				}
			}
		})
	}
	all.Wait()
	return results, broken
}

// A selection is what stemma affected -changed lists.
type selection struct {
	Affected []struct {
		Package string
		All     bool
		Tests   []string
	}
	Unknown []string
}

func (p *repo) selected() (s selection) {
	p.Helper()
	out := p.must("", p.tool, "affected", "-json", "-changed", "HEAD")
	if err := json.Unmarshal(out, &s); err != nil {
		p.Fatalf("%v: %s", err, out)
	}
	return s
}

// has reports whether a test is selected.
func (s *selection) has(pkg, test string) bool {
	for _, a := range s.Affected {
		if a.Package == pkg && (a.All || slices.Contains(a.Tests, test)) {
			return true
		}
	}
	return false
}

// check runs all tests after an edit. Each whose result is another one must be selected. Where a package does not
// compile, so that its tests do not run, one that does not must be among those that are built.
func (p *repo) check(what string) (selected int) {
	p.Helper()
	s := p.selected()
	results, broken := p.results()
	seen := slices.ContainsFunc(s.Affected, func(a struct {
		Package string
		All     bool
		Tests   []string
	}) bool {
		return broken[a.Package]
	})
	names := maps.Clone(p.base)
	maps.Copy(names, results)
	for name := range names {
		dot := strings.LastIndexByte(name, '.')
		pkg, test := name[:dot], name[dot+1:]
		if s.has(pkg, test) {
			selected++
			continue
		}
		switch result, ran := results[name]; {
		case !ran && (!broken[pkg] || seen):
		case result != p.base[name]:
			p.Errorf("%s: %s: %q was %q, and it is not selected: %+v", what, name, result, p.base[name], s)
		}
	}
	for pkg := range broken {
		if len(s.Affected) == 0 {
			p.Errorf("%s: %s fails, and nothing is selected", what, pkg)
		}
	}
	return selected
}

// reset takes an edit back.
func (p *repo) reset() {
	p.Helper()
	p.must("", "git", "checkout", "-q", ".")
	p.must("", "git", "clean", "-fdxq", "-e", "stemma.out")
}

// numbers are what an edit may make another one: not versions, and not names.
var numbers = regexp.MustCompile(`\b[0-9]+\b`)

// number changes a number in one of the files whose names end so.
func number(suffixes ...string) func(p *repo) string {
	return func(p *repo) string {
		var files []string
		for _, name := range strings.Fields(string(p.must("", "git", "ls-files"))) {
			ends := func(suffix string) bool { return strings.HasSuffix(name, suffix) }
			_, err := os.Stat(filepath.Join(p.dir, name))
			if slices.ContainsFunc(suffixes, ends) && err == nil && numbers.MatchString(p.read(name)) {
				files = append(files, name)
			}
		}
		if files == nil {
			return "no number"
		}
		name := files[p.r.IntN(len(files))]
		text := p.read(name)
		at := numbers.FindAllStringIndex(text, -1)
		place := at[p.r.IntN(len(at))]
		changed := text[:place[0]] + fmt.Sprint(p.r.IntN(900)+1) + text[place[1]:]
		p.write(name, changed)
		line := strings.Count(text[:place[0]], "\n") + 1
		return fmt.Sprintf("%s:%d: %s", name, line, strings.Split(changed, "\n")[line-1])
	}
}

// replace replaces a text by another one.
func replace(name, old, new string) func(p *repo) string {
	return func(p *repo) string {
		text := p.read(name)
		if !strings.Contains(text, old) {
			p.Fatalf("%s: no %q", name, old)
		}
		p.write(name, strings.Replace(text, old, new, 1))
		return fmt.Sprintf("%s: %q for %q", name, new, old)
	}
}

// create makes a file that git does not know.
func create(name, text string) func(p *repo) string {
	return func(p *repo) string {
		p.write(name, text)
		return "new " + name
	}
}

// remove removes a file, or a directory.
func remove(name string) func(p *repo) string {
	return func(p *repo) string {
		p.remove(name)
		return "without " + name
	}
}

// both makes two edits.
func both(a, b func(p *repo) string) func(p *repo) string {
	return func(p *repo) string { return a(p) + " and " + b(p) }
}

// kinds are the edits to draw from.
var kinds = []func(p *repo) string{
	number(".go"), number("app.go"), number("lib/lib.go"), number(".c", ".h", ".s", ".inc", "native.go"),
	number(".txt"),
	number("_test.go"), number("one.go"), number("tool/vendor/x.y/lib/lib.go"),
	both(replace("tagged_on.go", "!alt", "alt"), replace("tagged_off.go", "alt", "!alt")),
	replace("tagged_on.go", "!alt", "!alt && !linux"), // nothing has the constant now
	create("main_test.go",
		"package app\n\nimport \"testing\"\n\nfunc TestMain(m *testing.M) { hidden = 1; m.Run() }\n"),
	create("init.go", "package app\n\nfunc init() { table[1] = 21 }\n"),
	create("init_test.go", "package app\n\nfunc init() { hidden = 1 }\n"),
	create("shadow.go", "package app\n\nfunc max(a, b int) int { return a }\n"),
	create("string.go", "package app\n\nfunc (s Size) String() string { return \"size\" }\n"),
	create("fails_test.go", "package app\n\nimport \"testing\"\n\nfunc TestFails(t *testing.T) { t.Fail() }\n"),
	create("files/pages/_two.txt", "2\n"), create("lib/fails_test.go",
		"package lib_test\n\nimport \"testing\"\n\nfunc TestFails(t *testing.T) { t.Fail() }\n"),
	create("second_test.go", "package other\n"), // no package has two names
	create("go.work", "go 1.26.0\n\nuse .\n\nreplace x.y/lib => ./other\n"),
	remove("data/page.txt"), remove("testdata/number.txt"), remove("moved.go"), remove("native/native.c"),
	remove("native/include"), remove("assembly/number.inc"), remove("lib"), remove("space/one/one.go"),
	remove("files/files.go"), remove("space/go.work"),
	replace("go.mod", "./lib", "./other"), replace("go.mod", "go 1.26.0\n", "go 1.26.0\n\ngodebug panicnil=1\n"),
	replace("tool/go.mod", "../lib", "../other"), replace("space/go.work", "\t./one\n", ""),
	replace("app.go", "return n + 99", "return true"),       // nobody reaches what does not compile
	replace("lib/lib.go", "return n + 77", "return n +"),    // it cannot even be parsed
	replace("lib/lib.go", "return n + 33", "return n + 44"), // which nobody calls when the program runs
	replace("lib/lib.go", "unused(n int)", "deeper(n int)"),
	replace("lib/lib.go", "func Sub(n int) int  { return n + 61 }", ""),
	replace("lib/lib.go", "Once(n int) int", "Once(n int64) int64"),
	replace("app.go", "func (s square) Area() int { return s.side * s.side }",
		"func (s *square) Area() int { return s.side * s.side }"),
	replace("app.go", "\t_ \"embed\"\n", "\t_ \"embed\"\n\tmax \"fmt\"\n"),
	replace("app_test.go", "// Output: 3", "// Output: 4"),
	replace("app_test.go", "\"{4}\"", "\"{5}\""),
	replace("native/native.go", "int in_file(int n);", "#define in_file(n) (n)"),
	both(replace("moved.go", "func Moved(n int) int { return n + 17 }", ""),
		replace("app.go", "func Body", "func Moved(n int) int { return n + 18 }\n\nfunc Body")),
	both(remove("moved.go"), create("elsewhere.go", "package app\n\nfunc Moved(n int) int { return n + 17 }\n")),
}

// TestAffected edits a repository of several modules at random, runs all tests in plain builds, and holds what has
// changed against what stemma affected -changed selects. The first edits are of all kinds, in turn.
func TestAffected(t *testing.T) {
	e2e.NeedMore(t)
	p := newRepo(t)
	order := p.r.Perm(len(kinds))
	n, selected := *edits, 0
	switch {
	case n > 0:
	case e2e.Full():
		n = len(kinds)
	default:
		n = 2
	}
	for i := range n {
		what := kinds[order[i%len(kinds)]](p)
		if i >= len(kinds) && p.r.IntN(2) == 0 {
			what += " and " + kinds[p.r.IntN(8)](p) // a number, whose file may be gone
		}
		selected += p.check(what)
		p.reset()
	}
	t.Logf("%d edits: of %d tests %.1f were selected", n, len(p.base), float64(selected)/float64(n))
	if selected > n*len(p.base)*3/4 {
		t.Errorf("%d tests were selected for %d edits, and there are %d: want a selection", selected, n, len(p.base))
	}
}
