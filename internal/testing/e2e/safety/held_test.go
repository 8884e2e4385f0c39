package safety

import (
	"bufio"
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
	for range 5 {
		out := t.TempDir()
		done, ended := make(chan bool), make(chan bool)
		go func() {
			defer close(ended)
			for {
				select {
				case <-done:
					return
				default:
				}
				files, _ := filepath.Glob(filepath.Join(out, "*", "tree"))
				for _, file := range files {
					f, err := os.Open(file)
					if err != nil {
						continue
					}
					if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
						looked++
						time.Sleep(20 * time.Millisecond)
					}
					f.Close()
				}
			}
		}()
		cmd := e2e.Command(t, out, exe)
		cmd.Args = append(cmd.Args, "wait")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(stdout); lines.Scan() && lines.Text() != "ready"; {
		}
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
		t.Skip("no look came between the file and its lock; run it again")
	}
}
