package decode_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// An eventProgram re-encodes, and records events in whatever contexts it is.
type eventProgram struct {
	*recordtest.Program
	events int
}

func (p *eventProgram) act(times int) {
	for range times {
		if p.Act(); p.events%40 == 0 {
			p.Grow()
		}
		c := p.Capture()
		p.D.AddEvent(recordtest.Event{P: p.events % 5 * p.events / 100 % 7, Kind: layout.EventAlloc, Value: 16, Time: 1,
			Hi: c.Hi, Lo: c.Lo})
		p.events++
	}
}

// files returns what is in use.
func (p *eventProgram) files() map[string][]byte {
	files := p.D.Files()
	for i := range p.D.Counts {
		counts, events := fmt.Sprint("counts.", i), fmt.Sprint("events.", i)
		used := raw.Load[layout.CountsHeader](files[counts]).Used
		files[counts] = files[counts][:layout.CountsHeaderSize+used*layout.CountSize]
		written := min(raw.Load[layout.EventsHeader](files[events]).Written, recordtest.LogEvents)
		files[events] = files[events][:layout.EventsHeaderSize+written*layout.EventSize]
	}
	return files
}

// counted returns the sums of events by context, each of which must be known.
func counted(t *testing.T, what string, dir *recordtest.Moving) map[string]uint64 {
	t.Helper()
	rec, err := record.Open(dir)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	d, sums := decode.New(rec), make(map[string]uint64)
	err = rec.IDs.EventCounts(func(e *ids.EventCount) error {
		s, err := d.Decode(e.ID)
		if err != nil {
			return err
		}
		sums[string(s.AppendLine(nil, -1))] += e.Count
		return nil
	})
	if err == nil {
		err = rec.IDs.EventLog(func(e *ids.Event) error {
			_, err := d.Decode(e.ID)
			return err
		})
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return sums
}

// TestMovingEvents stops who reads events at each of the steps, and lets the program go on there, or end: each event
// that there was is counted, in a context that decodes.
func TestMovingEvents(t *testing.T) {
	for seed := range uint64(2) {
		begin := func() *eventProgram {
			p := &eventProgram{Program: recordtest.NewProgram(seed, 5)}
			p.act(30)
			return p
		}
		still := &recordtest.Moving{Files: begin().files}
		counted(t, "nothing happens", still)
		for at := range still.Steps {
			for _, burst := range []int{3, 200, -200} {
				p := begin()
				before := counted(t, "before", &recordtest.Moving{Files: p.files})
				dir := &recordtest.Moving{Files: p.files}
				dir.Act = func(step int) {
					if step == at {
						p.act(max(burst, -burst))
						dir.Ended = burst < 0
					}
				}
				what := fmt.Sprintf("seed %d, step %d of %d, %d actions", seed, at, still.Steps, burst)
				have := counted(t, what, dir)
				after := counted(t, "afterwards", &recordtest.Moving{Files: p.files})
				for key, n := range before {
					if have[key] < n {
						t.Fatalf("%s: %s: %d, was %d", what, key, have[key], n)
					}
				}
				for key, n := range have {
					if after[key] < n {
						t.Fatalf("%s: %s: %d, is %d afterwards", what, key, n, after[key])
					}
				}
			}
		}
	}
}

// TestMovingLucce is TestRecordRunning for engine lucce: each ID decodes at once, whatever the program adds meanwhile.
func TestMovingLucce(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := newLucceProgram(t, r.IntN, 12, 0)
		act := func(int) {
			p.step(r.IntN)
			p.capture(r.IntN)
		}
		dir := &recordtest.Moving{Act: act, Files: func() map[string][]byte {
			files := make(map[string][]byte)
			for name, f := range p.l.FS() {
				files[name] = f.Data
			}
			return files
		}}
		act(0)
		rec, err := openRun(dir)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			act(0)
			c := p.took[len(p.took)-1]
			if _, err := rec.Decode(c.id); err != nil {
				t.Fatalf("seed %d: %v; want %s", seed, err, c.want)
			}
		}
	}
}
