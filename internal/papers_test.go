package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What bench/PAPERS.md names beside what all documents do: `-only=trees`; table `trees`.
var (
	namedExp   = regexp.MustCompile("`-only=([a-z,]+)`")
	namedTable = regexp.MustCompile("(?:table|figure) `([a-z-]+)`")
	experiment = regexp.MustCompile(`(?m)^\t\t\{"([a-z]+)", .*\.[A-Za-z]*Time, [a-z]+\.[A-Z]`)
	tableName  = regexp.MustCompile(`(?:Name: |twoFigures\()"([a-z-]+)"`)
	asmDecl    = regexp.MustCompile(`(?m)^TEXT [^(]*·([A-Za-z0-9_]+)`)
)

// TestPapers looks for the experiments and tables that the page about the papers names.
func TestPapers(t *testing.T) {
	text := documents(t)["bench/PAPERS.md"]
	bench := benchSource(t)
	named := checkNames(t, text, namedExp, experiment, bench)
	named += checkNames(t, text, namedTable, tableName, bench)
	if named < 90 {
		t.Errorf("%d names found, want at least 90", named)
	}
}

// sourceFiles returns the files in which something may be declared.
func sourceFiles(t *testing.T) (files []string) {
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case slices.Contains([]string{".go", ".s", ".txtar"}, filepath.Ext(file)):
			files = append(files, filepath.ToSlash(file))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// declared returns what a file declares at its top level; methods as T.M.
func declared(t *testing.T, file string) (names []string) {
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(file, ".go") {
		for _, m := range asmDecl.FindAllStringSubmatch(string(src), -1) {
			names = append(names, m[1])
		}
		return names
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		names = append(names, declNames(d)...)
	}
	return names
}

func declNames(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		recv := d.Recv.List[0].Type
		if star, ok := recv.(*ast.StarExpr); ok {
			recv = star.X
		}
		if id, ok := recv.(*ast.Ident); ok {
			return []string{id.Name + "." + d.Name.Name}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}

// benchSource returns the source of the benchmark.
func benchSource(t *testing.T) string {
	var all strings.Builder
	for _, pattern := range []string{"../bench/*.go", "../bench/internal/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") {
				all.Write(src)
			}
		}
	}
	return all.String()
}

// checkNames looks in src, by the expression there, for the names that text has by its
// own, and returns how many there are.
func checkNames(t *testing.T, text string, named, there *regexp.Regexp, src string) (n int) {
	t.Helper()
	var have []string
	for _, m := range there.FindAllStringSubmatch(src, -1) {
		have = append(have, m[1])
	}
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			if name != "" && !slices.Contains(have, name) {
				t.Errorf("%s: bench has no %s, but %q", m[0], name, have)
			}
			n++
		}
	}
	return n
}
