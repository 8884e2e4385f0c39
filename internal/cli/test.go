package cli

import (
	"flag"

	"github.com/stemma-go/stemma/internal/launch"
	"github.com/stemma-go/stemma/internal/process"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// testCommand is go test with our compiler.
func testCommand() *command {
	return &command{
		name:  "test",
		args:  "[flags] [go test flags] [packages]",
		short: "run tests that record their calling contexts",
		long: `
Test does what go test does, with stemma's compiler and runtime. Each test binary
records into $STEMMA_OUT, or stemma.out in the current directory. It does
not use go's cache of test results, which would leave no record, unless -count is
given. It does not vet packages; run go vet for that.

With -o FILE it writes the sum of what they recorded to one profile instead. With
-stable it runs the tests several times, and says which contexts do not have the same
counts in all runs; 'stemma diff' does not compare these. The profile is tests.stemma
if -o does not name another.

With -c it makes the test binaries and runs none. Each records where it is run, and -o
names the binary.`,
		flags: func(fs *flag.FlagSet) {
			declareOptions(fs, new(toolchain.Options))
			new(runOptions).declareRepeats(fs)
		},
		run: runTest,
	}
}

// runTest leaves the rest to launch: go test runs the binaries.
func runTest(e *process.Env, args []string) error {
	var o runOptions
	p, err := parseGoCommand("test", args, o.declareRepeats)
	if err != nil {
		return err
	}
	return launch.Test(e, p, launch.TestOptions{Deterministic: string(o.deterministic), Runs: int(o.runs)})
}
