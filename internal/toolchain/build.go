package toolchain

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/stemma-go/stemma/internal/base"
)

// A Build is one run of the go command with stemma's compiler and runtime.
type Build struct {
	Go    *Go
	Entry *Entry
	Dir   string // where the go command runs; empty for the current directory

	flags     []string // -overlay and -toolexec
	listFlags []string // the user's own -overlay
	tool      *tool
	user      string          // the user's own overlay; may be empty
	tmp       *base.Temporary // holds the merged overlay; may be nil
}

// NewBuild checks the user's Go and flags and makes the compiler ready. It
// takes -C, -overlay and -toolexec out of a: they have become part of the
// Build. The caller must Close the Build after its last command.
// The order of the checks is that of their cost: options and flags, then the
// version of Go, then the compiler, which may take a minute to build. A warning
// goes to stderr, once.
func NewBuild(a *Args, o Options, stderr io.Writer) (*Build, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	dir, _ := a.Flag("C")
	g, all, err := a.find(dir)
	if err != nil {
		return nil, err
	}
	if err := o.checkRace(all); err != nil {
		return nil, err
	}
	if err := g.Check(); err != nil {
		return nil, err
	}
	if err := o.CheckTarget(g.OS, g.Arch); err != nil {
		return nil, err
	}
	if err := o.checkReader(g.Version, runtime.Version()); err != nil {
		return nil, err
	}
	if g.Warning != "" {
		fmt.Fprintf(stderr, "stemma: warning: %s\n", g.Warning)
	}
	e, g, err := Prepare(g, stderr)
	if err != nil {
		return nil, err
	}
	b := &Build{Go: g, Entry: e, Dir: dir}
	if err := b.setFlags(all, o); err != nil {
		b.Close()
		return nil, err
	}
	a.Remove("C")
	a.Remove("overlay")
	a.Remove("toolexec")
	return b, nil
}

// find returns the Go that is in force in dir, and a with the flags of GOFLAGS. It refuses flags that cannot work.
func (a *Args) find(dir string) (*Go, *Args, error) {
	g, err := Find(dir)
	if err != nil {
		return nil, nil, err
	}
	all, err := a.withGOFLAGS(g.Flags)
	if err != nil {
		return nil, nil, err
	}
	if all.withoutOurs() {
		if err := hideOurs(g); err != nil {
			return nil, nil, err
		}
	}
	return g, all, all.check()
}

// setFlags computes -overlay and -toolexec from ours and the user's.
// The user's own -toolexec runs inside ours, so that it sees the tool that is
// really run.
func (b *Build) setFlags(a *Args, o Options) error {
	ours := b.Entry.Overlay(o.Parts())
	file := ours
	if user, _ := a.Flag("overlay"); user != "" {
		merged, err := b.mergeOverlay(ours, user)
		if err != nil {
			return err
		}
		file, b.user = merged, user
		b.listFlags = []string{"-overlay=" + user}
	}
	b.tool = &tool{
		entry:      b.Entry,
		overlay:    ours,
		forCompile: o.ForCompiler(),
		forNative:  o.ForNatives(),
		forLink:    o.forLink(),
		symbols:    o.Symbols,
		targets:    o.targets(),
	}
	if user, _ := a.Flag("toolexec"); user != "" {
		var err error
		if b.tool.chain, err = base.SplitQuoted(user); err != nil {
			return fmt.Errorf("-toolexec: %w", err)
		}
	}
	var err error
	b.flags, err = b.tool.flags(file)
	return err
}

// flags returns the flags of the go command that make it build with t and an overlay.
func (t *tool) flags(overlay string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	toolexec, err := base.JoinQuoted(append([]string{self, "toolexec"}, t.words()...))
	if err != nil {
		return nil, err
	}
	if overlay == "" {
		return []string{"-toolexec=" + toolexec}, nil
	}
	return []string{"-overlay=" + overlay, "-toolexec=" + toolexec}, nil
}

// readUserOverlay reads the user's overlay, whose paths are relative to where the go command runs, as its own is.
func readUserOverlay(file, dir string) (overlay, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	o, err := readOverlay(file)
	if err != nil {
		return o, fmt.Errorf("-overlay: %w", err)
	}
	return o, nil
}

// userOverlay returns the user's overlay with absolute paths.
func (b *Build) userOverlay() (overlay, error) {
	dir, err := filepath.Abs(b.Dir)
	if err != nil {
		return overlay{}, err
	}
	user, err := readUserOverlay(b.user, dir)
	if err != nil {
		return overlay{}, err
	}
	return overlay{}.merge(user, dir)
}

// mergeOverlay writes ours, in oursFile, and the user's overlay to a new file.
// The new file lies in b.tmp, since an entry of the cache does not change. Relative
// paths in the user's overlay are relative to where the go command runs.
func (b *Build) mergeOverlay(oursFile, userFile string) (string, error) {
	dir, err := filepath.Abs(b.Dir)
	if err != nil {
		return "", err
	}
	user, err := readUserOverlay(userFile, dir)
	if err != nil {
		return "", err
	}
	ours, err := readOverlay(oursFile)
	if err != nil {
		return "", err
	}
	merged, err := ours.merge(user, dir)
	if err != nil {
		return "", err
	}
	if b.tmp, err = base.MakeTemporary("stemma-overlay"); err != nil {
		return "", err
	}
	file := filepath.Join(b.tmp.Path, "overlay.json")
	return file, merged.write(file)
}

// Command returns a run of the go command. Its standard streams are the caller's to set.
// args may be flags of the verb, packages, or both; they come behind our flags.
func (b *Build) Command(verb string, args ...string) *exec.Cmd {
	return b.Plain(verb, append(append([]string{}, b.flags...), args...)...)
}

// Plain returns a run of the go command in the directory of the Build, without our flags.
func (b *Build) Plain(verb string, args ...string) *exec.Cmd {
	cmd := b.Go.command(verb, args...)
	if b.Dir != "" {
		cmd.Dir = b.Dir
		cmd.Env = append(cmd.Env, "PWD="+absolute(b.Dir))
	}
	return cmd
}

// Close removes what the Build needed while it ran.
// A second call does nothing. Programs that were built do not need it.
func (b *Build) Close() error {
	tmp := b.tmp
	if b.tmp = nil; tmp == nil {
		return nil
	}
	return tmp.RemoveAll()
}
