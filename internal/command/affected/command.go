package affected

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/record/store"
)

// Command is the command that lists the tests that a change can affect.
func Command() *base.Command {
	return &base.Command{
		Name:  "affected",
		Args:  "[-changed RANGE] [-json] [FILE|LIVEDIR...]",
		Short: "list the tests that a change can affect, and what each test reached",
		Long: `Affected lists the tests of records that 'stemma test' made, with the number of functions
that each reached; -json lists the functions. Without arguments it takes all records in
$STEMMA_OUT or stemma.out, of one process for each package.

With -changed it lists the tests that a change can affect. The range is one of git's: main..
is all since main, HEAD is what is not committed, with files that git does not know yet. Each
line is a command or a comment, for sh -e; 'stemma test' stands where a plain build would skip
assertions.

A change of a function can affect the tests that reached it. What is below package
initializers, TestMain, sync.Once and timers is reached by all tests of the package. Changes
of signatures, declarations, new methods, C, embedded files and testdata affect all tests of
all packages that depend on theirs, also in other modules of the repository; go.mod affects
all of a module. Tests that use what another test has cached are not found.
`,
		Flags: func(fs *flag.FlagSet) { new(affectedOptions).declare(fs) },
		Run:   runAffected,
	}
}

// affectedOptions are the flags of affected.
type affectedOptions struct {
	changed string
	json    bool
}

func (o *affectedOptions) declare(fs *flag.FlagSet) {
	fs.StringVar(&o.changed, "changed", "", "list the tests that a change can affect: one of git's `RANGE`")
	fs.BoolVar(&o.json, "json", false, "print JSON")
}

func runAffected(e *base.Env, args []string) error {
	var o affectedOptions
	fs := flag.NewFlagSet("affected", flag.ContinueOnError)
	o.declare(fs)
	paths, err := base.Parse(fs, args)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		out, err := store.RecordDir()
		if err != nil {
			return err
		}
		if dirs, err := store.FindLive(out); err == nil && len(dirs) == 0 {
			return base.Usagef("affected: no record given, and none in %s; run 'stemma test ./...' first",
				store.Relative(out))
		}
		paths = []string{out}
	}
	suites, err := Load(paths)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(e.Stdout)
	if o.changed == "" {
		return cmp.Or(PrintSuites(w, suites, o.json), w.Flush())
	}
	if err := PrintAffected(w, suites, o.changed, o.json); err != nil {
		_ = w.Flush()
		return fmt.Errorf("-changed: %w", err)
	}
	return w.Flush() // half a list of tests would leave some out
}
