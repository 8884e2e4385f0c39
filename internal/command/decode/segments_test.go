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

// TestRenamedMeanwhile decodes an ID while the names change that its scan looks at: the program begins one segment or
// two, before any of the looks.
func TestRenamedMeanwhile(t *testing.T) {
	const looks = 12
	list := simulate(t, t.TempDir(), 4)
	for opened := range 3 { // before there is a record, before there is a segment, after that
		for first := range looks {
			for second := first; second < looks; second++ {
				dir := t.TempDir()
				var set *Set
				open := func(at int) {
					if at != opened {
						return
					}
					var err error
					if set, err = Open(dir); err != nil {
						t.Fatal(err)
					}
				}
				segment := 0
				live := filepath.Join(dir, "prog.1-0a1b2c")
				next := func() { // what has the name of a segment gets that of the live directory
					segment++
					aside := live + fmt.Sprintf(".%06d", segment)
					copyRecord(t, list[segment].path, aside)
					for _, names := range [][2]string{{live, live + ".x"}, {aside, live}, {live + ".x", aside}} {
						if err := os.Rename(names[0], names[1]); err != nil {
							t.Fatal(err)
						}
					}
				}
				open(0)
				copyRecord(t, list[0].path, live)
				open(1)
				next()
				open(2)
				n := 0
				set.looks = func() {
					if n == first {
						next()
					}
					if n == second {
						next()
					}
					n++
				}
				for i, p := range []simulated{list[1], list[0]} {
					if _, err := set.Decode(p.ids[0]); err != nil {
						t.Errorf("opened %d, looks %d and %d, ID %d: %v", opened, first, second, i, err)
					}
				}
			}
		}
	}
}

func copyRecord(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}
