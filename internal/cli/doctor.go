package cli

import (
	"flag"
	"fmt"

	"github.com/stemma-go/stemma/internal/doctor"
	"github.com/stemma-go/stemma/internal/exit"
	"github.com/stemma-go/stemma/internal/process"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/words"
)

// doctorCommand is for those for whom something does not work.
func doctorCommand() *command {
	return &command{
		name:  "doctor",
		short: "say what will not work on this machine, and why",
		long: `
Doctor looks at the Go that is in force here, the cache, the limits of this shell and
the directories that stemma writes to. It prints a line for each: ok, a note, or FAIL
with what will not work and what to do. It builds nothing, and leaves nothing behind.

It exits 1 if something will not work.`,
		run: runDoctor,
	}
}

// runDoctor goes on behind what fails: there may be more.
func runDoctor(e *process.Env, args []string) error {
	args, err := parse(e, flag.NewFlagSet("doctor", flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return exit.Usagef("doctor: unexpected argument %q", args[0])
	}
	work := progress.Begin(e.Stderr, "doctor") // the go command may fetch another Go
	failed := doctor.Examine(work.Output(e.Stdout), ownVersion())
	if work.End(); failed > 0 {
		return fmt.Errorf("doctor: %s",
			words.Plural(failed, "thing will not work here; see the line with FAIL",
				"things will not work here; see the lines with FAIL"))
	}
	return nil
}
