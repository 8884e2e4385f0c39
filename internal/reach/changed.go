package reach

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A change is known by the functions whose lines it touches, in the old and in the new version of
// a file. What else of a file is touched, a declaration say, may matter to whatever depends on the package.

// A Change is something that a change of files touches.
type Change struct {
	File     string `json:"file"`               // relative to the top of the repository
	Function string `json:"function,omitempty"` // as Go calls it, without its package: (*T).M; "" for all else
	What     string `json:"what,omitempty"`     // what it is, if it is no function

	dir  string // absolute, of the file
	test bool   // the file is compiled into tests only
}

// Changes returns what differs between two versions: base and the files as they are now, or, if there are dots in
// the range, base and another version, as for git diff. It runs git in the working directory.
func Changes(versions string) ([]Change, error) {
	base, next, isRange := strings.Cut(strings.Replace(versions, "...", "..", 1), "..")
	if base = cmp.Or(base, "HEAD"); isRange {
		next = cmp.Or(next, "HEAD")
	}
	if strings.Contains(versions, "...") {
		out, err := git("merge-base", base, next)
		if err != nil {
			return nil, err
		}
		base = strings.TrimSpace(out)
	}
	top, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	g := &changes{top: strings.TrimSpace(top), base: base, next: next}
	args := []string{"diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-renames", "--src-prefix=a/",
		"--dst-prefix=b/", base}
	if isRange {
		args = append(args, next)
	}
	text, err := git(append(args, "--")...)
	if err != nil {
		return nil, err
	}
	if err := g.read(text); err != nil {
		return nil, err
	}
	return g.list, nil
}

// git runs git and returns what it prints.
func git(args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "core.quotePath=false"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// changes is the state of Changes.
type changes struct {
	top, base, next string // next is "" for the files as they are
	list            []Change
}

// A hunk is lines of one file that were replaced by others.
type hunk struct{ old, new lines }

// lines are from begin up to, but without, end.
type lines struct{ begin, end int }

// read takes the files and lines from what git diff prints.
func (g *changes) read(text string) error {
	var file string
	var hunks []hunk
	flush := func() error {
		if file == "" {
			return nil
		}
		err := g.file(file, hunks)
		file, hunks = "", nil
		return err
	}
	in := bufio.NewScanner(strings.NewReader(text))
	in.Buffer(nil, 1<<28)
	for in.Scan() {
		line := in.Text()
		switch {
		case strings.HasPrefix(line, "diff --git "):
			if err := flush(); err != nil {
				return err
			}
			// Both names are the same, as renames are not looked for.
			names := strings.TrimPrefix(line, "diff --git ")
			file = strings.TrimPrefix(names[:len(names)/2], "a/")
		case strings.HasPrefix(line, "@@ "):
			h, err := parseHunk(line)
			if err != nil {
				return err
			}
			hunks = append(hunks, h)
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("git diff: %w", err)
	}
	return flush()
}

// parseHunk reads "@@ -old[,count] +new[,count] @@".
func parseHunk(line string) (h hunk, err error) {
	words := strings.Fields(line)
	if len(words) < 4 {
		return h, fmt.Errorf("git diff: %q, want @@ -LINE,COUNT +LINE,COUNT @@", line)
	}
	for i, to := range []*lines{&h.old, &h.new} {
		first, count, ok := strings.Cut(words[1+i][1:], ",")
		n := 1
		if ok {
			if n, err = strconv.Atoi(count); err != nil {
				return h, fmt.Errorf("git diff: %q: %w", line, err)
			}
		}
		if to.begin, err = strconv.Atoi(first); err != nil {
			return h, fmt.Errorf("git diff: %q: %w", line, err)
		}
		to.end = to.begin + n
	}
	return h, nil
}

// file adds what the hunks of a file touch.
func (g *changes) file(name string, hunks []hunk) error {
	c := Change{File: name, dir: filepath.Join(g.top, filepath.FromSlash(path.Dir(name))),
		test: strings.HasSuffix(name, "_test.go")}
	if !strings.HasSuffix(name, ".go") || inTestdata(name) {
		c.What = "file"
		g.list = append(g.list, c)
		return nil
	}
	old, err := g.parse(g.base, name)
	if err != nil {
		return err
	}
	now, err := g.parse(g.next, name)
	if err != nil {
		return err
	}
	touched := make(map[string]bool) // functions, and other declarations behind a space
	for _, h := range hunks {
		old.touch(h.old, touched)
		now.touch(h.new, touched)
	}
	for _, key := range sortedKeys(touched) {
		c.Function, c.What = key, ""
		what, isDecl := strings.CutPrefix(key, " ")
		_, was := old.funcs[key]
		f, is := now.funcs[key]
		switch {
		case isDecl:
			c.Function, c.What = "", what
		case key == "init":
			c.Function, c.What = "", "init"
		case !was && is && f.Recv == nil:
			if !IsTestName(key) {
				continue // nobody calls it but what has changed as well
			}
		case !was || !is && old.funcs[key].Recv != nil:
			c.Function, c.What = "", "methods" // what a type implements has changed
		case native(old.funcs[key]) || native(f):
			c.Function, c.What = "", "function "+key+", whose calls are not counted"
		}
		g.list = append(g.list, c)
	}
	return nil
}

func sortedKeys(m map[string]bool) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

func inTestdata(name string) bool { return slices.Contains(strings.Split(name, "/"), "testdata") }

// native tells whether the function may not be instrumented, so that its calls are not seen.
func native(f *ast.FuncDecl) bool {
	if f == nil {
		return false
	}
	if f.Body == nil {
		return true
	}
	return f.Doc != nil && slices.ContainsFunc(f.Doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:nosplit") || strings.HasPrefix(c.Text, "//go:linkname")
	})
}

// A source is one version of a file. That of a file which is not there has nothing.
type source struct {
	fset  *token.FileSet
	file  *ast.File
	funcs map[string]*ast.FuncDecl
}

// parse reads a version of a file; "" is the file as it is.
func (g *changes) parse(version, name string) (*source, error) {
	s := &source{fset: token.NewFileSet(), funcs: make(map[string]*ast.FuncDecl)}
	var text []byte
	if version == "" {
		text, _ = os.ReadFile(filepath.Join(g.top, filepath.FromSlash(name))) // it may be gone
	} else if out, err := git("show", version+":"+name); err == nil { // likewise
		text = []byte(out)
	}
	if len(text) == 0 {
		return s, nil
	}
	file, err := parser.ParseFile(s.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmp.Or(version, "now"), err)
	}
	s.file = file
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			s.funcs[funcName(f)] = f
		}
	}
	return s, nil
}

// touch adds the declarations that lines lie in. Comments and empty lines between them are nothing, but directives.
func (s *source) touch(l lines, touched map[string]bool) {
	if s.file == nil || l.begin == l.end {
		return
	}
	meets := func(from, to token.Pos) bool {
		return s.fset.Position(from).Line < l.end && l.begin <= s.fset.Position(to).Line
	}
	for _, d := range s.file.Decls {
		if !meets(d.Pos(), d.End()) {
			continue
		}
		switch d := d.(type) {
		case *ast.FuncDecl:
			touched[funcName(d)] = true
		case *ast.GenDecl:
			touched[" "+d.Tok.String()] = true
		}
	}
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			directive := strings.HasPrefix(c.Text, "//go:") || strings.HasPrefix(c.Text, "// +build")
			if directive && meets(c.Pos(), c.End()) {
				touched[" directive"] = true
			}
		}
	}
	if meets(s.file.Package, s.file.Name.End()) {
		touched[" package"] = true
	}
}

// funcName returns the name of a function as Go's tracebacks have it, without the package and type parameters.
func funcName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	t, form := f.Recv.List[0].Type, "%s.%s"
	if p, ok := t.(*ast.ParenExpr); ok {
		t = p.X
	}
	if star, ok := t.(*ast.StarExpr); ok {
		t, form = star.X, "(*%s).%s"
	}
	switch x := t.(type) {
	case *ast.IndexExpr:
		t = x.X
	case *ast.IndexListExpr:
		t = x.X
	}
	name := "?"
	if id, ok := t.(*ast.Ident); ok {
		name = id.Name
	}
	return fmt.Sprintf(form, name, f.Name.Name)
}
