package toolchain

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stemma-go/stemma/internal/progress"
)

// # How far a build is
//
// The go command does not tell. But it runs each tool by way of stemma, which adds a byte to a file for each
// package that is compiled; and with -n it lists what it would do, without what its cache has. That takes a moment,
// and is done for builds that take so long that it is told.

// countEnv is the environment variable that names the file.
const countEnv = "STEMMA_COMPILED"

// Follow makes a run of the go command tell the work that is under way how far it is, until stop is called. The
// command must not have been started.
func Follow(cmd *exec.Cmd) (stop func()) {
	count, end := counted(cmd, progress.Quiet()/2)
	over := progress.Step("", "packages", count)
	return func() {
		over()
		end()
	}
}

// counted makes a run of the go command count what it compiles, until end is called. The total is known some time
// after the build has taken so long.
func counted(cmd *exec.Cmd, long time.Duration) (count progress.Count, end func()) {
	f, err := os.CreateTemp("", "stemma-compiled")
	if err != nil {
		return nil, func() {} // the build reports why nothing can be written here
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
			before := size(f)
			// Which of the two outputs has the list depends on the verb.
			if out, err := list.CombinedOutput(); err == nil {
				total.Store(before + int64(compiles(out)))
			}
		}
	}()
	cmd.Env = append(cmd.Env, countEnv+"="+f.Name())
	count = func() (int64, int64) { return size(f), total.Load() }
	return count, sync.OnceFunc(func() {
		cancel()
		<-done
		f.Close()
		os.Remove(f.Name())
	})
}

// listed returns a run of the same command that only lists what it would do.
func listed(ctx context.Context, cmd *exec.Cmd) *exec.Cmd {
	list := exec.CommandContext(ctx, cmd.Path, slices.Insert(slices.Clone(cmd.Args[1:]), 1, "-n")...)
	list.Env, list.Dir = slices.Clone(cmd.Env), cmd.Dir
	return list
}

// compiles returns how many runs of the compiler are in a list.
func compiles(list []byte) int { return bytes.Count(list, []byte("/compile -o ")) }

func size(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// countCompiled adds a byte to the file of who follows the build. If it cannot, the count is too low.
func countCompiled() {
	name := os.Getenv(countEnv)
	if name == "" {
		return
	}
	if f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0); err == nil {
		_, _ = f.Write([]byte{'.'})
		f.Close()
	}
}
