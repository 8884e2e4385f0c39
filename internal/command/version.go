package command

import (
	"flag"
	"fmt"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/goroot"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// versionCommand is what a bug report should begin with.
func versionCommand() *base.Command {
	return &base.Command{
		Name:  "version",
		Short: "print the versions of stemma and Go, and where the compiler is",
		Run:   base.Printed(runVersion),
	}
}

// runVersion prints what it knows before it returns an error: an unsupported Go is
// the case where the versions matter. It builds nothing.
func runVersion(e *base.Env, args []string) error {
	paths, err := base.Parse(flag.NewFlagSet("version", flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	if len(paths) > 0 {
		return base.Usagef("version: unexpected argument %q", paths[0])
	}
	fmt.Fprintf(e.Stdout, "stemma %s\nsupports %s\n", base.Version(), goroot.Supported())
	g, err := toolchain.Find("")
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "go %s %s/%s in %s\n", g.Version, g.OS, g.Arch, g.Root)
	if err := g.Check(); err != nil {
		return err
	}
	entry, err := toolchain.Locate(g)
	if err != nil {
		return err
	}
	state := "built"
	if !entry.Exists() {
		state = "not built yet"
	}
	fmt.Fprintf(e.Stdout, "compiler %s (%s)\n", entry.Dir, state)
	return nil
}
