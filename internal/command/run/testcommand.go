package run

import (
	"flag"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// TestCommand is go test with our compiler.
func TestCommand() *base.Command {
	return &base.Command{
		Name:  "test",
		Args:  "[flags] [go test flags] [packages]",
		Short: "run tests that record their calling contexts",
		Long: `
Test does what go test does, with stemma's compiler and runtime. Each test binary
records into $STEMMA_OUT, or stemma.out in the current directory. It does
not use go's cache of test results, which would leave no record, unless -count is
given. It does not vet packages: run go vet separately.

With -o FILE it writes the sum of what they recorded to one profile instead. With
-stable it runs the tests several times, and lists the contexts that do not have the
same counts in all runs; 'stemma diff' does not compare these. The profile is
tests.stemma if -o does not name another.

With -c it makes the test binaries and runs none. Each records where it is run, and -o
names the binary.`,
		Flags: func(fs *flag.FlagSet) {
			DeclareOptions(fs, new(toolchain.Options))
			new(runOptions).declareRepeats(fs)
		},
		Run: runTest,
	}
}

// runTest leaves the rest to launch: go test runs the binaries.
func runTest(e *base.Env, args []string) error {
	var o runOptions
	p, err := ParseGoCommand("test", args, o.declareRepeats)
	if err != nil {
		return err
	}
	return Test(e, p, TestOptions{Deterministic: string(o.deterministic), Runs: int(o.runs)})
}
