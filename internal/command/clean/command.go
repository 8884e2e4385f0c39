package clean

import (
	"flag"
	"os"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/record/store"
)

// Command removes what programs and builds have left.
func Command() *base.Command {
	return &base.Command{
		Name:  "clean",
		Args:  "[-n] [-cache] [DIR...]",
		Short: "remove records of programs that have ended, and the compiler's cache",
		Long: `
Clean removes the live directories of programs that have ended: those in the
directories that are named, or else in $STEMMA_OUT or stemma.out here, and in the
NAME.live-* that an interrupted stemma run has left here, with the executables that
killed runs have left in $TMPDIR or /tmp. It prints what it removes
and how much room that took; with -n it only prints. Programs that still run keep
their records. Sealed files (*.stemma) stay. Directories that no argument names are
left alone if they are links, or belong to another user.

Programs that could not record where they ran have recorded into stemma-UID in
$TMPDIR or /tmp. These may be programs of any directory: clean reports their
records, and removes them if you name that directory.

IDs in logs cannot be decoded any more when their record is gone: seal it before.`,
		Flags: func(fs *flag.FlagSet) { declareClean(fs, new(Options)) },
		Run:   base.Printed(runClean),
	}
}

func declareClean(fs *flag.FlagSet, o *Options) {
	fs.BoolVar(&o.Dry, "n", false, "only print what would be removed")
	fs.BoolVar(&o.Cache, "cache", false,
		"remove compilers from the cache, and no records unless directories are named; the next build makes a new one")
}

// runClean goes on behind what cannot be removed. The error then has all of it.
func runClean(e *base.Env, args []string) error {
	var o Options
	fs := flag.NewFlagSet("clean", flag.ContinueOnError)
	declareClean(fs, &o)
	dirs, err := base.Parse(fs, args)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil {
			return store.Missing(dir, err)
		} else if !info.IsDir() {
			return base.Usagef("clean: %s: a file; want a live directory, or a directory of them; remove sealed "+
				"files with rm", dir)
		}
	}
	return Run(e.Stdout, dirs, o)
}
