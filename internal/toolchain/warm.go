package toolchain

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/stemma-go/stemma/internal/callgraph"
	"github.com/stemma-go/stemma/profile"
)

// WarmStatic as Options.Warm asks for the call graph of the source.
const WarmStatic = "static"

// WarmSuffix is what the name of a warm file has more than that of the executable
// that it is for.
const WarmSuffix = ".warm"

// A Warmer makes warm files for the executables of a build.
type Warmer struct {
	Packages []*packages.Package // that were named; only with a static graph

	source *callgraph.Source
	record *profile.Profile
}

// WarmStats is what a warm file has.
type WarmStats struct {
	Functions, Edges, Calls, Encoded int
}

// listFlags are the flags of go build that decide which files a package has, or
// what is in them.
var listFlags = []string{"tags", "mod", "modfile", "overlay", "race", "installsuffix", "compiler", "pgo", "cover"}

// NewWarmer reads what o.Warm names: by default, the call graph of the packages
// that are to be built with the flags of a. With tests, those of their tests.
func (b *Build) NewWarmer(o Options, a *Args, patterns []string, tests bool) (*Warmer, error) {
	if o.Warm != "" && o.Warm != WarmStatic {
		p, err := readRecord(o.Warm)
		return &Warmer{record: p}, err
	}
	flags := slices.Clone(b.listFlags)
	for _, x := range a.args {
		if slices.Contains(listFlags, x.flag) {
			flags = append(flags, x.words...)
		}
	}
	_, trimmed := a.Flag("trimpath")
	cfg := &packages.Config{Mode: callgraph.LoadMode, Dir: b.Dir, Tests: tests, BuildFlags: flags}
	pkgs, err := packages.Load(cfg, patterns...)
	if err != nil {
		return nil, fmt.Errorf("call graph: %w", err)
	}
	names := callgraph.Names{Trimmed: trimmed, To: b.Go.Root}
	if names.From, err = filepath.EvalSymlinks(b.Go.Root); err != nil {
		return nil, err
	}
	s, err := callgraph.Analyze(pkgs, names)
	if err != nil {
		return nil, fmt.Errorf("call graph: %w", err)
	}
	return &Warmer{Packages: pkgs, source: s}, nil
}

// readRecord reads the sealed record of a program with context IDs.
func readRecord(name string) (*profile.Profile, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("-warm: %w", err)
	}
	defer f.Close()
	p, err := profile.Read(f)
	if err != nil {
		return nil, fmt.Errorf("-warm: %s: %w", name, err)
	}
	if p.Contexts == nil {
		return nil, fmt.Errorf("-warm: %s: no record of context IDs; want that of a program built with -engine=dacce", name)
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
	if w.record != nil {
		g = callgraph.FromRecord(bin, w.record)
	} else {
		g = callgraph.Match(bin, w.source)
	}
	file, encoded := g.AppendWarm(nil)
	s = WarmStats{len(bin.Funcs), g.Edges(), len(g.Calls), encoded}
	return s, os.WriteFile(exe+WarmSuffix, file, 0o666)
}

// Executables returns where go build has put the programs of the packages: at -o,
// below it if it is a directory, or where the command ran. There are none if it
// threw them away.
func (b *Build) Executables(a *Args, patterns []string) ([]string, error) {
	out, given := a.Flag("o")
	dir := b.Dir
	if given {
		full := out
		if !filepath.IsAbs(full) {
			full = filepath.Join(b.Dir, out)
		}
		if info, err := os.Stat(full); !strings.HasSuffix(out, "/") && (err != nil || !info.IsDir()) {
			return []string{full}, nil
		}
		dir = full
	}
	mains, err := b.mains(a, patterns)
	if err != nil || len(mains) > 1 && !given {
		return nil, err
	}
	for i, name := range mains {
		mains[i] = filepath.Join(dir, name)
	}
	return mains, nil
}

// mains returns the names that the programs of the packages have.
func (b *Build) mains(a *Args, patterns []string) (names []string, err error) {
	flags := slices.Clone(b.listFlags)
	for _, x := range a.args {
		if slices.Contains(listFlags, x.flag) {
			flags = append(flags, x.words...)
		}
	}
	cfg := &packages.Config{Mode: packages.NeedName | packages.NeedFiles, Dir: b.Dir, BuildFlags: flags}
	pkgs, err := packages.Load(cfg, patterns...)
	if err != nil {
		return nil, err
	}
	for _, p := range pkgs {
		switch {
		case p.Name != "main":
		case p.PkgPath == "command-line-arguments" && len(p.GoFiles) > 0:
			names = append(names, strings.TrimSuffix(filepath.Base(p.GoFiles[0]), ".go"))
		default:
			names = append(names, programName(p.PkgPath))
		}
	}
	return names, nil
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

// CheckWarm reports what a warm file cannot be made for.
func (o Options) CheckWarm(a *Args, patterns []string) error {
	if !o.IsWarm() {
		return nil
	}
	if mode, _ := a.Flag("buildmode"); mode == "plugin" {
		return errors.New("-buildmode=plugin: a plugin has no call graph of its own; use -engine=dacce without -warm")
	}
	for _, p := range patterns {
		if strings.Contains(p, "@") && (o.Warm == "" || o.Warm == WarmStatic) {
			return fmt.Errorf("%s: the call graph needs the sources in a module; use go get, and then the package without its version", p)
		}
	}
	return nil
}
