package run

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// TestStillRuns looks at records whose process has just begun, and has not locked its file yet, and at those of
// processes that have ended, also while they began.
func TestStillRuns(t *testing.T) {
	record := func(text string) (dir string, f *os.File) {
		t.Helper()
		dir = t.TempDir()
		f, err := os.Create(filepath.Join(dir, "tree"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		return dir, f
	}
	begins, f := record("")
	held := make(chan error)
	go func() {
		time.Sleep(20 * time.Millisecond)
		held <- store.Hold(f)
	}()
	if !stillRuns(begins) {
		t.Error("a process that begins has ended")
	}
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	for text, what := range map[string]string{layout.Magic: "ended", "": "was killed when it began"} {
		if dir, _ := record(text); stillRuns(dir) {
			t.Errorf("a process that %s runs", what)
		}
	}
}

// TestSealMissing seals the record of a program while a process that it started still runs, and beside one that does
// not add up with it. The profile has a note on it.
func TestSealMissing(t *testing.T) {
	for _, c := range []struct{ what, want string }{
		{"ended", ""},
		{"runs", "1 process that it started still ran when it ended; its record was left out of this profile"},
		{"segment", "1 process that it started still ran when it ended; its record was left out of this profile"},
		{"full", "1 process that it started cannot be added up with it; its record was left out of this profile"},
	} {
		t.Chdir(t.TempDir())
		held, err := liveBase("shapes")
		if err != nil {
			t.Fatal(err)
		}
		r := &Outcome{Base: held.Path, held: held, pid: 7}
		recordtest.Shapes().WriteTo(t, filepath.Join(r.Base, "shapes.7-0a1b2c"))
		child := recordtest.Shapes()
		child.Header(func(h *layout.Header) {
			if h.Run++; c.what == "full" {
				h.Flags |= layout.HdrFlagFull
			}
		})
		path := filepath.Join(r.Base, "shapes.8-0a1b2c")
		child.WriteTo(t, path)
		if c.what == "segment" {
			child.WriteTo(t, path+".000001")
		}
		if c.what == "runs" || c.what == "segment" {
			f, err := os.Open(filepath.Join(path, "tree"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := store.Hold(f); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Seal(&base.Env{Stderr: io.Discard}, "shapes.stemma"); err != nil {
			t.Fatal(err)
		}
		p, err := store.ReadSealed("shapes.stemma")
		if err != nil {
			t.Fatal(err)
		}
		if have := strings.Join(p.Processes[0].Notes, "; "); have != c.want {
			t.Errorf("%s: have note %q, want %q", c.what, have, c.want)
		}
		if c.what == "segment" && (len(p.Processes) != 1 || !store.IsLive(path+".000001")) {
			t.Errorf("%d processes, want one, without the segment of another that still runs", len(p.Processes))
		}
	}
}
