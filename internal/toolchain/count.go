package toolchain

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/progress"
)

// # How far a build is
//
// The go command does not tell. But it runs each tool by way of stemma, which adds a line to a file for each
// package that is compiled, with the process that compiles it; and with -n it lists what it would do, without what its
// cache has. That takes a moment, and is done for builds that take so long that it is told.

// countEnv is the environment variable that names the file.
const countEnv = "STEMMA_COMPILED"

// Follow makes a run of the go command tell the work that is under way how far it is, and what it compiles, until stop
// is called. The command must not have been started. What names the step, unless it is all of the work.
func Follow(cmd *exec.Cmd, what string) (stop func()) {
	count, doing, end := counted(cmd, progress.Quiet()/2)
	over := progress.StepDoing(what, "packages", count, doing)
	return func() {
		over()
		end()
	}
}

// counted makes a run of the go command count what it compiles, until end is called. The total is known some time
// after the build has taken so long.
func counted(cmd *exec.Cmd, long time.Duration) (count progress.Count, doing progress.Doing, end func()) {
	tmp, err := base.MakeTemporary("stemma-compiled")
	if err != nil {
		return nil, nil, func() {} // the build reports why nothing can be written here
	}
	name := filepath.Join(tmp.Path, "begun")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		_ = tmp.RemoveAll()
		return nil, nil, func() {}
	}
	var total atomic.Int64
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan bool)
	list := listed(ctx, cmd) // before the file is in the environment
	go func() {
		defer close(done)
		select {
		case <-ctx.Done():
		case <-time.After(long):
			// What has been compiled is in the cache, and not in the list.
			before := len(begun(name))
			// Which of the two outputs has the list depends on the verb.
			if out, err := list().CombinedOutput(); err == nil {
				total.Store(int64(before + compiles(out)))
			}
		}
	}()
	cmd.Env = append(cmd.Env, countEnv+"="+name)
	count = func() (int64, int64) { return int64(len(begun(name))), total.Load() }
	doing = func() string { return oldest(begun(name)) }
	return count, doing, sync.OnceFunc(func() {
		cancel()
		<-done
		_ = tmp.RemoveAll() // there is a list in it
	})
}

// listed returns what makes a run of the same command that only lists what it would do.
func listed(ctx context.Context, cmd *exec.Cmd) func() *exec.Cmd {
	args, env := slices.Clone(cmd.Args[1:]), slices.Clone(cmd.Env)
	run := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(ctx, cmd.Path, args...)
		c.Env, c.Dir = env, cmd.Dir
		return c
	}
	return func() *exec.Cmd {
		flags, _ := run("env", "GOFLAGS").Output() // without them there is nothing to spare
		return run(harmless(args, string(flags))...)
	}
}

// harmless returns the arguments of a run of the go command that lists what one with these arguments and flags of the
// environment would do. Even with -n 'go test' makes the file of -coverprofile anew, in which the run that is followed
// has what it knows so far.
func harmless(args []string, goflags string) []string {
	const flag, nowhere = "coverprofile", "-coverprofile=" + os.DevNull
	list := []string{args[0], "-n"}
	if strings.Contains(goflags, flag) {
		list = append(list, nowhere)
	}
	for i := 1; i < len(args); i++ {
		arg := args[i]
		if arg == "-args" || arg == "--args" {
			return append(list, args[i:]...)
		}
		name, _, set := strings.Cut(strings.TrimPrefix(strings.TrimLeft(arg, "-"), "test."), "=")
		if name == flag && strings.HasPrefix(arg, "-") {
			arg = nowhere
			if !set {
				i++ // its value
			}
		}
		list = append(list, arg)
	}
	return list
}

// compiles returns how many runs of the compiler are in a list.
func compiles(list []byte) int { return bytes.Count(list, []byte("/compile -o ")) }

// A compilation is a package that a process compiles, or has compiled.
type compilation struct {
	pid int
	pkg string
}

// begun returns the compilations that the file names, in the order in which they began.
func begun(file string) []compilation {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var all []compilation
	for line := range bytes.Lines(data) {
		pid, pkg, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		n, _ := strconv.Atoi(pid)
		all = append(all, compilation{n, pkg})
	}
	return all
}

// oldest returns the package that has been compiled for longest: a build that seems to stand still waits for that one.
// It is "" between two compilations.
func oldest(all []compilation) string {
	for _, c := range all {
		if c.pid > 0 && syscall.Kill(c.pid, 0) == nil {
			return c.pkg
		}
	}
	return ""
}

// countCompiled adds a line to the file of who follows the build, if somebody does: what the compiler is about to
// compile in this process, or below it. If it cannot, the count is too low.
func countCompiled(args []string) {
	name := os.Getenv(countEnv)
	if name == "" {
		return
	}
	pkg := ""
	if i := slices.Index(args, "-p"); i >= 0 && i+1 < len(args) {
		pkg = args[i+1]
	}
	if f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0); err == nil {
		_, _ = fmt.Fprintf(f, "%d %s\n", os.Getpid(), pkg)
		f.Close()
	}
}
