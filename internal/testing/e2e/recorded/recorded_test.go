package recorded

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stemma-go/stemma/internal/command/replay"
	"github.com/stemma-go/stemma/internal/encoder"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// recordedCalls are the events of the program recorded, from main.main to os.Exit.
const recordedCalls = `
0 call static main.main
0 call dynamic main.square.area
0 call static main.leaf
0 unwind 1
0 call dynamic main.circle.area
0 unwind 1
0 call dynamic main.square.area
0 call static main.leaf
0 unwind 1
0 call static main.even
0 call static main.odd
0 call static main.even
0 call static main.odd
0 unwind 1
0 call static main.apply
0 call dynamic main.main.func1
0 call static main.leaf
0 unwind 1
0 call static main.recovers
0 call static main.fails
0 call static main.fails
0 call static main.caught
0 call static main.leaf
0 unwind 1
0 call static main.faults
0 call static runtime.sigpanic
0 call static main.caught
0 call static main.leaf
0 unwind 1
0 call static main.starts
0 go 1 main.worker
1 call static main.leaf
1 exit
0 unwind 1
0 call static main.starts
0 go 2 main.worker
2 call static main.leaf
2 exit
0 unwind 1
0 call static main.leaf
0 unwind 1
0 call static os.Exit
`

// A recording is a live directory with another log of calls.
type recording struct {
	fs.FS
	calls []byte
}

// Open implements fs.FS.
func (r recording) Open(name string) (fs.File, error) {
	if name == "calls" {
		return fstest.MapFS{name: {Data: r.calls}}.Open(name)
	}
	return r.FS.Open(name)
}

// recordingOf reads the log of a program, as far as it is in use.
func recordingOf(t *testing.T, dir string) recording {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	head := make([]byte, layout.CallsHeaderSize)
	if _, err := io.ReadFull(f, head); err != nil {
		t.Fatal(err)
	}
	log := make([]byte, raw.Load[layout.CallsHeader](head).Used)
	if _, err := f.ReadAt(log, 0); err != nil {
		t.Fatal(err)
	}
	return recording{os.DirFS(dir), log}
}

// without returns the recording without the entry at an offset.
func (r recording) without(off int) recording {
	log := slices.Delete(slices.Clone(r.calls), off, off+layout.CallSize)
	raw.Update(log, func(h *layout.CallsHeader) { h.Used = uint64(len(log)) })
	return recording{r.FS, log}
}

// offset returns where in the log a function is entered first.
func (r recording) offset(t *testing.T, fn string) int {
	t.Helper()
	rec, err := record.Open(r)
	if err != nil {
		t.Fatal(err)
	}
	calls, err := rec.Calls()
	if err != nil {
		t.Fatal(err)
	}
	defer calls.Close()
	for {
		e, err := calls.Next()
		if err != nil {
			t.Fatalf("%s: %v", fn, err)
		}
		if p := rec.Profile; e.Kind == livedir.CallEnter && p.String(p.Funcs[p.Nodes[e.Node].Func].Name) == fn {
			return int(e.Offset)
		}
	}
}

// stream returns the events from main.main to os.Exit, a line each, and in what the
// recording is not whole, or cannot be read.
func (r recording) stream(t *testing.T) (events, notes string) {
	t.Helper()
	rec, err := record.Open(r)
	if err != nil {
		t.Fatal(err)
	}
	in, err := replay.NewRecorded(rec, "recording")
	if err != nil {
		return "", err.Error()
	}
	defer in.Close()
	var b strings.Builder
	for {
		e, err := in.Next()
		if err == io.EOF {
			return b.String(), strings.Join(in.Notes(), "; ")
		}
		if err != nil {
			return b.String(), err.Error()
		}
		line := eventLine(in, e)
		if b.Len() > 0 || strings.HasSuffix(line, " main.main") {
			b.WriteString(line + "\n")
		}
		if strings.HasSuffix(line, " os.Exit") {
			return b.String(), strings.Join(in.Notes(), "; ")
		}
	}
}

// eventLine returns an event as recordedCalls has it.
func eventLine(in *replay.Reader, e replay.Event) string {
	switch e.Kind {
	case replay.Call:
		return fmt.Sprint(e.G, " call ", in.Program().Sites[e.Call.Site].Kind, " ", in.Name(e.Call.Func))
	case replay.Go:
		return fmt.Sprint(e.G, " go ", e.Child, " ", in.Name(e.Call.Func))
	case replay.Unwind:
		return fmt.Sprint(e.G, " unwind ", e.Depth)
	case replay.Exit:
		return fmt.Sprint(e.G, " exit")
	}
	return fmt.Sprintf("%+v", e)
}

// TestRecorded compares the recording of a program with what it is known to do. Then
// it takes away each entry of the log in turn, which must not go unnoticed.
func TestRecorded(t *testing.T) {
	e2e.NeedFull(t)
	exe := e2e.Build(t, "recorded", "-record=calls")
	for _, procs := range []string{"GOMAXPROCS=1", "GOMAXPROCS=2"} {
		r := e2e.Run(t, exe, procs)
		r.OK(t)
		e2e.NoLoss(t, r.Read(t))
		rec := recordingOf(t, r.Dir)
		have, notes := rec.stream(t)
		if have != recordedCalls[1:] || notes != "" {
			t.Fatalf("%s: recorded, with notes %q:\n%s", procs, notes, have)
		}
		entries := 0
		for off := rec.offset(t, "main.main"); off <= rec.offset(t, "os.Exit"); off += layout.CallSize {
			entries++
			if got, notes := rec.without(off).stream(t); got == have && notes == "" {
				t.Errorf("without the entry at offset %d the stream is the same", off)
			}
		}
		if entries < 30 {
			t.Errorf("%s: %d entries were taken away, want more", procs, entries)
		}
	}
}

// TestRecordedCounts replays all calls of programs with many goroutines, panics and
// callbacks, and compares how often each context was entered with the counts of the
// same run: the log has every call, and in the right place.
func TestRecordedCounts(t *testing.T) {
	e2e.NeedFull(t)
	for _, name := range []string{"calls", "defers", "nested", "exact", "recorded", "edges", "goroutines", "cgo",
		"asm"} {
		t.Run(name, func(t *testing.T) {
			r := e2e.Run(t, e2e.Build(t, name, "-record=calls"), "GOMAXPROCS=2", "DISTURB_GC=1", "DISTURB_PREEMPT=1")
			r.OK(t)
			rec, err := record.Open(os.DirFS(r.Dir))
			if err != nil {
				t.Fatal(err)
			}
			e2e.NoLoss(t, rec.Profile)
			compareCounts(t, rec)
		})
	}
}

// compareCounts compares the contexts of a recording with those of the tree. Contexts
// have the same name if they lead through the same functions and positions.
func compareCounts(t *testing.T, rec *record.Record) {
	t.Helper()
	in, err := replay.NewRecorded(rec, "recording")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	names := newContextNames()
	want, have := make(map[int]uint64), make(map[int]uint64)
	treeCounts(rec.Profile, names, want)
	calls := streamCounts(t, in, names, have)
	if notes := in.Notes(); len(notes) > 0 {
		t.Errorf("the recording is not whole: %q", notes)
	}
	wrong := 0
	for c := range names.known {
		if id := names.known[c]; want[id] != have[id] {
			if wrong++; wrong < 10 {
				t.Errorf("%s: replayed %d times, counted %d", names.path(id), have[id], want[id])
			}
		}
	}
	t.Logf("%d calls, %d contexts, %d of them differ", calls, len(names.known), wrong)
	if calls == 0 {
		t.Error("no calls")
	}
}

// contextNames numbers contexts by their names: 0 is the root.
type contextNames struct {
	known map[contextName]int
	list  []contextName
}

// A contextName is a context as compareCounts sees it.
type contextName struct {
	parent    int
	place, fn string
}

func newContextNames() *contextNames {
	return &contextNames{make(map[contextName]int), []contextName{{}}}
}

// number returns the number of a context.
func (c *contextNames) number(parent int, place, fn string) int {
	n := contextName{parent, place, fn}
	id, ok := c.known[n]
	if !ok {
		id = len(c.list)
		c.known[n] = id
		c.list = append(c.list, n)
	}
	return id
}

// path returns the innermost functions of a context.
func (c *contextNames) path(id int) string {
	s := c.list[id].fn
	for n := 0; c.list[id].parent != 0; n++ {
		id = c.list[id].parent
		if n == 10 {
			return "…;" + s
		}
		s = c.list[id].fn + ";" + s
	}
	return "root;" + s
}

// treeCounts adds the counts of all nodes of a tree.
func treeCounts(p *profile.Profile, names *contextNames, counts map[int]uint64) {
	ids := make([]int, len(p.Nodes))
	for i, n := range p.Nodes {
		f := &p.Funcs[p.Nodes[n.Parent].Func]
		if i == 0 || p.Funcs[n.Func].Kind == profile.FuncOverflow {
			continue
		}
		place := ""
		if cells := f.CellSites(); p.Funcs[n.Func].Kind != profile.FuncFault && int(n.Cell) < len(cells) &&
			cells[n.Cell] != profile.None {
			s := f.Sites[cells[n.Cell]]
			place = fmt.Sprintf("%s:%d", p.String(s.File), s.Line)
		}
		ids[i] = names.number(ids[n.Parent], place, p.String(p.Funcs[n.Func].Name))
		counts[ids[i]] += p.NodeCounts(i)[0]
	}
}

// streamCounts counts the calls of each context, and returns how many there are.
func streamCounts(t *testing.T, in *replay.Reader, names *contextNames, counts map[int]uint64) (calls int) {
	t.Helper()
	stacks := map[encoder.Goroutine][]int{encoder.Main: {0}}
	started := map[encoder.Goroutine]int{encoder.Main: 1} // 1 if the stack has the root in it
	for {
		e, err := in.Next()
		if err == io.EOF {
			return calls
		}
		if err != nil {
			t.Fatal(err)
		}
		switch s := stacks[e.G]; e.Kind {
		case replay.Call, replay.Go:
			id := names.number(s[len(s)-1], in.Place(e.Call.Site), in.Name(e.Call.Func))
			counts[id]++
			calls++
			if e.Kind == replay.Go {
				stacks[e.Child] = []int{id}
			} else {
				stacks[e.G] = append(s, id)
			}
		case replay.Unwind:
			stacks[e.G] = s[:e.Depth+started[e.G]]
		case replay.Start:
			stacks[e.G], started[e.G] = []int{0}, 1
		case replay.Exit:
			delete(stacks, e.G)
			delete(started, e.G)
		}
	}
}
