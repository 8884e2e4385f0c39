package goroot

import (
	"go/ast"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOwnArchs shortens the compiler of the GOROOT at hand: no hook is in what is shortened, the table has our
// architectures, and each function that other files may call is still there.
func TestOwnArchs(t *testing.T) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := strings.TrimSpace(string(out))
	files, err := OwnArchs(root)
	if err != nil {
		t.Fatal(err)
	}
	hooked := (&Manifest{Hooks: allHooks()}).HookedFiles()
	for name, data := range files {
		if slices.Contains(hooked, name) {
			t.Errorf("%s has a hook", name)
		}
		p, err := parseSource(name, data)
		if err != nil {
			t.Fatal(err)
		}
		if name == compilerMain {
			checkTable(t, p)
			continue
		}
		if n := len(p.ast.Decls); n < 2 || n > 4 || len(p.ast.Imports) > 0 {
			t.Errorf("%s: %d declarations and %d imports are left", name, n, len(p.ast.Imports))
		}
		if base := strings.ToUpper(filepath.Base(name)); strings.Contains(base, "AMD64") || strings.Contains(base,
			"ARM64") {
			t.Errorf("%s is one of our own rules", name)
		}
	}
	if len(files) < 10 {
		t.Errorf("only %d files are shortened", len(files))
	}
	more, err := OwnArchs(root, "ppc64le")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`"ppc64le":`, `"cmd/compile/internal/ppc64"`} {
		if !strings.Contains(string(more[compilerMain]), text) {
			t.Errorf("the table with one architecture more has no %s", text)
		}
	}
	rules := compilerSSA + "/rewritePPC64.go"
	if files[rules] == nil || more[rules] != nil || len(more) >= len(files) {
		t.Errorf("its rules are shortened: %d files, %d without it", len(more), len(files))
	}
}

// checkTable checks that a main file is about our architectures.
func checkTable(t *testing.T, p *source) {
	t.Helper()
	var archs []string
	ast.Inspect(p.ast, func(n ast.Node) bool {
		if entry, ok := n.(*ast.KeyValueExpr); ok {
			archs = append(archs, entry.Key.(*ast.BasicLit).Value)
		}
		return true
	})
	if !slices.Equal(slices.Sorted(slices.Values(archs)), []string{`"amd64"`, `"arm64"`}) {
		t.Errorf("the table has %q", archs)
	}
	for _, i := range p.ast.Imports {
		if path := strings.Trim(i.Path.Value, `"`); strings.HasSuffix(path, "/arm") || strings.HasSuffix(path, "/x86") {
			t.Errorf("%s is imported", path)
		}
	}
}
