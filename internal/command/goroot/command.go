// Package goroot writes an instrumented GOROOT.
package goroot

import (
	"flag"
	"fmt"
	"path/filepath"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/run"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// defaultDir is where the GOROOT comes to if -o does not say.
const defaultDir = "stemma-goroot"

// Command makes a GOROOT for tools that take no flags of the go command.
func Command() *base.Command {
	return &base.Command{
		Name:  "goroot",
		Args:  "[-o DIR] [flags]",
		Short: "write a GOROOT whose go command builds with stemma",
		Long: `
Goroot copies your GOROOT to a directory, with stemma's files in place and with tools of
their own, which takes a few minutes and about 300 MB. What its go command builds
records as 'stemma build' with the same flags would make it. It is for tools that set
GOFLAGS themselves, and for containers. Other tools need less: see 'stemma help env'.

	stemma goroot -o $HOME/stemma-goroot
	PATH=$HOME/stemma-goroot/bin:$PATH make

'go version' there has a suffix, as go1.26.8-stemma.0123456789ab, which the build cache
tells from plain Go. A line go or toolchain of a go.mod that asks for another Go is an
error there, as that Go would not be instrumented.

The directory appears when it is complete. Goroot replaces one that it has made before,
and nothing else.`,
		Flags: func(fs *flag.FlagSet) {
			run.DeclareOptions(fs, new(toolchain.Options))
			declareOut(fs, new(string))
		},
		Run: runGOROOT,
	}
}

func declareOut(fs *flag.FlagSet, dir *string) {
	fs.StringVar(dir, "o", defaultDir, "write it to `DIR`")
}

// runGOROOT refuses flags of the go command: they would be forgotten.
func runGOROOT(e *base.Env, args []string) error {
	var dir string
	p, err := run.ParseGoCommand("goroot", args, func(fs *flag.FlagSet) { declareOut(fs, &dir) })
	if err != nil {
		return err
	}
	if words := append(p.Args.Words(), p.Args.Rest()...); len(words) > 0 {
		return base.Usagef("goroot: unexpected argument %q; give flags of go, and packages, to the go command in the "+
			"new GOROOT", words[0])
	}
	if dir == "" {
		return base.Usagef("goroot: -o names no directory")
	}
	if err := p.Opts.CheckEnvironment(p.Args); err != nil {
		return base.Usagef("goroot: %w", err)
	}
	b, err := p.NewBuild(e)
	if err != nil {
		return err
	}
	defer b.Close()
	made, err := b.MakeGOROOT(dir, p.Opts, e.Stderr)
	if err != nil {
		return fmt.Errorf("goroot: %w", err)
	}
	what := "made"
	if !made.Made {
		what = "is up to date:"
	}
	fmt.Fprintf(e.Stderr, "stemma: %s %s; run %s\n", what, made.Version,
		store.Relative(filepath.Join(made.Dir, "bin", "go")))
	return nil
}
