package cli

import (
	"flag"
	"fmt"
	"runtime/debug"

	"github.com/stemma-go/stemma/internal/toolchain"
)

func versionCommand() *command {
	return &command{
		name:  "version",
		short: "print the versions of stemma and Go, and where the compiler is",
		run:   runVersion,
	}
}

func runVersion(e *env, args []string) error {
	paths, err := parseMixed(e, flag.NewFlagSet("version", flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	if len(paths) > 0 {
		return usageError("version: unexpected argument %q", paths[0])
	}
	fmt.Fprintf(e.stdout, "stemma %s\n", ownVersion())
	g, err := toolchain.Find("")
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "go %s %s/%s in %s\n", g.Version, g.OS, g.Arch, g.Root)
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
	fmt.Fprintf(e.stdout, "compiler %s (%s)\n", entry.Dir, state)
	return nil
}

// ownVersion returns the module version that this binary was built from.
func ownVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
