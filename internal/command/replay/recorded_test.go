package replay

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// recordedDir returns the record of a program in which main calls f, which calls itself,
// from one site and starts f from another; the collector calls g.
func recordedDir() *recordtest.Dir {
	d := recordtest.New(1, "prog")
	site := func(kind byte, line, cell int, callee string) recordtest.Site {
		return recordtest.Site{Kind: kind, Line: line, Cell: cell, Callee: callee}
	}
	mainF := d.Func(recordtest.Func{Name: "main.main", Files: []string{"m.go"},
		Sites: []recordtest.Site{site(layout.SiteCall, 3, 1, "main.f"), site(layout.SiteGo, 4, 2, "main.f")}})
	f := d.Func(recordtest.Func{Name: "main.f", Files: []string{"m.go"},
		Sites: []recordtest.Site{site(layout.SiteCall, 7, 1, "")}})
	g := d.Func(recordtest.Func{Name: "sync.g", Files: []string{"s.go"}})
	m := d.Node(recordtest.Root, layout.RootMain, mainF)
	f1 := d.Node(m, 0, f)
	f2 := d.Node(f1, 0, f)
	w := d.Node(m, 1, f)
	w2 := d.Node(w, 0, f)
	gc := d.Node(recordtest.Root, layout.RootGC, g)

	d.Enter(2, m)
	d.Enter(2, f1)
	d.Enter(2, f2)
	d.Enter(2, f2) // f has called itself again
	d.Enter(2, gc)
	d.Enter(2, gc)
	d.Enter(2, f1) // main has called f again
	d.Go(2, m, 5)
	d.Go(2, m, 6) // nothing is known of 6
	d.Enter(5, w)
	d.Enter(2, f1)
	d.Enter(5, w2)
	d.Enter(5, w2)
	d.Exit(5)
	d.Exit(6)
	d.Enter(2, f2)
	return d
}

// recordedText is what recordedDir did.
const recordedText = `stemma-events 1
func 1 main.main
site 0 0 static
call 0 1
func 2 main.f
site 1 1 static m.go:3
call 1 2
site 2 2 dynamic m.go:7
call 2 2
unwind 2
call 2 2
func 3 sync.g
site 3 0 static
start 1
on 1
call 3 3
unwind 0
call 3 3
exit
on 0
unwind 1
call 1 2
site 4 1 go m.go:4
unwind 1
go 2 4 2
call 1 2
on 2
call 2 2
unwind 1
call 2 2
exit
on 0
call 2 2
`

// text returns the events of d as an event file.
func text(d *recordtest.Dir) (string, error) {
	live, err := record.Open(d.FS())
	if err != nil {
		return "", err
	}
	r, err := NewRecorded(live, "x")
	if err != nil {
		return "", err
	}
	defer r.Close()
	var b strings.Builder
	err = WriteEvents(&b, r)
	return b.String(), err
}

func TestRecorded(t *testing.T) {
	have, err := text(recordedDir())
	if err != nil || have != recordedText {
		t.Fatalf("%v\n%s", err, have)
	}
	live, err := record.Open(recordedDir().FS())
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.Check = 1
	fromLog, err := Run(func() (*Reader, error) { return NewRecorded(live, "x") }, o)
	if err != nil {
		t.Fatal(err)
	}
	fromText, err := Run(func() (*Reader, error) { return NewReader(strings.NewReader(have), "x") }, o)
	if err != nil {
		t.Fatal(err)
	}
	if fromLog.Calls != 12 || fromLog.Contexts != 6 || fromLog.Goroutines != 3 || fromLog.Mismatches() != 0 {
		t.Errorf("replayed %+v", fromLog)
	}
	for i, row := range fromLog.Rows {
		other := fromText.Rows[i]
		row.EncodeUS, other.EncodeUS = 0, 0
		if row != other {
			t.Errorf("from the log %+v, from its text %+v", row, other)
		}
	}
}

// A call that is missing is made up for, where what it calls was entered, and told.
func TestRecordedImplied(t *testing.T) {
	d := recordedDir()
	first := layout.CallsHeaderSize + 2*layout.CallSize // f2
	d.Calls = append(d.Calls[:layout.CallsHeaderSize:layout.CallsHeaderSize], d.Calls[first:]...)
	raw.Update(d.Calls, func(h *layout.CallsHeader) { h.Used = uint64(len(d.Calls)) })
	have, err := text(d)
	events, note, _ := strings.Cut(have, "#")
	if want := " note: calls that are not in the log and were added, since what they call was " +
		"entered: 2\n"; err != nil || note != want {
		t.Errorf("%v, note %q, want %q", err, note, want)
	}
	if onlyEvents(events) != onlyEvents(recordedText) {
		t.Errorf("the events are\n%s", have)
	}
}

// onlyEvents returns a file without its definitions, whose order may differ.
func onlyEvents(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "func ") && !strings.HasPrefix(line, "site ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// A log that is no log, or ends too early, is an error that names the offset.
func TestRecordedDamage(t *testing.T) {
	const entries = layout.CallsHeaderSize
	set := func(off int, v uint32) func(d *recordtest.Dir) {
		return func(d *recordtest.Dir) { raw.Store(d.Calls[off:], v) }
	}
	for _, test := range []struct {
		name   string
		damage func(d *recordtest.Dir)
		want   string
	}{
		{"no log", func(d *recordtest.Dir) { d.Calls = nil },
			"no calls are recorded; build the program with -record=calls"},
		{"magic", set(0, 7), "calls: offset 0: not the header of recorded calls"},
		{"header", func(d *recordtest.Dir) { d.Calls = d.Calls[:20] }, "calls: offset 0: file ends at 20"},
		{"used", set(int(unsafe.Offsetof(layout.CallsHeader{}.Used)), entries+4), "calls: offset 8: 68 bytes in use"},
		{"end", set(int(unsafe.Offsetof(layout.CallsHeader{}.End)), 9), "calls: offset 16: unknown end 9"},
		{"truncated", func(d *recordtest.Dir) { d.Calls = d.Calls[:entries+20] },
			"x: calls: offset 80: file ends at 84, want 8 more bytes"},
		{"goroutine", set(entries+8, 0), "calls: offset 72: entry of goroutine 0"},
		{"kind", set(entries+4, layout.CallsKinds), "calls: offset 64: entry of unknown kind 7"},
		{"node", set(entries+4, 8), "calls: offset 64: there is no node at offset 8"},
		{"overflow", set(entries+4, recordtest.Overflow), "calls: offset 64: node 4152 has no path"},
		{"go alone", set(int(unsafe.Offsetof(layout.CallsHeader{}.Used)), entries+64),
			"calls: offset 128: the log ends within a go statement"},
		{"go and call", set(entries+68, 8), "calls: offset 128: entry of kind 0 behind a go statement"},
		{"folded", func(d *recordtest.Dir) { d.Header(func(h *layout.Header) { h.Flags = 0 }) },
			"calls: the tree has its recursion folded"},
	} {
		d := recordedDir()
		test.damage(d)
		if _, err := text(d); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: have %v, want %q", test.name, err, test.want)
		}
	}
	for n := range len(recordedDir().Calls) {
		d := recordedDir()
		d.Calls = d.Calls[:n]
		if _, err := text(d); err == nil || !strings.Contains(err.Error(), "calls: offset") {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
}

// A log that ended before the program reports it.
func TestRecordedCut(t *testing.T) {
	for why, want := range map[uint32]string{layout.CallsEndFull: "STEMMA_CALLS_SIZE", layout.CallsEndNodes: "-nodes"} {
		d := recordedDir()
		raw.Update(d.Calls, func(h *layout.CallsHeader) { h.End = why })
		have, err := text(d)
		note, ok := strings.CutPrefix(have, recordedText+"# note: the beginning of the run: ")
		if err != nil || !ok || !strings.Contains(note, want) {
			t.Errorf("%v\n%s", err, have)
		}
	}
}

// Whatever a log says of nodes that exist, the stream is one that can happen.
func TestRecordedRandom(t *testing.T) {
	live, err := record.Open(recordedDir().FS())
	if err != nil {
		t.Fatal(err)
	}
	var nodes []int // offsets, but for the root's and the overflow node's
	for off := recordtest.Overflow + 8; off < len(recordedDir().Tree); off += 8 {
		if n, ok := live.Node(uint32(off)); ok && n > 1 {
			nodes = append(nodes, off)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		d := recordedDir()
		d.Calls = nil
		for range 1 + rng.IntN(40) {
			g := uint32(1 + rng.IntN(4))
			switch n := nodes[rng.IntN(len(nodes))]; rng.IntN(8) {
			case 0:
				d.Exit(g)
			case 1, 2:
				d.Go(g, n, uint32(1+rng.IntN(4)))
			default:
				d.Enter(g, n)
			}
		}
		if s, err := text(d); err != nil {
			t.Fatalf("%v\n%s", err, s)
		}
	}
}
