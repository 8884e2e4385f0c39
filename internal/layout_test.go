package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// numbersAllowed are the files outside package layout that may have offsets as numbers, or
// take numbers out of bytes on their own, each with its reason.
var numbersAllowed = map[string]string{
	"internal/record/raw/raw.go":                                        "it is what loads and stores records",
	"internal/sealed/container.go":                                      "the sealed file, see FORMAT.md",
	"internal/sealed/export_test.go":                                    "the sealed file, see FORMAT.md",
	"internal/testing/e2e/safety/safe_test.go":                          "numbers that its own program prints",
	"internal/goroot/_goroot/cmd/compile/internal/ssagen/stemma_pcc.go": "a hash becomes a number",
	"internal/goroot/_goroot/runtime/stemma_linux_amd64.go":             "a system call's instruction",
	"internal/goroot/_goroot/runtime/stemma_linux_arm64.go":             "a system call's instruction",
	"internal/goroot/_goroot/runtime/stemma_tramp_amd64.go":             "the trampoline's instructions",
	"bench/programs/nats/fleet.go":                                      "a program of its own",
	"bench/instructions/calibrating/std/loops.go":                       "a program of its own",
}

// A file outside package layout has no offset of a record as a number: it neither takes
// numbers of a fixed width out of bytes on its own, nor adds a number to an address.
func TestNoOffsets(t *testing.T) {
	files := 0
	used := map[string]bool{}
	for name, path := range sources(t, ".go") {
		if strings.HasPrefix(name, "internal/goroot/layout/") {
			continue
		}
		files++
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range offsetsIn(f) {
			if used[name] = true; numbersAllowed[name] == "" {
				t.Errorf("%s: %s; use a field of package layout, or raw.Load and raw.Store", name, what)
			}
		}
	}
	for name := range numbersAllowed {
		if !used[name] {
			t.Errorf("%s: is allowed to have offsets, and has none", name)
		}
	}
	if files < 300 {
		t.Errorf("%d files were looked at, want all", files)
	}
}

// offsetsIn returns what looks like an offset of a record.
func offsetsIn(f *ast.File) (found []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if isSelector(n, "binary", "LittleEndian") || isSelector(n, "binary", "BigEndian") {
				found = append(found, "uses binary."+n.Sel.Name)
			}
		case *ast.CallExpr:
			if isSelector(n.Fun, "unsafe", "Add") && len(n.Args) == 2 && hasNumber(n.Args[1]) {
				found = append(found, "unsafe.Add of a number")
			}
			if isSelector(n.Fun, "unsafe", "Pointer") && len(n.Args) == 1 && hasNumber(n.Args[0]) {
				found = append(found, "unsafe.Pointer of an address with a number added")
			}
		}
		return true
	})
	return found
}

func isSelector(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// hasNumber reports whether a sum, a difference or a product has a number in it.
func hasNumber(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return (e.Op == token.ADD || e.Op == token.SUB || e.Op == token.MUL) &&
			(isNumber(e.X) || isNumber(e.Y) || hasNumber(e.X) || hasNumber(e.Y))
	case *ast.ParenExpr:
		return hasNumber(e.X)
	case *ast.CallExpr: // a conversion
		return len(e.Args) == 1 && (hasNumber(e.Args[0]))
	}
	return isNumber(e)
}

func isNumber(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.INT && lit.Value != "0"
}

// Assembly has constants and offsets from go_asm.h, where the compiler writes those that
// stemma_asm.go takes from package layout. A number in front of a register is an offset;
// those from the stack pointer belong to the function alone.
func TestAssemblyHasNoOffsets(t *testing.T) {
	define := regexp.MustCompile(`^\s*#define\s+\w+.*\d`)
	offset := regexp.MustCompile(`(?:^|[\s,(])-?(?:0x)?[0-9a-fA-F]*[1-9a-fA-F][0-9a-fA-F]*\)?\((?:AX|BX|CX|DX|SI|DI|BP|R\d+)\)`)
	files := 0
	for name, path := range sources(t, ".s") {
		if !strings.HasPrefix(name, "internal/goroot/_goroot/") {
			continue
		}
		files++
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(data), "\n") {
			line, _, _ = strings.Cut(line, "//")
			if define.MatchString(line) {
				t.Errorf("%s:%d: defines a constant: %s; take it from go_asm.h, see stemma_asm.go", name, i+1,
					strings.TrimSpace(line))
			}
			if offset.MatchString(line) {
				t.Errorf("%s:%d: has an offset as a number: %s; take it from go_asm.h, see stemma_asm.go", name, i+1,
					strings.TrimSpace(line))
			}
		}
	}
	if files < 4 {
		t.Errorf("%d files were looked at, want all", files)
	}
}

// sources returns the files of the module with the given ending, by name and path.
func sources(t *testing.T, ending string) map[string]string {
	t.Helper()
	list := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != ".." && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(path, ending) {
			list[strings.TrimPrefix(filepath.ToSlash(path), "../")] = path
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
