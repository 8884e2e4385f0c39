package decode_test

import (
	"bytes"
	"io/fs"
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/livetest"
	"github.com/stemma-go/stemma/internal/record"
)

// A running program is one that does something before each read of its directory.
type running struct {
	files func() map[string][]byte
	act   func()
	read  map[string]int // bytes that were read, by file
}

// Open implements fs.FS. Files are as large as those of a program, which are sparse.
func (r *running) Open(name string) (fs.File, error) {
	if _, ok := r.files()[name]; !ok {
		return fstest.MapFS{}.Open(name)
	}
	return &runningFile{r, name}, nil
}

type runningFile struct {
	r    *running
	name string
}

func (f *runningFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *runningFile) Close() error               { return nil }
func (f *runningFile) Read([]byte) (int, error)   { return 0, fs.ErrInvalid }
func (f *runningFile) Name() string               { return f.name }
func (f *runningFile) Size() int64                { return 1 << 30 }
func (f *runningFile) Mode() fs.FileMode          { return 0 }
func (f *runningFile) ModTime() time.Time         { return time.Time{} }
func (f *runningFile) IsDir() bool                { return false }
func (f *runningFile) Sys() any                   { return nil }

// ReadAt implements io.ReaderAt.
func (f *runningFile) ReadAt(b []byte, off int64) (int, error) {
	f.r.act()
	clear(b)
	if data := f.r.files()[f.name]; off < int64(len(data)) {
		copy(b, data[off:])
	}
	f.r.read[f.name] += len(b)
	return len(b), nil
}

// TestRecordRunning decodes the IDs of programs that go on between any two reads of
// their directories: functions, epochs and entries are added. Each ID decodes at once,
// to its stack, and nothing but headers is read twice.
func TestRecordRunning(t *testing.T) {
	for seed := range uint64(20) {
		p := livetest.NewProgram(seed, 5)
		steps := 0
		dir := &running{files: p.D.Files, read: make(map[string]int), act: func() {
			for range 3 {
				if steps++; steps%50 == 0 {
					p.Grow()
				}
				p.Act()
				p.Capture()
			}
		}}
		p.Capture()
		record, err := decode.OpenRecord(dir)
		if err != nil {
			t.Fatal(err)
		}
		for range 300 {
			dir.act()
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
			if have, most := dir.read[name], len(p.D.Files()[name]); have > most {
				t.Errorf("seed %d: %d bytes of %s were read, which has %d", seed, have, name, most)
			}
		}
	}
}

// TestUpdate compares a record that was read in pieces with one that was read at once.
func TestUpdate(t *testing.T) {
	for seed := range uint64(10) {
		p := livetest.NewProgram(seed, 5)
		p.Capture()
		now := p.D.Files()
		now["cce"] = bytes.Clone(now["cce"])
		dir := &running{files: func() map[string][]byte { return now }, act: func() {}, read: make(map[string]int)}
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

// TestUpdateDamaged damages a directory after a part of it was read: reading on ends,
// and decoding does, too.
func TestUpdateDamaged(t *testing.T) {
	failed := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 5))
		p := livetest.NewProgram(seed, 5)
		p.Capture()
		now := maps.Clone(p.D.Files())
		now["cce"] = bytes.Clone(now["cce"])
		record, err := decode.OpenRecord(&running{files: func() map[string][]byte { return now }, act: func() {},
			read: make(map[string]int)})
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
