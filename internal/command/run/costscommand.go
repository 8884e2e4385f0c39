package run

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/costmodel"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/safefile"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// costsSuffix ends the names of files of costs.
const costsSuffix = ".costs"

// CostsCommand makes a file for report -cost.
func CostsCommand() *base.Command {
	return &base.Command{
		Name:  "costs",
		Args:  "[-o FILE] [go build flags] [package]",
		Short: "count the instructions of a program's operations on a machine",
		Long: `
Costs compiles a program as go build does, for the machine that GOOS and GOARCH name, and
counts the instructions of its plain code. With the file that it writes, 'stemma report
-cost' turns operations that were recorded on one machine into instructions of the other
one, which need not be there:

	stemma build -metrics=calls,ops -o srv . && ./srv
	GOARCH=riscv64 stemma costs -o srv.riscv64.costs .
	stemma report -metric=ops -cost=srv.riscv64.costs

Sources, flags and the Go release must be those of the program that was recorded. Report
says how much of it is other code there, and estimates that by classes of operations.
The package must be a main package. For a machine that is not known, a message has those
that are.`,
		Flags: func(fs *flag.FlagSet) { costsFlags(fs) },
		Run:   runCosts,
	}
}

func costsFlags(fs *flag.FlagSet) *string {
	return fs.String("o", "", "write them to `FILE` (default NAME.GOOS-GOARCH"+costsSuffix+")")
}

// costsFile returns what -o names, which is relative to -C as go build has it.
func costsFile(out, dir string) string {
	if filepath.IsAbs(out) {
		return out
	}
	return filepath.Join(dir, out)
}

// checkCosts refuses what would be an error after the build.
func checkCosts(args *toolchain.Args, out string) error {
	for _, f := range engine.Flags {
		if _, ok := args.Flag(f.Name); ok {
			return base.Usagef("costs: -%s: nothing is recorded; leave it out", f.Name)
		}
	}
	if _, ok := args.Flag("n"); ok {
		return base.Usagef("costs: -n: without a build there is nothing to count; leave it out")
	}
	dir, _ := args.Flag("C")
	at := filepath.Dir(costsFile(out, dir))
	if info, err := os.Stat(at); err != nil || !info.IsDir() {
		return base.Usagef("costs: -o=%s: there is no directory %s; name another file", out, at)
	}
	return nil
}

// runCosts builds into a directory of its own: the program is of no further use.
func runCosts(e *base.Env, words []string) error {
	fs := flag.NewFlagSet("costs", flag.ContinueOnError)
	out := costsFlags(fs)
	args, err := toolchain.ParseArgs("build", words, base.FlagSet{FlagSet: fs})
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	if err != nil {
		return base.Usagef("costs: %w", err)
	}
	if err := checkCosts(args, *out); err != nil {
		return err
	}
	dir, _ := args.Flag("C")
	b, err := toolchain.NewCosts(args, e.Stderr)
	if err != nil {
		return fmt.Errorf("costs: %w", err)
	}
	defer b.Close()
	tmp, err := base.MakeTemporary("stemma-costs")
	if err != nil {
		return err
	}
	defer tmp.RemoveAll()
	if err := Go(e, b, "build", args.Words(), []string{"-o", tmp.Path + "/"}, args.Rest()); err != nil {
		return err
	}
	built, err := os.ReadDir(tmp.Path)
	if err != nil {
		return err
	}
	if len(built) != 1 {
		return base.Usagef("costs: %s: have %s, want one; name the directory of one command",
			strings.Join(args.Rest(), " "), humanize.Plural(len(built), "program"))
	}
	c, err := costmodel.OfProgram(filepath.Join(tmp.Path, built[0].Name()))
	if err != nil {
		return fmt.Errorf("costs: %s", strings.ReplaceAll(err.Error(), tmp.Path+string(filepath.Separator), ""))
	}
	file := costsFile(*out, dir)
	if info, err := os.Stat(file); *out == "" || err == nil && info.IsDir() {
		file = filepath.Join(file, built[0].Name()+"."+c.Table()+costsSuffix)
	}
	if err := safefile.Write(file, 0o666, c.Write); err != nil {
		return err
	}
	fmt.Fprintf(e.Stderr, "stemma: %s: instructions of %s on %s\n", store.Relative(file),
		humanize.Plural(c.Funcs(), "function"), c.Machine())
	return nil
}
