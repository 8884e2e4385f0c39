package top

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// A program is a live directory in the making: main calls f from one site, and g from another.
type program struct {
	d                  *recordtest.Dir
	path               string
	main, f, g         uint64
	mainNode, fAt, gAt int
}

func newProgram(t *testing.T) *program {
	p := &program{d: recordtest.New(2, "prog"), path: filepath.Join(t.TempDir(), "prog.7-abcdef")}
	p.main = p.d.Func(recordtest.Func{Name: "main.main", Files: []string{"m.go"}, Sites: []recordtest.Site{
		{Kind: layout.SiteCall, Cell: 1}, {Kind: layout.SiteCall, Cell: 2}}})
	p.f = p.d.Func(recordtest.Func{Name: "main.f", Files: []string{"m.go"}})
	p.g = p.d.Func(recordtest.Func{Name: "main.g", Files: []string{"m.go"}})
	p.mainNode = p.d.Node(recordtest.Root, layout.RootMain, p.main)
	p.fAt = p.d.Node(p.mainNode, 0, p.f)
	return p
}

func (p *program) read(t *testing.T, r *Reader) *Reading {
	t.Helper()
	p.d.WriteTo(t, p.path)
	got, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// text returns the rows of a page, with rates as counts.
func text(p *Page) string {
	var rows []string
	for _, r := range p.Rows {
		rows = append(rows, fmt.Sprintf("%s %d %d", r.Name, r.Delta, r.Count))
	}
	return strings.Join(rows, "; ")
}

// What happened between two readings is the difference of their counts, whether the program has
// recorded new contexts in between or not; those that were there are not expanded again.
func TestRates(t *testing.T) {
	p := newProgram(t)
	p.d.Count(0, p.mainNode, 0, 1)
	p.d.Count(0, p.fAt, 0, 100)
	r := NewReader(p.path, "")
	first := p.read(t, r)
	o := Options{Sort: "rate", Rows: 10}
	page := Between(nil, first, o)
	if text(page) != "main.f 0 100; main.main 0 1" || page.Took != 0 || page.Delta != 0 {
		t.Errorf("first page: %s", text(page))
	}
	tree := r.tree
	p.d.Count(1, p.fAt, 0, 30)
	second := p.read(t, r)
	page = Between(first, second, o)
	if text(page) != "main.f 30 130; main.main 0 1" || page.Delta != 30 || page.Count != 131 {
		t.Errorf("second page: %s", text(page))
	}
	if r.tree != tree {
		t.Error("a tree that has not grown was read anew")
	}
	p.gAt = p.d.Node(p.mainNode, 1, p.g)
	p.d.Count(0, p.gAt, 0, 5)
	p.d.Count(0, p.fAt, 0, 1)
	third := p.read(t, r)
	page = Between(second, third, o)
	if text(page) != "main.g 5 5; main.f 1 131; main.main 0 1" || page.Contexts != 3 {
		t.Errorf("third page: %s", text(page))
	}
	o.Contexts = true
	want := "main.g ← main.main ← [main] 5 5; main.f ← main.main ← [main] 1 131"
	if have := text(Between(second, third, o)); !strings.HasPrefix(have, want) {
		t.Errorf("contexts: %s", have)
	}
}

// What there is no room for is one line, and with the rows it is everything.
func TestPageAddsUp(t *testing.T) {
	p := newProgram(t)
	r := NewReader(p.path, "")
	before := p.read(t, r)
	p.gAt = p.d.Node(p.mainNode, 1, p.g)
	for i, at := range []int{p.mainNode, p.fAt, p.gAt} {
		p.d.Count(0, at, 0, uint64(10*i+1))
	}
	now := p.read(t, r)
	for _, o := range []Options{
		{Rows: 1}, {Rows: 1, Contexts: true}, {Rows: 2, Sort: "name"}, {Rows: 9, Sort: "count"},
	} {
		page := Between(before, now, o)
		sum := page.Rest
		for _, row := range page.Rows {
			sum.Delta, sum.Count = sum.Delta+row.Delta, sum.Count+row.Count
		}
		rows := len(page.Rows) + page.More
		if sum.Delta != page.Delta || sum.Count != page.Count || page.Count != 33 || rows != 3 {
			t.Errorf("%+v: rows and rest %+v, in all %d and %d", o, sum, page.Delta, page.Count)
		}
		if (page.More > 0) != (page.rest() != "") {
			t.Errorf("%+v: %d more, and says %q", o, page.More, page.rest())
		}
	}
	if have := text(Between(before, now, Options{Rows: 9, Search: "MAIN.G"})); have != "main.g 21 21" {
		t.Errorf("search: %s", have)
	}
	if have := Between(before, now, Options{Rows: 9, Search: "main.main", Contexts: true}); len(have.Rows) != 3 {
		t.Errorf("contexts with a function: %s", text(have))
	}
}

// A slow reading is followed by a long pause: top takes a twentieth of a core at most.
func TestPause(t *testing.T) {
	r := &Reader{cost: 200 * time.Millisecond}
	if have := r.Pause(time.Second); have != 4*time.Second {
		t.Errorf("a pause of %v behind a reading of %v", have, r.cost)
	}
	r.cost = time.Millisecond
	if have := r.Pause(time.Second); have != time.Second {
		t.Errorf("a pause of %v behind a reading of %v", have, r.cost)
	}
}

// A page that is printed has what one on a screen has, and names do no more than stand there.
func TestOnceAndScreen(t *testing.T) {
	p := newProgram(t)
	bad := p.d.Func(recordtest.Func{Name: "main.\x1b]0;x\a\u202e" + strings.Repeat("x", 1<<20),
		Files: []string{"m.go"}})
	p.d.Count(0, p.d.Node(p.mainNode, 1, bad), 0, 1000)
	p.d.Count(0, p.fAt, 0, 1234567)
	p.read(t, NewReader(p.path, ""))
	var b bytes.Buffer
	if err := Once(&b, NewReader(p.path, ""), time.Millisecond, Options{Rows: 5, Sort: "count"}); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	if !strings.Contains(out, "1,234,567  main.f\n") || strings.ContainsAny(out, "\x1b\a\u202e") || len(out) > 4000 {
		t.Errorf("%d bytes: %.1000s", len(out), out)
	}
	b.Reset()
	none := Options{Rows: 5, Sort: "count", Search: "no.such"}
	if err := Once(&b, NewReader(p.path, ""), time.Millisecond, none); err != nil {
		t.Fatal(err)
	}
	if out := b.String(); !strings.HasSuffix(out, "\nnothing found: no function here has “no.such” in its name\n") {
		t.Errorf("nothing is found: %s", out)
	}
	s := newSeenScreen()
	done := make(chan error)
	go func() { done <- Show(s, NewReader(p.path, ""), time.Hour, Options{Sort: "count"}) }()
	shows := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			have := s.seen()
			if strings.Contains(have, want) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("no %q on\n%s", want, have)
			}
		}
	}
	shows("1,234,567  main.f")
	s.press(Event{KeyRune, 'c'})
	shows("main.f ← main.main ← [main]")
	s.types("/main.f")
	shows("search: main.f")
	s.press(Event{Key: KeyEnter})
	s.press(Event{KeyRune, 'p'})
	shows("only main.f · PAUSED")
	if have := s.seen(); strings.Contains(have, "1,000  main.") || strings.ContainsAny(have, "\x1b\a\u202e") {
		t.Errorf("screen:\n%s", have)
	}
	s.press(Event{KeyRune, 'q'})
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A seenScreen remembers what was on it when it was last shown.
type seenScreen struct {
	events chan Event
	mu     sync.Mutex
	text   string
}

func newSeenScreen() *seenScreen { return &seenScreen{events: make(chan Event, 100)} }

func (s *seenScreen) Size() (wide, high int) { return 80, 25 }

func (s *seenScreen) Events() <-chan Event { return s.events }

func (s *seenScreen) press(e Event) { s.events <- e }

func (s *seenScreen) types(text string) {
	for _, r := range text {
		s.press(Event{KeyRune, r})
	}
}

func (s *seenScreen) Draw(page []Line) {
	wide, _ := s.Size()
	var b strings.Builder
	for _, l := range page {
		b.WriteString(firstRunes(l.Text, wide) + "\n")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = b.String()
}

func (s *seenScreen) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text
}

// A directory is found on its own, and a sealed file is refused.
func TestFind(t *testing.T) {
	p := newProgram(t)
	p.d.WriteTo(t, p.path)
	if have, err := Find(p.path); have != p.path || err != nil {
		t.Errorf("%s: %v", have, err)
	}
	file, nothing := filepath.Join(p.path, "tree"), filepath.Join(p.path, "nothing")
	for _, bad := range []string{filepath.Dir(p.path), file, nothing, "999999999"} {
		if have, err := Find(bad); err == nil {
			t.Errorf("%s: found %s", bad, have)
		}
	}
}

// Of a directory of records that of a program is found which still runs: it holds a lock.
func TestFindIn(t *testing.T) {
	p := newProgram(t)
	p.d.WriteTo(t, p.path)
	dir := filepath.Dir(p.path)
	p.d.WriteTo(t, filepath.Join(dir, "prog.8-abcdef"))
	if have, err := Find(dir); err == nil || !strings.Contains(err.Error(), "name a process ID or a live directory") {
		t.Errorf("where no program runs: have %q, %v", have, err)
	}
	f, err := os.Open(filepath.Join(p.path, "tree"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if have, err := Find(dir); have != p.path || err != nil {
		t.Errorf("have %s (%v), want %s", have, err, p.path)
	}
}

// A process is found that records anywhere: by the file that it has mapped.
func TestFindMapped(t *testing.T) {
	p := newProgram(t)
	p.d.WriteTo(t, p.path)
	f, err := os.Open(filepath.Join(p.path, "tree"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mem, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(mem)
	if have, err := Find(strconv.Itoa(os.Getpid())); have != p.path || err != nil {
		t.Errorf("have %s (%v), want %s", have, err, p.path)
	}
	// While a segment of context IDs ends, its files are mapped as well.
	segment := p.path + ".000001"
	if err := os.Rename(p.path, segment); err != nil {
		t.Fatal(err)
	}
	p.d.WriteTo(t, p.path)
	if have, err := Find(strconv.Itoa(os.Getpid())); have != p.path || err != nil {
		t.Errorf("with %s mapped have %s (%v), want %s", segment, have, err, p.path)
	}
}

// TestSegmentBetween has two readings, between which the record of context IDs has begun anew.
func TestSegmentBetween(t *testing.T) {
	p := newProgram(t)
	p.d.Count(0, p.fAt, 0, 100)
	r := NewReader(p.path, "")
	before, now := p.read(t, r), p.read(t, r)
	if page := Between(before, now, Options{Rows: 10}); page.Delta != 0 {
		t.Errorf("%d calls between two readings of the same, want none", page.Delta)
	}
	now.Process.Run++
	now.Process.Segment = &profile.Segment{Number: 2, Began: now.Time.Add(-time.Second)}
	if page := Between(before, now, Options{Rows: 10}); page.Delta != page.Count || page.Took != time.Second {
		t.Errorf("%d calls in %v, want the %d since the segment began", page.Delta, page.Took, page.Count)
	}
}

// The first rows are those that sorting all would give.
func TestFirst(t *testing.T) {
	var rows []rankedRow
	for i := range uint32(500) {
		n := uint64(i * 7919 % 101)
		rows = append(rows, rankedRow{Row{fmt.Sprint("f", i%13), n, uint64(i % 17)}, i})
	}
	for _, order := range Orders {
		all := first(rows, len(rows), order)
		compare := func(a, b rankedRow) int { return compareRows(&a, &b, order) }
		if !slices.IsSortedFunc(all, compare) || len(all) != 500 {
			t.Errorf("by %s: %d rows, not sorted", order, len(all))
		}
		for _, n := range []int{1, 7, 100} {
			if have := first(rows, n, order); !slices.Equal(have, all[:n]) {
				t.Errorf("the first %d by %s are others than those of all", n, order)
			}
		}
	}
}

// Of a record of context IDs the page shows its events, those whose ID has become known in between
// as well, and as another value what the encoder does; and says why there are no calls.
func TestEncoded(t *testing.T) {
	d, path, id, _ := recordtest.Shop(t)
	parsed, err := ctxid.Parse(id)
	if err != nil {
		t.Fatal(err)
	}
	read := func(r *Reader) *Reading {
		t.Helper()
		d.WriteTo(t, path)
		got, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	r, encoder := NewReader(path, ""), NewReader(path, "encoding")
	first, before := read(r), read(encoder)
	o := Options{Sort: "rate", Rows: 10}
	page := Between(nil, first, o)
	if text(page) != "main.pay 0 2" || page.Type.Name != "alloc" || page.Note != "" {
		t.Errorf("first page, of %s: %s", page.Type.Name, text(page))
	}
	d.AddEvent(recordtest.Event{Kind: layout.EventAlloc, Value: 5, Time: 9, Hi: parsed.Hi, Lo: parsed.Lo})
	d.Intern(recordtest.Interned{Kind: layout.InternRoot, Place: layout.RootTimer, Target: d.Func(recordtest.Func{
		Name: "main.tick", Files: []string{"/src/tick.go"}})})
	d.Second(func(h *layout.ContextsHeader) { h.Slow += 1000 })
	second := read(r)
	page = Between(first, second, o)
	if text(page) != "main.pay 1 3" || page.Delta != 1 {
		t.Errorf("second page: %s", text(page))
	}
	o.Contexts = true
	if have := text(Between(first, second, o)); have != "main.pay ← main.serve ← main.main ← [main] 1 3" {
		t.Errorf("contexts: %s", have)
	}
	o.Contexts = false
	page = Between(before, read(encoder), o)
	out := strings.Join(lines(page, second, o), "\n")
	for _, want := range []string{"slow entries", "ccStack entries interned", "no counts of calls"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if page.Rows[0].Name != "slow entries" || page.Rows[0].Delta != 1000 || page.Rows[1].Delta != 1 {
		t.Errorf("rates of the encoder: %s", text(page))
	}
	if strings.Contains(out, "%\n") || strings.Contains(out, "build with -events") {
		t.Errorf("shares of what is no sum, or a hint that does not help:\n%s", out)
	}
	var names []string
	for _, v := range second.Values {
		names = append(names, v.Name)
	}
	if have := strings.Join(names, ", "); have != "alloc, alloc bytes, block, block nanoseconds, go, encoding" {
		t.Errorf("values %s", have)
	}
	if _, err := NewReader(path, "panic").Read(); err == nil || !strings.Contains(err.Error(), "have alloc,") {
		t.Errorf("a value that is not there: %v", err)
	}
	bare := filepath.Join(t.TempDir(), "bare.7-abcdef")
	recordtest.NewContexts("bare").WriteTo(t, bare)
	got, err := NewReader(bare, "").Read()
	if err != nil || !strings.Contains(got.Note, "build with -events=alloc") {
		t.Errorf("a record without events: %v, %+v", err, got)
	}
}

// TestOwners lists by function what a record has by type and by reason: memory belongs to the function that allocates
// it, and a wait to the one that waits, as in stemma report.
func TestOwners(t *testing.T) {
	for inner, typ := range map[string]profile.Metric{"new(main.T)": profile.AllocSpace, "wait(select)": profile.Wait} {
		now := &Reading{Counts: []uint64{0, 0, 0, 0, 7}, Tree: &cct.Tree{
			Funcs: []cct.Func{{Name: "[main]", Pseudo: true}, {Name: "main.f"}, {Name: "runtime.inside"},
				{Name: inner, Type: true}},
			Nodes: []cct.Node{{}, {}, {Parent: 1, Func: 1}, {Parent: 2, Func: 2, Site: 1}, {Parent: 3, Func: 3}},
			Sites: []cct.Site{{}, {Via: cct.ViaNative}},
			Type:  typ,
		}}
		if have := text(Between(nil, now, Options{Rows: 9})); have != "main.f 0 7" {
			t.Errorf("%s by function: %s, want main.f", typ.Name, have)
		}
		if have := Between(nil, now, Options{Rows: 9, Contexts: true}).Rows[0].Name; !strings.HasPrefix(have, inner) {
			t.Errorf("%s by context: %s, want %s first", typ.Name, have, inner)
		}
	}
}
