package collect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket/buckettest"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// TestLostSegments has segments that a program made and dropped while no agent ran: they are known by their numbers,
// and count once. What was before the first one that an agent knows is none of its business.
func TestLostSegments(t *testing.T) {
	dir := t.TempDir()
	segment := func(i int) string { return filepath.Join(dir, fmt.Sprintf("p.12-0a1b2c.%06d", i)) }
	b := new(buckettest.Memory)
	for i := 5; i < 8; i++ {
		write(t, segment(i), 1)
	}
	pass := func(a *Agent) {
		t.Helper()
		if _, err := a.Pass(context.Background()); err != nil {
			t.Error(err)
		}
	}
	first, log := agent(b, dir, nil)
	pass(first)
	pass(first)
	if n := first.Numbers.lost.Load(); n != 0 {
		t.Errorf("%d are lost at first\n%s", n, log)
	}
	for i := 5; i < 8; i++ {
		if err := os.RemoveAll(segment(i)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, segment(10), 1)
	again, log := agent(b, dir, nil)
	for range 3 {
		pass(again)
	}
	if n := again.Numbers.lost.Load(); n != 2 || !strings.Contains(log.String(), "2 records gone before they were") {
		t.Errorf("%d are lost, want 2\n%s", n, log)
	}
	// The agent that stays knows of one that it has seen, and that has gone, when there is a later one.
	b.Fail = func(string, string) error { return os.ErrDeadlineExceeded }
	write(t, segment(11), 1)
	if _, err := again.Pass(context.Background()); err == nil {
		t.Error("no error of a store that is away")
	}
	if err := os.RemoveAll(segment(11)); err != nil {
		t.Fatal(err)
	}
	b.Fail = nil
	pass(again)
	pass(again)
	if n := again.Numbers.lost.Load(); n != 3 {
		t.Errorf("%d are lost, want 3\n%s", n, log)
	}
}

// TestTwoDirectories uploads records to one directory and then to another: what is in the first is not in the second.
func TestTwoDirectories(t *testing.T) {
	out, stores := t.TempDir(), t.TempDir()
	path := filepath.Join(out, "p.12-0a1b2c")
	write(t, path, 1)
	for i, name := range []string{"a", "b"} {
		b, err := bucket.Open(context.Background(), "file://"+filepath.Join(stores, name))
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		log := new(strings.Builder)
		a := New(b, nil, Options{Dirs: []string{out}, Host: "h", Log: log, Delete: i == 1})
		if err := a.Once(context.Background()); err != nil || a.Numbers.uploaded.Load() != 1 {
			t.Errorf("%s: %v, %d uploaded, want 1\n%s", name, err, a.Numbers.uploaded.Load(), log)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the record is there: %v", err)
	}
}

// TestCopiedWhileRunning has a live directory that somebody has copied while its program ran. The one that is collected
// last is neither taken for what is in the store nor removed; one that has counted the same is.
func TestCopiedWhileRunning(t *testing.T) {
	out := t.TempDir()
	early, whole := filepath.Join(out, "a.12-0a1b2c"), filepath.Join(out, "b.12-0a1b2c")
	write(t, early, 1)
	d := recordtest.Shapes()
	d.Header(func(h *layout.Header) { h.Run = 1 })
	d.Count(1, d.Node(recordtest.Root, layout.RootMain, d.Func(recordtest.Func{Name: "main.late", Line: 1})), 0, 7)
	d.WriteTo(t, whole)
	for i, path := range []string{early, whole} {
		at := time.Now().Add(time.Duration(i)*time.Second - time.Minute)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	b := new(buckettest.Memory)
	del := func(o *Options) { o.Delete = true }
	a, log := agent(b, out, del)
	if err := a.Once(context.Background()); err == nil || !strings.Contains(err.Error(), "1 record could not") {
		t.Errorf("%v, want an error for 1 record", err)
	}
	if text := log.String(); !strings.Contains(text, whole+": ") || !strings.Contains(text, "counted otherwise") ||
		a.Numbers.there.Load() != 0 {
		t.Errorf("%d were there\n%s", a.Numbers.there.Load(), text)
	}
	if _, err := os.Stat(whole); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(early); !os.IsNotExist(err) {
		t.Errorf("what is in the store is still here: %v", err)
	}

	again := t.TempDir()
	write(t, filepath.Join(again, "a.12-0a1b2c"), 1)
	a, log = agent(b, again, nil)
	if err := a.Once(context.Background()); err != nil || a.Numbers.there.Load() != 1 {
		t.Errorf("%v, %d were there, want 1\n%s", err, a.Numbers.there.Load(), log)
	}
}

// TestGoesWhileSealed has a record that its program removes after it was read, and before all of it is sealed. That is
// no failure of the store, nor of the disk.
func TestGoesWhileSealed(t *testing.T) {
	for _, whole := range []bool{true, false} {
		dir := t.TempDir()
		path := filepath.Join(dir, "p.12-0a1b2c")
		p := recordtest.NewProgram(1, 9)
		for range 100 {
			p.Act()
			c := p.Capture()
			p.D.AddEvent(recordtest.Event{Kind: layout.EventAlloc, Value: 1, Hi: c.Hi, Lo: c.Lo})
		}
		p.D.WriteTo(t, path)
		old := time.Now().Add(-time.Minute)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		a, log := agent(new(buckettest.Memory), dir, nil)
		it := item{path: path, live: path}
		d, err := a.open(it)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		rec, m, err := a.read(d, it)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names(path) {
			if whole || name != layout.FileIDs {
				if err := os.Remove(filepath.Join(path, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		err = a.to[0].take(context.Background(), it, rec, m)
		if err == nil || passes(err) != whole || a.to[0].failures != 0 || a.to[0].err != nil {
			t.Errorf("removed as a whole %v: %v, %d failures of the store, %v\n%s", whole, err, a.to[0].failures,
				a.to[0].err, log)
		}
		if err != nil && strings.Contains(err.Error(), "TMPDIR") {
			t.Errorf("the remedy is for a full disk: %v", err)
		}
	}
}

// TestUnfinishedGoes removes what a killed program leaves of the segment that it was writing, with its record, and
// nothing that is no file of a segment.
func TestUnfinishedGoes(t *testing.T) {
	out := t.TempDir()
	live := filepath.Join(out, "p.12-0a1b2c")
	write(t, live, 1)
	for path, files := range map[string][]string{
		live + ".000001": {"funcs", "counts.0"}, live + ".000002": nil, live + ".000003": {"notes.txt"},
		filepath.Join(out, "q.12-0a1b2c.000001"): {"funcs"},
	} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if err := os.WriteFile(filepath.Join(path, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, log := agent(new(buckettest.Memory), out, func(o *Options) { o.Delete = true })
	if err := a.Once(context.Background()); err != nil {
		t.Errorf("%v\n%s", err, log)
	}
	have := strings.Join(names(out), " ")
	if want := marksDir + " p.12-0a1b2c.000003 q.12-0a1b2c.000001"; have != want {
		t.Errorf("there are %s, want %s\n%s", have, want, log)
	}
	if !strings.Contains(log.String(), "notes.txt is no file of a segment") {
		t.Errorf("said:\n%s", log)
	}
}
