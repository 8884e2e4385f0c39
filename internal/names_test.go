package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What documents may name, between backquotes:
//
//	`rt/ids/plan.go`, `rt/ids/plan.go:plan.take`   a file, by the end of its path, with a declaration in it
//	`internal/cct/`, `e2e/tree/`                   a folder, by its path from the top or from internal, or by its end
//	`cct.Of`, `tree.Tree.Enter`, `plan.take`       a declaration, by its package or its type
//	`stemmaEnter`, `findRenames`                   a name with a capital within, of the module or of Go's runtime
//	`e2e/tree.TestExact`, `hostile.TestHostile/x`  a test, with one of its cases
//	`STEMMA_OUT=DIR`                               a variable of the environment
//	`go run ./internal/goroot/overlay`             a folder in a command of go, also in blocks
var (
	quoted     = regexp.MustCompile("`([^`\n]+)`")
	fileForm   = regexp.MustCompile(`^([a-zA-Z0-9_./-]+\.(?:go|s|js|css|txtar|md))(?::([A-Za-z0-9_.]+))?$`)
	folderForm = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_./-]*)/$`)
	dottedForm = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_/]*)\.([A-Za-z_][A-Za-z0-9_.]*)$`)
	humpForm   = regexp.MustCompile(`^[A-Za-z][a-z0-9]+[A-Z][A-Za-z0-9_]*$`)
	testForm   = regexp.MustCompile(`\.(?:Test|Fuzz|Benchmark)[A-Z0-9]`)
	variable   = regexp.MustCompile(`STEMMA_[A-Z_]*[A-Z]`)
	goCommand  = regexp.MustCompile("\\bgo (?:run|test|vet) [^`|#;\n]*")
	folderArg  = regexp.MustCompile(` \./([a-z0-9_/]*[a-z0-9_])`)
	noDecl     = regexp.MustCompile(`\.(?:mod|sum|yml|html|stemma|warm|av|out|h|json|txt|png|svg|log|varies)$`)

	// notNames are words with a capital within that stand for nothing in code.
	notNames = []string{"numCC", "ccStack", "GitHub"}
)

// namingDocuments are the documents about code: all that they name is looked for.
func namingDocuments(t *testing.T) map[string]string {
	texts := documents(t)
	for name := range texts {
		if name != "ARCHITECTURE.md" && name != "CONTRIBUTING.md" && name != "bench/PAPERS.md" &&
			!strings.HasPrefix(name, "docs/internals/") {
			delete(texts, name)
		}
	}
	return texts
}

// TestNames looks for what documents name: files, folders, declarations, variables of the environment.
func TestNames(t *testing.T) {
	ix := newIndex(t)
	total := 0
	for _, file := range slices.Sorted(maps.Keys(namingDocuments(t))) {
		text := fenced.ReplaceAllString(documents(t)[file], "")
		found := 0
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			looked, problem := ix.look(m[1])
			if looked {
				found++
			}
			if problem != "" {
				t.Errorf("%s: `%s`: %s", file, m[1], problem)
			}
		}
		if file != "ARCHITECTURE.md" && strings.HasPrefix(file, "docs/internals/") && found < 8 {
			t.Errorf("%s: only %d names found", file, found)
		}
		total += found
	}
	if total < 900 {
		t.Errorf("only %d names found in all", total)
	}
	t.Logf("%d names", total)
}

// TestVariables looks for the variables of the environment, and the folders in commands, that any document names.
func TestVariables(t *testing.T) {
	var source strings.Builder
	for _, file := range sourceFiles(t) {
		if filepath.Ext(file) == ".go" && !strings.HasSuffix(file, "_test.go") {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(src)
		}
	}
	for file, text := range documents(t) {
		for _, name := range variable.FindAllString(text, -1) {
			if !strings.Contains(source.String(), `"`+name) {
				t.Errorf("%s: no source has %s", file, name)
			}
		}
		for _, command := range goCommand.FindAllString(text, -1) {
			for _, m := range folderArg.FindAllStringSubmatch(command, -1) {
				if !isFolder("../"+m[1]) && !isFolder("../bench/"+m[1]) {
					t.Errorf("%s: %s: neither the module nor bench has a folder %s", file, command, m[1])
				}
			}
		}
	}
}

// An index knows what the module declares, and what packages of Go declare that it was asked for.
type index struct {
	t       *testing.T
	files   []string                   // with ../ in front
	folders []string                   // without
	decls   map[string]map[string]bool // by folder: names, T.M, T.field
	any     map[string]bool            // all of them, and their last parts
	hooks   string                     // text that goes into files of Go, and declares as well
	goSrc   string                     // the sources of Go
}

func newIndex(t *testing.T) *index {
	ix := &index{t: t, files: sourceFiles(t), decls: map[string]map[string]bool{}, any: map[string]bool{}}
	folders := map[string]bool{}
	for _, file := range ix.files {
		if (strings.HasSuffix(file, ".go") || strings.HasSuffix(file, ".s")) && !strings.Contains(file, "/testdata/") &&
			!strings.HasPrefix(file, "../bench/programs/") {
			dir := path.Dir(strings.TrimPrefix(file, "../"))
			if ix.decls[dir] == nil {
				ix.decls[dir] = map[string]bool{}
			}
			for _, name := range allNames(t, file) {
				ix.decls[dir][name], ix.any[name], ix.any[name[strings.LastIndex(name, ".")+1:]] = true, true, true
			}
		}
		for dir := path.Dir(strings.TrimPrefix(file, "../")); dir != "." && !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	ix.folders = slices.Sorted(maps.Keys(folders))
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	ix.goSrc = filepath.Join(strings.TrimSpace(string(root)), "src")
	hooks, err := filepath.Glob("goroot/hooks*.go")
	if err != nil || len(hooks) == 0 {
		t.Fatalf("%d files of hooks, %v", len(hooks), err)
	}
	for _, file := range hooks {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		ix.hooks += string(src)
	}
	return ix
}

// look looks for what is named, if it has one of the forms, and returns what is wrong with it.
func (ix *index) look(name string) (looked bool, problem string) {
	switch {
	case testForm.MatchString(name): // TestDocuments
		return true, ""
	case fileForm.MatchString(name):
		m := fileForm.FindStringSubmatch(name)
		return true, ix.file(m[1], m[2])
	case folderForm.MatchString(name):
		return true, ix.folder(strings.TrimSuffix(name, "/"))
	case noDecl.MatchString(name):
		return false, ""
	case dottedForm.MatchString(name):
		m := dottedForm.FindStringSubmatch(name)
		return true, ix.dotted(m[1], m[2])
	case humpForm.MatchString(name) && !slices.Contains(notNames, name):
		word := regexp.MustCompile(`\b` + name + `\b`)
		if !ix.any[name] && !ix.goDecls("runtime")[name] && !word.MatchString(ix.hooks) {
			return true, "nothing has that name"
		}
		return true, ""
	}
	return false, ""
}

func (ix *index) file(name, decl string) string {
	var found []string
	top, atTop := strings.CutPrefix(name, "./")
	for _, file := range documentsAnd(ix.files) {
		if atTop && file == "../"+top || file == "../"+name || file == "../internal/"+name {
			found = []string{file}
			break
		}
		if strings.HasSuffix(file, "/"+name) {
			found = append(found, file)
		}
	}
	switch {
	case len(found) != 1:
		return "want one file, have " + strings.Join(found, ", ")
	case decl != "" && !slices.Contains(allNames(ix.t, found[0]), decl):
		return found[0] + " does not declare " + decl
	}
	return ""
}

// documentsAnd adds the files that are no source.
func documentsAnd(files []string) []string {
	for _, pattern := range []string{"../*.md", "../docs/*/*.md", "../*/*.md", "../internal/*/assets/*"} {
		more, _ := filepath.Glob(pattern) // the pattern is right
		files = append(files, more...)
	}
	return files
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func (ix *index) folder(name string) string {
	if isFolder("../"+name) || isFolder(name) {
		return ""
	}
	for _, dir := range ix.folders {
		if strings.HasSuffix(dir, "/"+name) {
			return ""
		}
	}
	return "no such folder"
}

// dotted looks for a declaration in the packages whose path ends in x, of the module or of Go, or of a type x.
func (ix *index) dotted(x, name string) string {
	known := false
	for dir, decls := range ix.decls {
		if dir == x || dir == "internal/"+x || strings.HasSuffix(dir, "/"+x) || x == "stemma" && dir == "." {
			known = true
			if decls[name] {
				return ""
			}
		}
	}
	of := x + "." + name
	if ix.any[of] || ix.goDecls("runtime")[of] || ix.goDecls("cmd/compile/internal/ssagen")[of] {
		return ""
	}
	for _, dir := range ix.goPackages(x) {
		known = true
		if ix.goDecls(dir)[name] {
			return ""
		}
	}
	if known {
		return "package " + x + " does not declare " + name
	}
	return x + " is neither a package nor a type that has " + name
}

// goPackages returns the packages of the standard library whose path ends in x.
func (ix *index) goPackages(x string) (list []string) {
	for _, pattern := range []string{"", "*/", "*/*/", "cmd/compile/internal/"} {
		dirs, err := filepath.Glob(filepath.Join(ix.goSrc, pattern+x))
		if err != nil {
			ix.t.Fatal(err)
		}
		for _, dir := range dirs {
			rel, err := filepath.Rel(ix.goSrc, dir)
			if err != nil {
				ix.t.Fatal(err)
			}
			list = append(list, filepath.ToSlash(rel))
		}
	}
	return list
}

// goDecls returns what a package of the standard library declares.
func (ix *index) goDecls(pkg string) map[string]bool {
	key := "go:" + pkg
	if ix.decls[key] != nil {
		return ix.decls[key]
	}
	names := map[string]bool{}
	ix.decls[key] = names
	for _, ext := range []string{"*.go", "*_amd64.s"} {
		files, err := filepath.Glob(filepath.Join(ix.goSrc, pkg, ext))
		if err != nil {
			ix.t.Fatal(err)
		}
		for _, file := range files {
			for _, name := range allNames(ix.t, file) {
				names[name] = true
			}
		}
	}
	return names
}

// allNames returns what a file declares at its top level, with methods and fields of types: T.M, and of variables.
func allNames(t *testing.T, file string) (names []string) {
	names = declared(t, file)
	if !strings.HasSuffix(file, ".go") {
		return names
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, fieldNames(s.Name.Name, s.Type)...)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					names = append(names, fieldNames(id.Name, s.Type)...)
				}
			}
		}
	}
	return names
}

// fieldNames returns the fields of a struct, those of structs in it as well, and the methods of an interface.
func fieldNames(of string, typ ast.Expr) (names []string) {
	var list *ast.FieldList
	switch typ := typ.(type) {
	case *ast.StructType:
		list = typ.Fields
	case *ast.InterfaceType:
		list = typ.Methods
	default:
		return nil
	}
	for _, field := range list.List {
		for _, id := range field.Names {
			names = append(names, of+"."+id.Name)
			names = append(names, fieldNames(of+"."+id.Name, field.Type)...)
		}
	}
	return names
}
