package run

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/store"
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
