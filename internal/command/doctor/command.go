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
		Short: "say what will not work on this machine, and why",
		Long: `
Doctor looks at the Go that is in force here, the cache, the limits of this shell and
the directories that stemma writes to. It prints a line for each: ok, a note, or FAIL
with what will not work and what to do. It builds nothing, and leaves nothing behind.

It exits 1 if something will not work.`,
		Run: runDoctor,
	}
}

// runDoctor goes on behind what fails: there may be more.
func runDoctor(e *base.Env, args []string) error {
	args, err := base.Parse(flag.NewFlagSet("doctor", flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return base.Usagef("doctor: unexpected argument %q", args[0])
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
