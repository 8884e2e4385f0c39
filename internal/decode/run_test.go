package decode_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/level"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// TestRecordRunning decodes the IDs of programs that go on between any two reads of
// their directories: functions, epochs and entries are added. Each ID decodes at once,
// to its stack, and nothing but headers is read twice.
func TestRecordRunning(t *testing.T) {
	for seed := range level.Rounds[uint64](5, 20) {
		p := recordtest.NewProgram(seed, 5)
		steps := 0
		act := func(int) {
			for range 3 {
				if steps++; steps%50 == 0 {
					p.Grow()
				}
				p.Act()
				p.Capture()
			}
		}
		dir := &recordtest.Moving{Files: p.D.Files, Act: act}
		p.Capture()
		record, err := openRun(dir)
		if err != nil {
			t.Fatal(err)
		}
		for range 300 {
			act(0)
			c := p.Capture()
			s, err := record.Decode(id(c))
			if err != nil {
				t.Fatalf("seed %d: %v; want\n%s", seed, err, path(c.All()))
			}
			if have, want := path(s.Path()), path(c.All()); have != want {
				t.Fatalf("seed %d: have\n%s\nwant\n%s", seed, have, want)
			}
		}
		for _, name := range []string{"funcs", "epochs", "nodes"} {
			if have, most := dir.Read[name], len(p.D.Files()[name]); have > most {
				t.Errorf("seed %d: %d bytes of %s were read, which has %d", seed, have, name, most)
			}
		}
	}
}

// openRun reads a live directory, which may grow.
func openRun(fsys fs.FS) (*decode.Run, error) {
	rec, err := record.Open(fsys)
	if err != nil {
		return nil, err
	}
	return decode.NewRun(rec)
}

// TestUpdate compares a record that was read in pieces with one that was read at once.
func TestUpdate(t *testing.T) {
	for seed := range uint64(10) {
		p := recordtest.NewProgram(seed, 5)
		p.Capture()
		now := p.D.Files()
		now["cce"] = bytes.Clone(now["cce"])
		dir := &recordtest.Moving{Files: func() map[string][]byte { return now }}
		live, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			for range i % 5 * 10 {
				p.Act()
				p.Capture()
			}
			if i%7 == 0 {
				p.Grow()
			}
			before := now["cce"]
			now = p.D.Files()
			now["cce"] = bytes.Clone(now["cce"])
			grew, err := live.Update()
			if err != nil || grew != !bytes.Equal(before, now["cce"]) {
				t.Fatalf("seed %d: Update returns %v %v", seed, grew, err)
			}
			whole, err := record.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(live.Profile, whole.Profile) || !reflect.DeepEqual(live.IDs, whole.IDs) {
				t.Fatalf("seed %d, update %d: not what is read at once", seed, i)
			}
		}
	}
}

// A flaky is a directory in which one step of a reader fails, as where a process has no descriptor left.
type flaky struct {
	fs.FS
	left  int // steps before it
	steps int
}

var errFlaky = errors.New("too many open files")

func (f *flaky) step() error {
	f.steps++
	if f.left--; f.left == -1 {
		return errFlaky
	}
	return nil
}

// Open implements fs.FS.
func (f *flaky) Open(name string) (fs.File, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return &flakyFile{file, f}, nil
}

type flakyFile struct {
	fs.File
	of *flaky
}

// ReadAt implements io.ReaderAt.
func (f *flakyFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.of.step(); err != nil {
		return 0, err
	}
	return f.File.(io.ReaderAt).ReadAt(b, off)
}

// TestUpdateFails lets each step of an update fail in turn. What was known before is known then, and the next update
// goes on there, though the program has recorded nothing more.
func TestUpdateFails(t *testing.T) {
	steps := 0
	for fail := -1; fail < steps; fail++ {
		p := recordtest.NewProgram(1, 5)
		act := func() (list []recordtest.Captured) {
			for range 40 {
				p.Act()
				list = append(list, p.Capture())
			}
			return list
		}
		files := make(map[string][]byte)
		freeze := func() {
			for name, data := range p.D.Files() {
				files[name] = bytes.Clone(data)
			}
		}
		before := act()
		freeze()
		dir := &flaky{FS: &recordtest.Moving{Files: func() map[string][]byte { return files }}, left: 1 << 30}
		run, err := openRun(dir)
		if err != nil {
			t.Fatal(err)
		}
		p.Grow()
		after := act()
		freeze()
		dir.steps = 0
		if fail >= 0 {
			dir.left = fail
		}
		_, err = run.Decode(id(after[len(after)-1]))
		if fail < 0 {
			steps = dir.steps
		}
		if !errors.Is(err, errFlaky) && (err != nil || fail >= 0) {
			t.Errorf("step %d of %d fails: have %v", fail, steps, err)
		}
		for _, c := range append(before, after...) {
			if s, err := run.Decode(id(c)); err != nil || path(s.Path()) != path(c.All()) {
				t.Fatalf("step %d of %d has failed: %v", fail, steps, err)
			}
		}
	}
	if steps < 8 {
		t.Errorf("an update has %d steps: it reads nothing", steps)
	}
}

// TestUpdateDamaged damages a directory after a part of it was read: reading on ends,
// and decoding does as well.
func TestUpdateDamaged(t *testing.T) {
	failed := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 5))
		p := recordtest.NewProgram(seed, 5)
		p.Capture()
		now := maps.Clone(p.D.Files())
		now["cce"] = bytes.Clone(now["cce"])
		record, err := openRun(&recordtest.Moving{Files: func() map[string][]byte { return now }})
		if err != nil {
			t.Fatal(err)
		}
		var ids []ctxid.ID
		for range 200 {
			p.Act()
			ids = append(ids, id(p.Capture()))
		}
		p.Grow()
		for name, data := range p.D.Files() {
			data = bytes.Clone(data)
			for range min(r.IntN(3), len(data)) {
				data[r.IntN(len(data))] ^= 1 << r.IntN(8)
			}
			now[name] = data[:len(data)-r.IntN(3)*r.IntN(len(data)/2+1)]
		}
		for _, id := range ids {
			s, err := record.Decode(id)
			if err != nil {
				failed++
				continue
			}
			s.Path()
		}
	}
	if failed == 0 {
		t.Error("nothing was damaged")
	}
}
