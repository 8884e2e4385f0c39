// Package measure builds programs in several ways and measures their runs.
package measure

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/bench/internal/program"
)

// Variant is a way to build a program.
type Variant struct {
	Name  string
	Flags []string // of stemma build; nil for go build
}

// Plain is the program as the go command builds it. PlainAgain is a second
// build of it: what differs between the two is noise.
var (
	Plain      = Variant{Name: "plain"}
	PlainAgain = Variant{Name: "plain again"}
)

// ParseVariant makes a variant of "ENGINE FLAG…", as in "cct -inlined=off".
func ParseVariant(s string) (Variant, error) {
	words := strings.Fields(s)
	if len(words) == 0 || strings.HasPrefix(words[0], "-") {
		return Variant{}, fmt.Errorf("variant %q: want an engine, then flags of stemma build", s)
	}
	return Variant{
		Name:  strings.Join(words, " "),
		Flags: append([]string{"-engine=" + words[0]}, words[1:]...),
	}, nil
}

// Instrumented tells whether stemma builds v.
func (v Variant) Instrumented() bool { return v.Flags != nil }

// FileName returns the name of v without spaces.
func (v Variant) FileName() string { return strings.ReplaceAll(v.Name, " ", "_") }

// Bench builds and runs programs.
type Bench struct {
	Stemma  string        // the stemma command
	Work    string        // directory for binaries and live directories
	Timeout time.Duration // of a run
}

// Binary is a program, built.
type Binary struct {
	Program *program.Program
	Variant Variant
	Path    string
	Size    int64 // bytes
}

// Build builds p as v says.
func (b *Bench) Build(p *program.Program, v Variant) (*Binary, error) {
	bin := &Binary{Program: p, Variant: v, Path: filepath.Join(b.Work, p.Name, v.FileName(), p.Name)}
	if err := b.BuildCommand(p, v, bin.Path).Run(); err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	info, err := os.Stat(bin.Path)
	if err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	bin.Size = info.Size()
	return bin, nil
}

// BuildCommand returns the command that builds p as v says and writes to out.
func (b *Bench) BuildCommand(p *program.Program, v Variant, out string) *Command {
	args := []string{"go", "build"}
	if v.Instrumented() {
		args = append([]string{b.Stemma, "build"}, v.Flags...)
	}
	return &Command{Dir: p.Dir, Args: append(args, "-o", out, p.Package)}
}

// Command is a command that is silent unless it fails.
type Command struct {
	Dir  string
	Env  []string // in addition to the environment
	Args []string
}

// Run runs c; its error tells the end of what the command has printed.
func (c *Command) Run() error {
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), c.Env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w%s", strings.Join(c.Args, " "), err, tail(out))
	}
	return nil
}

// tail returns the last lines of what a command has printed, indented.
func tail(out []byte) string {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var b strings.Builder
	for _, line := range lines[max(0, len(lines)-8):] {
		fmt.Fprintf(&b, "\n\t%s", line)
	}
	return b.String()
}

// Run is one run of a binary.
type Run struct {
	User     time.Duration
	System   time.Duration
	Wall     time.Duration
	Peak     int64 // bytes of resident memory
	Checksum string
}

// Run runs bin once. Where it records is out, which must be absolute and need
// not exist.
//
// The times are those of the process and of the processes that it waits for.
func (b *Bench) Run(bin *Binary, out string) (Run, error) {
	ctx, cancel := context.WithTimeout(context.Background(), b.Timeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, bin.Path, bin.Program.Args...)
	cmd.Dir = bin.Program.Dir
	cmd.Env = append(os.Environ(), "STEMMA_OUT="+out)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if ctx.Err() != nil {
		return Run{}, fmt.Errorf("run: stopped after %v", b.Timeout)
	}
	if cmd.ProcessState == nil {
		return Run{}, fmt.Errorf("run: %w", err)
	}
	sum, err := bin.Program.Checksum(program.Output{Stdout: stdout.Bytes(), ExitCode: cmd.ProcessState.ExitCode()})
	if err != nil {
		return Run{}, fmt.Errorf("run: %w%s", err, tail(stderr.Bytes()))
	}
	r := Run{User: cmd.ProcessState.UserTime(), System: cmd.ProcessState.SystemTime(), Wall: wall, Checksum: sum}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.Peak = int64(usage.Maxrss) << 10 // Linux counts it in KiB
	}
	return r, nil
}
