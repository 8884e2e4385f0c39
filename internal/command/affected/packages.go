package affected

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Package is what go list says of one.
type Package struct {
	ImportPath, Dir, ForTest                                                         string
	Standard, DepOnly                                                                bool
	Module                                                                           *struct{ Path, Dir string }
	Error                                                                            *struct{ Err string }
	GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles                     []string
	CFiles, CXXFiles, MFiles, HFiles, FFiles, SFiles                                 []string
	SwigFiles, SwigCXXFiles, SysoFiles                                               []string
	EmbedPatterns, EmbedFiles, TestEmbedPatterns, TestEmbedFiles, XTestEmbedPatterns []string
	XTestEmbedFiles                                                                  []string
	Deps, TestImports, XTestImports                                                  []string

	calls *statics // see static
}

// fields are those of a Package, as go list is asked for them.
const fields = "ImportPath,Dir,ForTest,Standard,DepOnly,Module,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles," +
	"XTestGoFiles,CFiles,CXXFiles,MFiles,HFiles,FFiles,SFiles,SwigFiles,SwigCXXFiles,SysoFiles,EmbedPatterns," +
	"EmbedFiles,TestEmbedPatterns,TestEmbedFiles,XTestEmbedPatterns,XTestEmbedFiles,Deps,TestImports,XTestImports,Error"

// stemmaPath is the module whose package stemmatest has assertions that do nothing in a plain build.
const stemmaPath = "github.com/stemma-go/stemma"

// compiled returns the files that the package and its tests are built from, but for embedded ones.
func (p *Package) compiled() []string {
	return slices.Concat(p.GoFiles, p.CgoFiles, p.TestGoFiles, p.XTestGoFiles, p.CFiles, p.CXXFiles, p.MFiles, p.HFiles,
		p.FFiles, p.SFiles, p.SwigFiles, p.SwigCXXFiles, p.SysoFiles)
}

// embedded returns the files that are in the package or its tests.
func (p *Package) embedded() []string {
	return slices.Concat(p.EmbedFiles, p.TestEmbedFiles, p.XTestEmbedFiles)
}

// embeds reports whether a file, by its path in the package's directory, is embedded, or was before it was removed.
func (p *Package) embeds(rel string) bool {
	patterns := slices.Concat(p.EmbedPatterns, p.TestEmbedPatterns, p.XTestEmbedPatterns)
	return slices.Contains(p.embedded(), rel) || matchesAny(patterns, rel)
}

// matchesAny reports whether one of the patterns of go:embed matches a file, or a directory above it.
func matchesAny(patterns []string, rel string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		pattern = strings.TrimPrefix(pattern, "all:")
		for name := rel; name != "."; name = filepath.Dir(name) {
			if ok, err := filepath.Match(pattern, name); ok && err == nil {
				return true
			}
		}
		return pattern == "."
	})
}

// callsC reports whether files of C and assembly may be part of the package, wherever they lie.
func (p *Package) callsC() bool {
	return !p.Standard && len(p.CgoFiles)+len(p.SFiles)+len(p.SwigFiles)+len(p.SwigCXXFiles) > 0
}

// hasTests reports whether go test has something to run.
func (p *Package) hasTests() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// tests returns the tests that go test runs, of a package whose files can be parsed. Benchmarks are none of them.
func (p *Package) tests() (names []string) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			continue // it does not compile, and all tests of the package fail
		}
		files = append(files, f)
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") || ok && fn.Recv == nil &&
				strings.HasPrefix(fn.Name.Name, "Fuzz") {
				names = append(names, fn.Name.Name)
			}
		}
	}
	for _, e := range doc.Examples(files...) {
		if e.Output != "" || e.EmptyOutput {
			names = append(names, "Example"+e.Name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !IsTestName(name) })
}

// A Module is one whose tests are looked at, with all packages that they are built from.
type Module struct {
	Dir      string // absolute, without links
	Path     string // as go.mod has it
	At       string // as an argument of -C, "" for the working directory's own
	Off      bool   // it is none of the workspace, so that go needs GOWORK=off
	Packages []*Package
	Failed   error // it could not be listed

	byPath map[string]*Package
	files  map[string][]*Package // by real name
	others []string              // directories of modules that may be part of its builds; nil if that is not known
}

// command returns a go command that runs in the module.
func (m *Module) command(args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = m.Dir
	if m.Off {
		cmd.Env = append(cmd.Environ(), "GOWORK=off")
	}
	return cmd
}

// output runs a go command in the module.
func (m *Module) output(args ...string) ([]byte, error) {
	cmd := m.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// list finds the packages of the module, and what they and their tests import.
func (m *Module) list() {
	out, err := m.output("list", "-e", "-deps", "-test", "-json="+fields, "./...")
	if err == nil {
		err = m.read(out)
	}
	if m.Failed = err; err != nil && m.At != "" && !m.Off {
		m.Off = true
		m.list()
	}
}

// read takes what go list prints. Packages that are compiled anew for a test stand for those that they are.
func (m *Module) read(out []byte) error {
	var list []*Package
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(Package)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		p.ImportPath = plainPath(p.ImportPath)
		if p.ImportPath == "./..." && p.Error != nil {
			return errors.New(p.Error.Err)
		}
		isTest := p.ForTest != "" && strings.TrimSuffix(p.ImportPath, "_test") == p.ForTest
		if !isTest && p.Dir != "" {
			list = append(list, p)
		}
	}
	m.take(list)
	return nil
}

// take sets the packages of the module.
func (m *Module) take(list []*Package) {
	m.byPath, m.files = make(map[string]*Package), make(map[string][]*Package)
	for _, p := range list {
		base, isMain := strings.CutSuffix(p.ImportPath, ".test")
		of := m.byPath[base]
		if m.byPath[p.ImportPath] != nil || isMain && of != nil && of.Dir == p.Dir {
			continue
		}
		for i, path := range p.Deps {
			p.Deps[i] = plainPath(path)
		}
		m.byPath[p.ImportPath] = p
		m.Packages = append(m.Packages, p)
		if p.Standard {
			continue
		}
		p.Dir = real(p.Dir)
		for _, file := range p.compiled() {
			name := real(filepath.Join(p.Dir, file))
			m.files[name] = append(m.files[name], p)
		}
	}
}

// plainPath returns an import path without the test that a package is compiled for.
func plainPath(path string) string {
	path, _, _ = strings.Cut(path, " [")
	return path
}

// real returns a path without links, as far as there is something.
func real(name string) string {
	if path, err := filepath.EvalSymlinks(name); err == nil {
		return path
	}
	if dir, base := filepath.Dir(name), filepath.Base(name); dir != name {
		return filepath.Join(real(dir), base)
	}
	return name
}

// owns reports whether a package is one of the module, and not only imported.
func (m *Module) owns(p *Package) bool {
	return !p.DepOnly && !p.Standard && (p.Module == nil || real(p.Module.Dir) == m.Dir)
}

// modulePath returns what the go.mod in a directory calls its module, "" if there is none.
func modulePath(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "module" {
			return strings.Trim(f[1], "\"`")
		}
	}
	return ""
}

// concerns reports whether another module's go.mod may matter to the module.
func (m *Module) concerns(dir string) bool {
	if dir == m.Dir {
		return true
	}
	if m.others == nil {
		m.others = []string{}
		out, err := m.output("list", "-m", "-e", "-f={{.Dir}}", "all")
		if err != nil {
			m.others = []string{dir}
		}
		for line := range strings.Lines(string(out)) {
			m.others = append(m.others, real(strings.TrimSuffix(line, "\n")))
		}
	}
	return slices.Contains(m.others, dir)
}

// Modules returns the module of the working directory, and others of the repository. The tests of all are looked at:
// a change in one may concern those that use it, whether by a replacement or by a workspace.
func Modules(r *Repository) ([]*Module, error) {
	out, err := new(Module).output("env", "GOMOD")
	if err != nil {
		return nil, err
	}
	file := strings.TrimSpace(string(out))
	isModule := filepath.Base(file) == "go.mod"
	own := &Module{Dir: filepath.Dir(file)}
	if !isModule { // it may be a workspace
		own.Dir = r.dir
	}
	own.Dir = real(own.Dir)
	list := []*Module{own}
	for _, file := range r.modules() {
		if dir := real(filepath.Dir(r.path(file))); dir != own.Dir {
			list = append(list, &Module{Dir: dir, At: relative(r.dir, dir)})
		}
	}
	for _, m := range list {
		m.Path = modulePath(m.Dir)
		m.list()
	}
	if own.Failed != nil && len(list) > 1 && !isModule {
		return list[1:], nil
	}
	return list, own.Failed
}

// relative returns a directory as an argument of -C.
func relative(base, dir string) string {
	rel, err := filepath.Rel(base, dir)
	if err != nil {
		return dir
	}
	if strings.HasPrefix(rel, "-") {
		return "./" + rel
	}
	return rel
}
