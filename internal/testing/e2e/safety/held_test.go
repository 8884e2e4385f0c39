package safety

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestLookedAt starts programs while others look, all the time, whether their records are of running ones, which takes
// the lock for a moment; here the moment is long. Each program holds its record's lock once it runs.
func TestLookedAt(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.Build(t, "hostile")
	looked := 0
	for range 40 {
		if looked >= 3 {
			break
		}
		out := t.TempDir()
		done, ended := make(chan bool), make(chan bool)
		go func() {
			defer close(ended)
			looked += lookAt(out, done)
		}()
		cmd := e2e.Command(t, out, exe)
		cmd.Args = append(cmd.Args, "wait")
		_, in := e2e.Ready(t, cmd)
		close(done)
		<-ended
		f, err := os.Open(filepath.Join(e2e.LiveDir(out, cmd), "tree"))
		if err != nil {
			t.Error(err)
		} else {
			if !store.Holds(f) {
				t.Error("the program runs, and does not hold its record")
			}
			f.Close()
		}
		in.Close()
		cmd.Wait()
	}
	t.Logf("in the way of %d locks", looked)
	if looked == 0 {
		t.Skip("no look came between a file and its lock; run it again")
	}
}

// lookAt takes the lock of the first record in a directory as soon as it is there, for a moment, and reports whether it
// got it.
func lookAt(out string, done chan bool) (got int) {
	tree := ""
	for {
		select {
		case <-done:
			return 0
		default:
		}
		if tree == "" {
			if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
				tree = filepath.Join(out, entries[0].Name(), "tree")
			}
			continue
		}
		f, err := os.Open(tree)
		if err != nil {
			continue
		}
		defer f.Close()
		if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
			time.Sleep(20 * time.Millisecond)
			return 1
		}
		return 0
	}
}
