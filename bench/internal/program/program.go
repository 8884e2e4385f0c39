// Package program finds the programs that are measured and knows how each is
// built, run and checked.
package program

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Program is a program that does the same work each time it is run.
type Program struct {
	Name    string
	Dir     string   // where it is built and run
	Package string   // what to build, as the go command names it
	Args    []string // of a run
	Module  bool     // Dir is the directory of its own module
	Source  string   // directory of package main, if that is not Dir

	// object, if not empty, is a file that a run writes, in a directory of its own.
	object string
	// setUp, if not nil, makes the files that runs need, and Args, in a
	// directory of the program's own.
	setUp func(p *Program, dir string) error
	// checksum returns what a run has computed.
	checksum func(Output) (string, error)
}

// Output is what a run leaves.
type Output struct {
	Stdout   []byte
	ExitCode int
	Dir      string // see RunArgs
}

// MainDir returns the directory of package main.
func (p *Program) MainDir() string { return cmp.Or(p.Source, p.Dir) }

// RunArgs returns the arguments of a run that may write files to dir, where no
// other run does.
func (p *Program) RunArgs(dir string) []string {
	if p.object == "" {
		return p.Args
	}
	return append([]string{"-o", filepath.Join(dir, p.object)}, p.Args...)
}

// SetUp makes what runs need, in the empty directory dir.
func (p *Program) SetUp(dir string) error {
	if p.setUp == nil {
		return nil
	}
	return p.setUp(p, dir)
}

// Checksum returns what identifies the result of a run. A run that has failed
// has none.
func (p *Program) Checksum(out Output) (string, error) { return p.checksum(out) }

// Find returns the programs in the subdirectories of dir, by name. Each
// subdirectory with a go.mod is the module of one program.
func Find(dir string) ([]*Program, error) {
	mods, err := filepath.Glob(filepath.Join(dir, "*", "go.mod"))
	if err != nil {
		return nil, err
	}
	if len(mods) == 0 {
		return nil, fmt.Errorf("%s: no programs: want subdirectories with a go.mod", dir)
	}
	var all []*Program
	for _, mod := range mods {
		home, err := filepath.Abs(filepath.Dir(mod))
		if err != nil {
			return nil, err
		}
		all = append(all,
			&Program{Name: filepath.Base(home), Dir: home, Package: ".", Module: true, checksum: checksumLine})
	}
	return all, nil
}

// Command returns a program that has been built and is run in dir. It computes nothing
// that could be compared; it must not fail.
func Command(name, dir string, args ...string) *Program {
	return &Program{Name: name, Dir: dir, Args: args, checksum: exitCode}
}

// exitCode identifies a run by its success.
func exitCode(out Output) (string, error) {
	if out.ExitCode != 0 {
		return "", fmt.Errorf("exit status %d", out.ExitCode)
	}
	return "success", nil
}

// Select returns the programs with the given names, in this order. No names
// stand for all programs.
func Select(all []*Program, names []string) ([]*Program, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []*Program
	for _, name := range names {
		p := byName(all, name)
		if p == nil {
			return nil, fmt.Errorf("no program %q (have %s)", name, strings.Join(Names(all), ", "))
		}
		chosen = append(chosen, p)
	}
	return chosen, nil
}

func byName(all []*Program, name string) *Program {
	for _, p := range all {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Names returns the names of programs.
func Names(all []*Program) []string {
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	return names
}

// checksumLine takes the line "checksum NAME …" of a program's standard output.
func checksumLine(out Output) (string, error) {
	if out.ExitCode != 0 {
		return "", fmt.Errorf("exit status %d", out.ExitCode)
	}
	for line := range bytes.Lines(out.Stdout) {
		if rest, ok := bytes.CutPrefix(line, []byte("checksum ")); ok {
			return string(bytes.TrimSpace(rest)), nil
		}
	}
	return "", errors.New(`no line "checksum NAME …" on standard output`)
}

// outputHash identifies a run by its standard output and its exit code, which
// need not be 0: gofmt reports the broken files that are test data.
func outputHash(out Output) (string, error) {
	if out.ExitCode < 0 {
		return "", errors.New("ended by a signal")
	}
	return fmt.Sprintf("%x exit=%d", hash(out.Stdout), out.ExitCode), nil
}

// fileHash returns a function that identifies a run by the file it has written.
func fileHash(name string) func(Output) (string, error) {
	return func(out Output) (string, error) {
		if out.ExitCode != 0 {
			return "", fmt.Errorf("exit status %d: %s", out.ExitCode, bytes.TrimSpace(out.Stdout))
		}
		data, err := os.ReadFile(filepath.Join(out.Dir, name))
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%x", hash(data)), nil
	}
}

func hash(data []byte) []byte {
	sum := sha256.Sum256(data)
	return sum[:12]
}
