package store

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// TestHoldLookedAt takes a lock while others look all the time whether it is held: it is got at once or after a while,
// and refused while somebody has it.
func TestHoldLookedAt(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					isHeld(name)
				}
			}
		})
	}
	for range 200 {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := Hold(f); err != nil {
			t.Errorf("nobody holds it: %v", err)
		}
		other, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := Hold(other); err != syscall.EWOULDBLOCK {
			t.Errorf("it is held, and taken again: %v", err)
		}
		other.Close()
		f.Close()
	}
	close(done)
	readers.Wait()
}
