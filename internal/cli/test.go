package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stemma-go/stemma/internal/engine"
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
given. It does not vet packages; run go vet for that.`,
		flags: func(fs *flag.FlagSet) { declareOptions(fs, new(toolchain.Options)) },
		run:   runTest,
	}
}

// runTest tells which records are new by comparing the directory before and after:
// the go command does not say which binaries it ran. Others that record into the
// same directory meanwhile are listed, too.
func runTest(e *env, args []string) error {
	p, err := parseGoCommand("test", args, nil)
	if err != nil {
		return err
	}
	out, err := recordDir()
	if err != nil {
		return err
	}
	if vet, ok := p.args.Flag("vet"); ok && vet != "off" {
		return usageError("test: -vet=%s: go vet cannot look at stemma's runtime, which is not on disk; run go vet by itself", vet)
	}
	// The go command runs vet for each package, imported ones too, in the
	// package's directory, and that of the runtime's half is in the overlay only.
	flags := []string{"-vet=off"}
	if _, ok := p.args.Flag("count"); !ok {
		flags = append(flags, "-count=1")
	}
	p.opts.Out, p.opts.Symbols = out, p.opts.IsWarm()
	b, err := p.newBuild(e)
	if err != nil {
		return err
	}
	defer b.Close()
	if p.opts.IsWarm() {
		if _, ok := p.args.Flag("c"); ok {
			return usageError("test: -c: the call graph of a test is made when it runs; leave -c out, or use %s without -warm", engine.Giving(engine.IDs))
		}
		exec, err := b.WarmExec(p.opts, p.args)
		if err != nil {
			return err
		}
		p.args.Remove("exec")
		flags = append(flags, "-exec="+exec)
	}
	before := liveDirs(out)
	cmd := b.Command("test", append(append(flags, p.args.Words()...), p.args.Rest()...)...)
	cmd.Env = append(cmd.Env, "STEMMA_OUT="+out)
	code, err := runProcess(e, cmd)
	if err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	listNew(e, before, liveDirs(out))
	warnFull(e, out, muchRecorded)
	return exitCode(code)
}

// recordDir returns where test binaries record. It is absolute, because each
// runs in the directory of its package.
func recordDir() (string, error) {
	dir := os.Getenv("STEMMA_OUT")
	if dir == "" {
		dir = "stemma.out"
	}
	return filepath.Abs(dir)
}

// listNew tells which live directories are there that were not before.
func listNew(e *env, before, after []string) {
	old := make(map[string]bool)
	for _, dir := range before {
		old[dir] = true
	}
	var added []string
	for _, dir := range after {
		if !old[dir] {
			added = append(added, dir)
		}
	}
	if len(added) == 0 {
		fmt.Fprintf(e.stderr, "stemma: no record: no test binary ran, or none could write where records go; set STEMMA_OUT to a directory that can be written\n")
		return
	}
	fmt.Fprintf(e.stderr, "stemma: %s:\n", plural(len(added), "record"))
	listDirs(e, added)
}
