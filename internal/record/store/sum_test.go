package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// writeRuns writes n sealed files, of runs and of segments: some have the same one, with more or less in it, or a whole
// run beside its segments.
func writeRuns(t *testing.T, r *rand.Rand, n int) (paths []string) {
	dir := t.TempDir()
	for i := range n {
		d, err := record.Open(recordtest.Random(r.Uint64N(3), 5+r.IntN(20), r).FS())
		if err != nil {
			t.Fatal(err)
		}
		p := &d.Processes[0]
		p.Run = 1 + r.Uint64N(uint64(n))
		if r.IntN(2) == 0 {
			k := 1 + r.Uint64N(4)
			p.Segment = &profile.Segment{Number: k, Closed: k}
		} else if r.IntN(2) == 0 {
			p.Segment = &profile.Segment{Closed: 4}
		}
		path := filepath.Join(dir, fmt.Sprint(i, SealedSuffix))
		if err := os.WriteFile(path, sealed(t, d), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func sealed(t *testing.T, r *record.Record) []byte {
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestLoadSum adds up more records than are kept in memory. The sum is that of all, and says what was left out as well.
func TestLoadSum(t *testing.T) {
	sums, errors := 0, 0
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		paths := writeRuns(t, r, maxKept/2+r.IntN(2*maxKept))
		all, err := Load(paths)
		var want *record.Record
		if err == nil {
			want, err = record.Merge(all.Profiles...)
		}
		_, have, haveErr := LoadSum(paths)
		switch {
		case err != nil && haveErr != nil && err.Error() == haveErr.Error():
			errors++
		case err != nil || haveErr != nil:
			t.Fatalf("seed %d: have error %v, want %v", seed, haveErr, err)
		case !bytes.Equal(sealed(t, have), sealed(t, want)):
			t.Fatalf("seed %d: the sum of %d records is another one", seed, len(paths))
		default:
			sums++
		}
	}
	if sums < 2 || errors < 2 {
		t.Errorf("%d sums and %d errors: the test tests little", sums, errors)
	}
}

// TestLoadSumKeepsFew looks at what is in memory before records are added up.
func TestLoadSumKeepsFew(t *testing.T) {
	paths := writeRuns(t, rand.New(rand.NewPCG(1, 1)), 3*maxKept)
	s := new(sum)
	if err := new(Records).readAll(paths, s.add); err != nil {
		t.Fatal(err)
	}
	whole := 0
	for i, part := range s.parts() {
		if s.summands[i].rec != nil || len(part.Nodes) > 0 {
			whole++
		}
	}
	if len(s.summands) != len(paths) || whole != maxKept {
		t.Errorf("of %d records of %d %d are kept, want %d", len(s.summands), len(paths), whole, maxKept)
	}

	// What is read once more may have been replaced meanwhile: by another run, or by another segment.
	for _, change := range []func(*profile.Process){
		func(p *profile.Process) { p.Run++ },
		func(p *profile.Process) { p.Segment = &profile.Segment{Number: 7, Closed: 7} },
		func(p *profile.Process) { p.Segment = &profile.Segment{Closed: 9} },
	} {
		rec, err := s.again(maxKept)
		if err != nil {
			t.Fatal(err)
		}
		before := sealed(t, rec)
		change(&rec.Processes[0])
		for _, text := range [][]byte{sealed(t, rec), before} {
			if err := os.WriteFile(paths[maxKept], text, 0o666); err != nil {
				t.Fatal(err)
			}
			_, err := s.again(maxKept)
			if same := bytes.Equal(text, before); (err == nil) != same ||
				!same && !strings.Contains(err.Error(), "another record") {
				t.Errorf("a record was replaced, by the same: %v; have error %v", same, err)
			}
		}
	}
}

// TestPartial adds up records that do not all have the same metrics. One of another record of the same run is left out,
// and lacks nothing; what a program has made itself need not be everywhere. However they are added up, the file is the
// same.
func TestPartial(t *testing.T) {
	const nothing, alloc, inuse = 0, 1, 2 // that a record has
	write := func(run uint64, segment uint64, has int) string {
		d := recordtest.Shapes()
		d.Header(func(h *layout.Header) {
			h.Run = run
			if segment > 0 {
				h.Segment, h.Began, h.Ended = segment, 1, 2
			}
		})
		if has >= alloc {
			at := d.Node(recordtest.Root, layout.RootMain, d.Alloc("main.T"))
			if has == inuse {
				d.Counted(at, 1, 8)
			}
		}
		path := filepath.Join(t.TempDir(), "shapes.1-0a1b2c")
		if segment > 0 {
			path += fmt.Sprintf(".%06d", segment)
		}
		d.WriteTo(t, path)
		return path
	}
	seal := func(paths ...string) string {
		out := filepath.Join(t.TempDir(), "sum.stemma")
		if _, err := Seal(paths, out, 0); err != nil {
			t.Fatal(err)
		}
		return out
	}
	a, b, x, y := write(1, 0, alloc), write(2, 0, alloc), write(3, 0, nothing), write(4, 0, nothing)
	one, two := write(5, 1, alloc), write(5, 2, alloc)
	wait := func() string {
		d := recordtest.Shapes()
		d.Header(func(h *layout.Header) { h.Run = 8 })
		d.Node(recordtest.Root, layout.RootMain, d.Wait("sleep"))
		path := filepath.Join(t.TempDir(), "shapes.8-0a1b2c")
		d.WriteTo(t, path)
		return path
	}()
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{a}, "[]"},
		{[]string{x, y}, "[]"},
		{[]string{a, b}, "[]"},
		{[]string{a, write(1, 0, nothing)}, "[]"},
		{[]string{a, x}, "[{without alloc_objects 1} {without alloc_space 1}]"},
		{[]string{y, x, a}, "[{without alloc_objects 2} {without alloc_space 2}]"},
		{[]string{seal(x, y), seal(a, b)}, "[{without alloc_objects 2} {without alloc_space 2}]"},
		{[]string{seal(x, b), y}, "[{without alloc_objects 2} {without alloc_space 2}]"},
		{[]string{one, two, write(6, 0, inuse)}, "[]"}, // no segment has what is in use
		{[]string{one, write(6, 0, inuse), a}, "[{without inuse_objects 1} {without inuse_space 1}]"},
		{[]string{one, two, x}, "[{without alloc_objects 1} {without alloc_space 1}]"},
	} {
		_, p, err := LoadSum(c.paths)
		if err != nil || fmt.Sprint(p.Lost()) != c.want {
			t.Errorf("%q: have %v, %v, want %s", c.paths, p.Lost(), err, c.want)
		}
	}
	want, err := os.ReadFile(seal(a, b, x, one, two, y, wait))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{seal(two, y, b, one, x, wait, a), seal(seal(x, one), y, seal(b, a, two), wait),
		seal(seal(x, y, wait), a, seal(one, two), b)} {
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, want) {
			t.Errorf("another sum in another order (%v)", err)
		}
	}
	both := t.TempDir() // one repeat of two, and it lacks something
	for i, path := range []string{a, x} {
		if err := os.Rename(path, filepath.Join(both, fmt.Sprintf("shapes.%d-0a1b2c", i+1))); err != nil {
			t.Fatal(err)
		}
	}
	_, p, err := LoadRepeats([]string{both, write(7, 0, alloc)})
	if err != nil || fmt.Sprint(p.Lost()) != "[{without alloc_objects 1} {without alloc_space 1}]" {
		t.Errorf("repeats: have %v, %v, want both metrics of allocations", p.Lost(), err)
	}
}
