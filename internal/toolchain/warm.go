package toolchain

import (
	"cmp"
	"errors"
	"fmt"
	"go/version"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/callgraph"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/packages"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/safefile"
	"github.com/stemma-go/stemma/profile"
)

// WarmStatic as Options.Warm asks for the call graph of the source.
const WarmStatic = "static"

// WarmSuffix is what the name of a warm file has more than that of the executable
// that it is for.
const WarmSuffix = ".warm"

// A Warmer makes warm files for the executables of a build.
type Warmer struct {
	source *callgraph.Source
	record *record.Record
}

// WarmStats is what a warm file has.
type WarmStats struct {
	Functions, Edges, Calls, Encoded int
}

// listFlags are the flags of go build that decide which files a package has, or
// what is in them.
var listFlags = []string{"tags", "mod", "modfile", "overlay", "race", "installsuffix", "compiler", "pgo", "cover"}

// A warmBuild is what the call graph of a build depends on.
type warmBuild struct {
	warm    string   // Options.Warm
	dir     string   // where the go command runs
	root    string   // Go.Root
	trimmed bool     // by -trimpath
	flags   []string // of go list
}

// warmBuild returns what a build with the flags of a needs for its warm files.
func (b *Build) warmBuild(o Options, a *Args) *warmBuild {
	w := &warmBuild{warm: o.Warm, dir: b.Dir, root: b.Go.Root, flags: slices.Clone(b.listFlags)}
	for _, x := range a.args {
		if !slices.Contains(listFlags, x.flag) {
			continue
		}
		switch x.flag {
		case "modfile", "overlay", "pgo": // the list may be asked for in another directory, see WarmExec
			if x.value != "" && x.value != "auto" && x.value != "off" {
				x.words = []string{"-" + x.flag + "=" + b.absolute(x.value)}
			}
		}
		w.flags = append(w.flags, x.words...)
	}
	w.trimmed = b.withGOFLAGS(a).isSet("trimpath")
	return w
}

// withGOFLAGS returns a with the flags of GOFLAGS in front.
func (b *Build) withGOFLAGS(a *Args) *Args {
	all, err := a.withGOFLAGS(b.Go.Flags)
	if err != nil {
		return a // the go command has refused it
	}
	return all
}

// absolute returns the path of a file that the command line names, which is that from where the go command runs.
func (b *Build) absolute(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(absolute(b.Dir), name)
}

// NewWarmer reads what o.Warm names: by default, the call graph of the packages
// that are built with the flags of a.
func (b *Build) NewWarmer(o Options, a *Args, patterns []string) (*Warmer, error) {
	return b.warmBuild(o, a).warmer(patterns, false)
}

// warmer is NewWarmer. With tests, it includes those of the packages.
func (w *warmBuild) warmer(patterns []string, tests bool) (*Warmer, error) {
	if w.warm != "" && w.warm != WarmStatic {
		p, err := readRecord(w.warm)
		return &Warmer{record: p}, err
	}
	pkgs, err := packages.Load(&packages.Config{Dir: w.dir, Tests: tests, Flags: w.flags}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("call graph: %w", err)
	}
	names := callgraph.Names{Trimmed: w.trimmed, To: w.root}
	if names.From, err = filepath.EvalSymlinks(w.root); err != nil {
		return nil, err
	}
	s, err := callgraph.Analyze(pkgs, names)
	if err != nil {
		return nil, fmt.Errorf("call graph: %w", err)
	}
	return &Warmer{source: s}, nil
}

// readRecord reads the sealed record of a program with context IDs, or with exact counts.
func readRecord(name string) (*record.Record, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("-warm: %w", err)
	}
	defer f.Close()
	p, err := record.Read(f)
	if err != nil {
		return nil, fmt.Errorf("-warm: %s: %w", name, err)
	}
	if p.IDs == nil && !p.Has(profile.Calls) {
		return nil, fmt.Errorf("-warm: %s: neither context IDs nor counts of calls; want the record of a program "+
			"built with %s or %s", name, engine.Giving(engine.IDs), engine.Giving(engine.Counts))
	}
	return p, nil
}

// Write makes the warm file of an executable.
func (w *Warmer) Write(exe string) (s WarmStats, err error) {
	f, err := os.Open(exe)
	if err != nil {
		return s, err
	}
	defer f.Close()
	bin, err := callgraph.ReadBinary(f)
	if err != nil {
		return s, fmt.Errorf("%s: %w", exe, err)
	}
	var g *callgraph.Graph
	switch {
	case w.record == nil:
		g = callgraph.Match(bin, w.source)
	case w.record.IDs == nil:
		g = callgraph.FromProfile(bin, w.record.Profile)
	default:
		g = callgraph.FromRecord(bin, w.record)
	}
	file, encoded := g.AppendWarm(nil)
	s = WarmStats{len(bin.Funcs), g.Edges(), len(g.Calls), encoded}
	return s, safefile.Write(exe+WarmSuffix, safefile.Usual, func(w io.Writer) error {
		_, err := w.Write(file)
		return err
	})
}

// Executables returns where go build has put the programs of the packages: at -o,
// below it if it is a directory, or where the command ran. There are none if it
// threw them away, as it does with those of several packages, and none where -o is no file.
func (b *Build) Executables(a *Args, patterns []string) ([]string, error) {
	out, _ := b.withGOFLAGS(a).Flag("o")
	given := out != ""
	dir, file := b.Dir, ""
	if given {
		dir = b.absolute(out)
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir() && !info.Mode().IsRegular():
			return nil, nil
		case !strings.HasSuffix(out, "/") && (err != nil || !info.IsDir()):
			file = dir
		}
	}
	pkgs, err := packages.List(&packages.Config{Dir: b.Dir, Flags: b.warmBuild(Options{}, a).flags}, patterns...)
	if err != nil || len(pkgs) > 1 && !given {
		return nil, err
	}
	var exes []string
	for _, p := range pkgs {
		if p.Name == "main" {
			exes = append(exes, cmp.Or(file, filepath.Join(dir, nameOfMain(p))))
		}
	}
	return exes, nil
}

// nameOfMain returns what go build calls the program of a package: by its first file, if it is given as files.
func nameOfMain(p *packages.Package) string {
	if files := slices.Concat(p.GoFiles, p.CgoFiles); p.Path() == "command-line-arguments" && len(files) > 0 {
		return strings.TrimSuffix(filepath.Base(files[0]), ".go")
	}
	return programName(p.Path())
}

var majorVersion = regexp.MustCompile(`^v([2-9]|[1-9][0-9]+)$`)

// programName returns what go build calls the program of a package.
func programName(importPath string) string {
	dir, name := path.Split(importPath)
	if majorVersion.MatchString(name) && dir != "" {
		name = path.Base(dir)
	}
	return name
}

// MakesWarm reports whether a build makes warm files. That of a program has the program's own
// functions: those of a plugin are unknown until they are called, whatever the engine.
func (b *Build) MakesWarm(o *Options, a *Args) bool {
	all := b.withGOFLAGS(a)
	mode, _ := all.Flag("buildmode")
	return o.IsWarm() && mode != "plugin" && !all.isSet("n")
}

// CheckWarm reports what a warm file cannot be made for.
func (o *Options) CheckWarm(a *Args, patterns []string) error {
	if !o.IsWarm() {
		return nil
	}
	for _, p := range patterns {
		if strings.Contains(p, "@") && (o.Warm == "" || o.Warm == WarmStatic) {
			return fmt.Errorf("%s: the call graph needs the sources in a module; use go get, and then the package "+
				"without its version", p)
		}
	}
	return nil
}

// checkReader reports whether stemma, built with the Go release own, can read the sources of Go
// goVersion for a static call graph: a parser and a type checker know the language of their own
// release. The other engines leave sources to the go command.
func (o *Options) checkReader(goVersion, own string) error {
	goVersion, _, _ = strings.Cut(goVersion, " ") // behind it are experiments
	own, _, _ = strings.Cut(own, " ")
	if !o.IsWarm() || o.Warm != "" && o.Warm != WarmStatic ||
		version.Compare(version.Lang(own), version.Lang(goVersion)) >= 0 || !version.IsValid(own) {
		return nil
	}
	return fmt.Errorf("call graph: this stemma was built with %s and cannot read the sources of %s; build it once "+
		"more (GOTOOLCHAIN=%s go install github.com/stemma-go/stemma/cmd/stemma@latest), or use another engine",
		own, goVersion, goVersion)
}

// Test binaries.
//
// The go command makes a test binary in a directory of its own and runs it there
// and then, so that its warm file must come in between: go test -exec runs the
// hidden command warmexec, in the directory of the package, which makes the file and
// becomes the test.

// WarmExec returns what -exec of go test must be, with the user's own -exec in a.
func (b *Build) WarmExec(o Options, a *Args) (string, error) {
	user, _ := a.Flag("exec")
	chain, err := base.SplitQuoted(user)
	if err != nil {
		return "", fmt.Errorf("-exec: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	w := b.warmBuild(o, a)
	if w.warm != "" && w.warm != WarmStatic {
		w.warm = absolute(w.warm)
	}
	words := []string{self, "warmexec", w.warm, w.root, strconv.FormatBool(w.trimmed), strconv.Itoa(len(w.flags))}
	return base.JoinQuoted(slices.Concat(words, w.flags, chain))
}

// RunWarm is the hidden command warmexec: it makes the warm file of a test binary and
// replaces this process by the binary, or by what the user has it run by. The binary
// is the first argument that go test adds: an absolute path that ends in ".test".
func RunWarm(args []string) error {
	if len(args) < 5 {
		return errors.New("warmexec: this command is for the go command's -exec")
	}
	n, err := strconv.Atoi(args[3])
	if err != nil || n < 0 || len(args) < 5+n {
		return errors.New("warmexec: this command is for the go command's -exec")
	}
	w := &warmBuild{warm: args[0], root: args[1], trimmed: args[2] == "true", flags: args[4 : 4+n]}
	argv := args[4+n:]
	exe := slices.IndexFunc(argv, func(s string) bool { return filepath.IsAbs(s) && strings.HasSuffix(s, ".test") })
	if exe < 0 {
		return fmt.Errorf("warmexec: no test binary in %q", argv)
	}
	made, err := w.warmer([]string{"."}, true)
	if err != nil {
		return err
	}
	if _, err := made.Write(argv[exe]); err != nil {
		return err
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, argv, os.Environ()))
}
