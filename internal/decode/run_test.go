package decode_test

import (
	"bytes"
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
		record, err := decode.OpenRun(dir)
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
		record, err := decode.OpenRun(&recordtest.Moving{Files: func() map[string][]byte { return now }})
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
