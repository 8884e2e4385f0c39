package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// Packages returns the packages to build.
func (p *GoArgs) Packages() []string {
	list := p.Args.Rest()
	if len(list) > 0 && list[0] == "--" {
		list = list[1:]
	}
	if len(list) == 0 {
		list = []string{"."}
	}
	return list
}

// Warm makes the warm files of executables that were built of the packages.
func (p *GoArgs) Warm(e *base.Env, b *toolchain.Build, pkgs []string, exes ...string) error {
	work := progress.Begin(e.Stderr, "making the call graph")
	defer work.End()
	w, err := b.NewWarmer(p.Opts, p.Args, pkgs)
	if err != nil {
		return err
	}
	for _, exe := range exes {
		s, err := w.Write(exe)
		if err != nil {
			return err
		}
		fmt.Fprintf(work.Output(e.Stderr), "stemma: %s: %s · %s · %s of %s encoded\n",
			filepath.Base(exe)+toolchain.WarmSuffix, humanize.Plural(s.Functions, "function"),
			humanize.Plural(s.Edges, "edge"), humanize.Commas(uint64(s.Encoded)), humanize.Plural(s.Calls, "call site"))
	}
	return nil
}

// GoArgs are the arguments of a command that passes flags on to go.
// Opts has passed its Check.
type GoArgs struct {
	Verb string // the command
	Args *toolchain.Args
	Opts toolchain.Options

	former []engine.Renamed // what was typed in former names
}

// NewBuild makes the compiler ready.
// It takes the flags that become part of the Build out of p.args. The caller must
// Close the Build.
func (p *GoArgs) NewBuild(e *base.Env) (*toolchain.Build, error) {
	for _, f := range p.former {
		base.Former(e.Stderr, f.Typed, f.Now)
	}
	return toolchain.NewBuild(p.Args, p.Opts, e.Stderr)
}

// Go runs the go command; its exit code becomes stemma's.
// args are lists only to spare the callers to join them. The error is nil for exit
// code 0, and has a message only if the command did not start.
func Go(e *base.Env, b *toolchain.Build, verb string, args ...[]string) error {
	var words []string
	for _, a := range args {
		words = append(words, a...)
	}
	code, err := compile(e, b.Command(verb, words...))
	if err != nil {
		return fmt.Errorf("go %s: %w", verb, err)
	}
	return base.ExitWith(code)
}

// compile runs a command that builds, and shows how far it is.
func compile(e *base.Env, cmd *exec.Cmd) (int, error) {
	work := progress.Begin(e.Stderr, "building")
	defer work.End()
	defer toolchain.Follow(cmd, "")()
	inner := *e
	inner.Stderr = work.Output(e.Stderr)
	return base.Run(&inner, cmd)
}

// Build builds the one program that the arguments name.
// -exec is taken out of the flags, because the program is not started by the go
// command; -C holds for the program as well, as with go run.
func Build(e *base.Env, p *GoArgs) (*Program, error) {
	pkg, args, err := splitPackage(p.Verb, p.Args.Rest())
	if err != nil {
		return nil, err
	}
	with, _ := p.Args.Flag("exec")
	wrapper, err := base.SplitQuoted(with)
	if err != nil {
		return nil, base.Usagef("%s: -exec: %w", p.Verb, err)
	}
	p.Args.Remove("exec")
	if err := p.Opts.CheckWarm(p.Args, pkg); err != nil {
		return nil, base.Usagef("%s: %w", p.Verb, err)
	}
	dir, _ := p.Args.Flag("C")
	b, err := p.NewBuild(e)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if err := p.checkModule(b, pkg, false); err != nil {
		return nil, err
	}
	tmp, err := base.MakeTemporary("stemma-run")
	if err != nil {
		return nil, err
	}
	prog := &Program{dir: dir, tmp: tmp}
	if err = prog.build(e, b, p, pkg); err == nil && p.Opts.IsWarm() {
		err = p.Warm(e, b, pkg, prog.exe)
	}
	if err == nil {
		prog.argv = append(append(wrapper, prog.exe), args...)
		if p.Opts.Chosen().Gives&engine.IDs != 0 && os.Getenv("STEMMA_ROTATE") != "" {
			fmt.Fprintln(e.Stderr, "stemma: STEMMA_ROTATE is left out: run seals one record of context IDs; build the "+
				"program and start it yourself, and it ends segments")
			prog.Env = append(prog.Env, "STEMMA_ROTATE=")
		}
		return prog, nil
	}
	prog.Close()
	return nil, err
}

// splitPackage splits the arguments after the flags as go run does: the
// package is one argument, or all leading ones that name .go files.
func splitPackage(verb string, rest []string) (pkg, args []string, err error) {
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	n := 0
	for n < len(rest) && strings.HasSuffix(rest[n], ".go") {
		n++
	}
	if n == 0 && len(rest) > 0 {
		n = 1
	}
	if n == 0 {
		return nil, nil,
			base.Usagef("%s: no package given; name a directory, .go files or an import path (see 'stemma help %s')",
				verb, verb)
	}
	return rest[:n], rest[n:], nil
}

// build runs the go command and finds out what the executable is called.
// What is built is known only afterwards: an import path with a major version, or
// a package of several files, has another name than its last element.
func (p *Program) build(e *base.Env, b *toolchain.Build, a *GoArgs, pkg []string) error {
	flags := a.Args.Words()
	if _, ok := a.Args.Flag("buildvcs"); !ok {
		flags = append(flags, "-buildvcs=false") // as go run does
	}
	cmd := b.Command("build", append(append(flags, "-o", p.tmp.Path+"/", "--"), pkg...)...)
	if strings.Contains(pkg[0], "@") {
		cmd = b.Command("install", append(append(flags, "--"), pkg...)...)
		cmd.Env = append(cmd.Env, "GOBIN="+p.tmp.Path)
	}
	code, err := compile(e, cmd)
	if err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	if code != base.ExitOK {
		return base.ExitWith(code)
	}
	files, err := os.ReadDir(p.tmp.Path)
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return base.Usagef("%s: %s: have %s, want one; name the directory of one command", a.Verb,
			strings.Join(pkg, " "), humanize.Plural(len(files), "program"))
	}
	p.Name = files[0].Name()
	p.exe = filepath.Join(p.tmp.Path, p.Name)
	return nil
}
