// Walks shows how two commands go through the packages of stemma: from a directory to its tree, and from an ID to its
// stack. A walk is the functions in the order in which the command enters them first. It has a room for each package,
// and a return each time that it comes back to one. Stemma records itself for that, without inlining.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/bench/internal/machine"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// module begins the names of the functions of stemma.
const module = "github.com/stemma-go/stemma/"

// words are the packages that others speak with, as they do with those of the standard library: what records and
// profiles consist of, and what each command has. A walk goes past them.
var words = []string{"profile", "internal/goroot/layout", "internal/goroot/rt/fold", "internal/record/raw",
	"internal/sealed", "internal/nodetable", "internal/homes", "internal/base", "internal/progress",
	"internal/humanize", "internal/terminal", "internal/safefile", "internal/costmodel"}

// A walk is a command, and the first and the last function that count, as the ends of their names.
type walk struct {
	name     string
	args     []string
	from, to string
}

func main() {
	exe := flag.String("exe", "", "a stemma that was built as is said here, `FILE`; it is built if this is empty")
	list := flag.Bool("v", false, "list the functions")
	flag.Parse()
	if err := run(*exe, *list); err != nil {
		fmt.Fprintln(os.Stderr, "walks:", err)
		os.Exit(1)
	}
}

func run(exe string, list bool) error {
	work, err := os.MkdirTemp("", "walks-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if exe == "" {
		exe = filepath.Join(work, "walked")
		if err := build(work, exe); err != nil {
			return err
		}
	}
	walks, err := records(work)
	if err != nil {
		return err
	}
	for _, w := range walks {
		functions, err := w.functions(exe, filepath.Join(work, w.name))
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		if list {
			fmt.Println(strings.Join(functions, "\n"))
		}
		path, rooms, returns := packages(functions)
		fmt.Printf("%s: %d rooms, %d returns\n\t%s\n", w.name, rooms, returns, strings.Join(path, " "))
	}
	return nil
}

// build builds the stemma command with itself, so that each function has entries of its own.
func build(work, exe string) error {
	tree, err := machine.Find()
	if err != nil {
		return err
	}
	stemma := filepath.Join(work, "stemma")
	if err := tree.BuildStemma(stemma); err != nil {
		return err
	}
	cmd := exec.Command(stemma, "build", "-gcflags="+module+"...=-l", "-o", exe, "./cmd/stemma")
	cmd.Dir = filepath.Dir(tree.Bench)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("stemma build: %w\n%s", err, out)
	}
	return nil
}

// records writes what the commands read.
func records(work string) ([]walk, error) {
	p := recordtest.NewProgram(1, 5)
	for range 50 {
		p.Act()
	}
	c := p.Capture()
	id := string(ctxid.Append(nil, ctxid.ID{Hi: c.Hi, Lo: c.Lo, Run: recordtest.Run}))
	tree, ids := filepath.Join(work, "tree"), filepath.Join(work, "ids")
	if err := os.CopyFS(tree, recordtest.Shapes().FS()); err != nil {
		return nil, err
	}
	if err := os.CopyFS(ids, p.D.FS()); err != nil {
		return nil, err
	}
	return []walk{
		{"report", []string{"report", tree}, "report.runReport", "cct.Of"},
		{"decode", []string{"decode", ids, id}, "decode.runDecode", "decode.Stack.Trim"},
	}, nil
}

// functions returns the functions of stemma that the command enters, in the order of their first entries. The nodes of
// a record are in the order in which the program made them.
func (w *walk) functions(exe, out string) (list []string, err error) {
	cmd := exec.Command(exe, w.args...)
	cmd.Env = append(os.Environ(), "STEMMA_OUT="+out)
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	dirs, _ := filepath.Glob(filepath.Join(out, "*"))
	if len(dirs) != 1 {
		return nil, fmt.Errorf("have %d records, want 1", len(dirs))
	}
	rec, err := record.Open(os.DirFS(dirs[0]))
	if err != nil {
		return nil, err
	}
	begun, seen := false, make(map[uint32]bool)
	for _, n := range rec.Nodes {
		f := &rec.Funcs[n.Func]
		name := rec.String(f.Name)
		begun = begun || strings.HasSuffix(name, w.from)
		name, own := strings.CutPrefix(name, module)
		if !begun || !own || seen[n.Func] || f.Kind != profile.FuncOrdinary {
			continue
		}
		seen[n.Func] = true
		if list = append(list, name); strings.HasSuffix(name, w.to) {
			return list, nil
		}
	}
	return nil, fmt.Errorf("%s does not come behind %s", w.to, w.from)
}

// packageOf returns the package of a function.
func packageOf(function string) string {
	function, _, _ = strings.Cut(function, "[") // type arguments have packages as well
	dir := strings.LastIndex(function, "/") + 1
	name, _, _ := strings.Cut(function[dir:], ".")
	return function[:dir] + name
}

// packages returns the packages that a walk goes through, but for words, with how many there are, and how often it
// comes back to one.
func packages(functions []string) (path []string, rooms, returns int) {
	for _, f := range functions {
		pkg := packageOf(f)
		switch {
		case slices.Contains(words, pkg), len(path) > 0 && path[len(path)-1] == pkg:
			continue
		case slices.Contains(path, pkg):
			returns++
		default:
			rooms++
		}
		path = append(path, pkg)
	}
	return path, rooms, returns
}
