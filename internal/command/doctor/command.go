package doctor

import (
	"flag"
	"fmt"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/progress"
)

// Command is for those for whom something does not work.
func Command() *base.Command {
	return &base.Command{
		Name:  "doctor",
		Args:  "[-report]",
		Short: "say what will not work on this machine, and why",
		Long: `
Doctor looks at the Go that is in force here, the cache, the limits of this shell and
the directories that stemma writes to. It prints a line for each: ok, a note, or FAIL
with what will not work and what to do. It builds nothing, and leaves nothing behind.

It exits 1 if something will not work.

With -report it prints what an issue should say: the versions of stemma, Go, the kernel
and the CPU, GOFLAGS, the variables that are set, the state of the cache, the last error,
and the notes and FAIL lines. Paths are shortened to their last element, and values of
flags that may be secret are left out. Read it before you paste it.`,
		Flags: func(fs *flag.FlagSet) { declare(fs) },
		Run:   base.Printed(runDoctor),
	}
}

// declare declares the flags.
func declare(fs *flag.FlagSet) (report *bool) {
	return fs.Bool("report", false, "print what an issue should say of this machine")
}

// runDoctor goes on behind what fails: there may be more.
func runDoctor(e *base.Env, args []string) error {
	fs := flag.NewFlagSet("doctor", flag.ContinueOnError)
	report := declare(fs)
	args, err := base.Parse(fs, args)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return base.Usagef("doctor: unexpected argument %q", args[0])
	}
	if *report {
		Report(e.Stdout, base.Version())
		return nil
	}
	work := progress.Begin(e.Stderr, "doctor") // the go command may fetch another Go
	failed := Examine(work.Output(e.Stdout), base.Version())
	if work.End(); failed > 0 {
		return fmt.Errorf("doctor: %s",
			humanize.Plural(failed, "thing will not work here; see the line with FAIL",
				"things will not work here; see the lines with FAIL"))
	}
	return nil
}
