package decode

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stemma-go/stemma/internal/ctxid"
)

// TestRenamed decodes IDs of a program that begins one segment after the other: the live directory and a new one change
// their names, before or after a reader has looked at either.
func TestRenamed(t *testing.T) {
	const segments = 12
	for scans := range 8 { // bits: before the names change, after that, and decodes only at the end
		dir := t.TempDir()
		list := simulate(t, t.TempDir(), segments)
		live := filepath.Join(dir, "prog.1-0a1b2c")
		if err := os.Rename(list[0].path, live); err != nil {
			t.Fatal(err)
		}
		set, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		look := func() { set.Decode(ctxid.ID{Hi: 1, Lo: 1, Run: 12345}) } // there is no such run
		for i := range list {
			if i > 0 {
				next := live + fmt.Sprintf(".%06d", i)
				if err := os.Rename(list[i].path, next); err != nil {
					t.Fatal(err)
				}
				if scans&1 != 0 {
					look()
				}
				for _, names := range [][2]string{{live, live + ".x"}, {next, live}, {live + ".x", next}} {
					if err := os.Rename(names[0], names[1]); err != nil {
						t.Fatal(err)
					}
				}
				if scans&2 != 0 {
					look()
				}
			}
			if scans&4 == 0 {
				decodeAll(t, set, list[max(0, i-3):i+1])
			}
		}
		decodeAll(t, set, list)
		if len(set.byRun) != segments {
			t.Errorf("%d runs are known, want %d", len(set.byRun), segments)
		}
	}
}
