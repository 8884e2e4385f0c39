package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
)

// settings matches the name of an environment variable of stemma's, at the beginning of a string, as it is looked up or
// set, or within one that a shell gets.
var settings = regexp.MustCompile(`\bSTEMMA_[A-Z_]*[A-Z]\b`)

// TestEnvironment looks for the environment variables that the code names, in strings of the tool, the half in the
// runtime, the tests and the benchmarks: the table of package base, from which the page is written, has all of them,
// and none that nothing looks up.
func TestEnvironment(t *testing.T) {
	named, looked := make(map[string]string), make(map[string]bool)
	err := filepath.WalkDir("..", func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") ||
			strings.HasSuffix(filepath.ToSlash(file), "base/variables.go") {
			return err
		}
		return stringsOf(file, func(text string) {
			for _, name := range settings.FindAllString(text, -1) {
				named[name] = file
			}
			looked[strings.TrimSuffix(text, "=")] = true
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	table := make(map[string]bool)
	for _, v := range base.Variables {
		if table[v.Name] {
			t.Errorf("%s is in the table twice", v.Name)
		}
		table[v.Name] = true
		if !looked[v.Name] {
			t.Errorf("%s is in the table, and nothing looks it up", v.Name)
		}
		if v.Text == "" || v.Reader != base.Within && v.Values == "" {
			t.Errorf("%s: the table does not say what it is", v.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !table[name] {
			t.Errorf("%s: %s is not in the table, internal/base/variables.go", named[name], name)
		}
	}
	if len(named) < 20 {
		t.Errorf("only %d variables found", len(named))
	}
}

// stringsOf calls f for each string literal of a file.
func stringsOf(file string, f func(text string)) error {
	src, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil // a program of the tests that does not compile, or of another release
	}
	ast.Inspect(src, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				f(text)
			}
		}
		return true
	})
	return nil
}
