package ids_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// contextsDir is the directory of main.main → main.a with two epochs, an event and a
// fault, and of a goroutine.
func contextsDir() *recordtest.Contexts {
	d := recordtest.NewContexts("prog", "-x")
	mainF := d.Func(recordtest.Func{Name: "main.main", Files: []string{"/src/m.go"}, Sites: []recordtest.Site{
		{Kind: layout.SiteCall, Line: 2, Cell: 1},
		{Kind: layout.SiteNative, Line: 3, Callee: "runtime.newobject", Counter: 2}, {Kind: layout.SiteGo, Line: 4,
			Cell: 2}}})
	a := d.Func(recordtest.Func{Name: "main.a", Files: []string{"/src/m.go"},
		Sites: []recordtest.Site{{Kind: layout.SiteCall, Line: 12, Cell: 1}}})
	d.FaultAt(d.Return(a, 0)+1, "runtime.sigpanic", recordtest.Frame{Func: "main.a", File: "/src/m.go", Line: 14})
	d.Epoch(3, []recordtest.EpochFunc{{Func: mainF, NumCC: 1}, {Func: a, Key: 9, NumCC: 4}},
		[]recordtest.EpochSite{{Func: mainF, Cell: 0, Addition: 3, Target: a},
			{Func: a, Cell: 0, Addition: 2, Target: 9}})
	d.Epoch(1, []recordtest.EpochFunc{{Func: a, NumCC: 2}},
		[]recordtest.EpochSite{{Func: mainF, Cell: 0, Addition: layout.NoAddition},
			{Func: mainF, Cell: 1, Addition: 1, Target: a}})
	root := d.Intern(recordtest.Interned{Kind: layout.InternRoot, Place: layout.RootMain, Target: mainF})
	d.Intern(recordtest.Interned{Parent: root, Epoch: 1, Kind: layout.InternGo, Place: d.Return(mainF, 2), Target: a})
	hi, lo := d.ID(root, 0, 1, d.Return(mainF, 1))
	d.AddEvent(recordtest.Event{Kind: layout.EventAlloc, Value: 48, Time: 5000, Hi: hi, Lo: lo})
	d.AddEvent(recordtest.Event{P: 2, Kind: layout.EventGo, Value: 7, Time: 6000, Hi: hi, Lo: lo})
	d.AddContextCheck(hi, lo, 0, 0, 3, recordtest.Frame{Func: "main.main", File: "/src/m.go", Line: 3})
	return d
}

func openContexts(t testing.TB, d *recordtest.Contexts) *record.Record {
	t.Helper()
	p, err := record.Open(d.FS())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// counts returns the events of a profile, added up.
func counts(t testing.TB, c *ids.Encoding) []ids.EventCount {
	t.Helper()
	var list []ids.EventCount
	if err := c.EventCounts(func(e *ids.EventCount) error { list = append(list, *e); return nil }); err != nil {
		t.Fatal(err)
	}
	return list
}

// events returns the events in the logs of a profile.
func events(t testing.TB, c *ids.Encoding) []ids.Event {
	t.Helper()
	var list []ids.Event
	if err := c.EventLog(func(e *ids.Event) error { list = append(list, *e); return nil }); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestContexts(t *testing.T) {
	d := contextsDir()
	p := openContexts(t, d)
	c := p.IDs
	if p.Processes[0].Engine != "dacce" || c.Run != recordtest.Run || c.Text != recordtest.Text || len(c.Code) != 2 ||
		len(c.Interned) != 3 || len(c.Dict.Epochs) != 3 {
		t.Fatalf("have %+v", c)
	}
	mainF, a := c.Code[0].Func, c.Code[1].Func
	for _, e := range []struct {
		epoch, fn uint32
		want      []ids.InEdge
	}{
		{0, a, nil},
		{1, a, []ids.InEdge{{Caller: a, Site: 0, Addition: 2, NumCC: 4},
			{Caller: mainF, Site: 0, Addition: 3, NumCC: 1}}},
		{2, a, []ids.InEdge{{Caller: mainF, Site: 2, Addition: 1, NumCC: 1}}},
		{1, mainF, nil},
	} {
		if have := c.Dict.InEdges(e.epoch, e.fn); !slices.Equal(have, e.want) {
			t.Errorf("epoch %d, function %d: have %v, want %v", e.epoch, e.fn, have, e.want)
		}
	}
	code := c.CodeAt(d.Return(0x400000, 0))
	if code == nil || code.Func != mainF || code.Site(d.Return(0x400000, 2)) != 2 ||
		code.Site(code.Entry+1) != profile.None {
		t.Errorf("code at the first call of main.main: %+v", code)
	}
	if c.CodeAt(code.Entry) != code || c.CodeAt(code.Entry-1) != nil ||
		c.CodeAt(code.Entry+uint64(code.Size)) == nil || c.CodeAt(code.Entry+uint64(code.Size)+1) != nil {
		t.Error("the code of a function reaches from its entry up to its end")
	}
	want := []ids.Event{{Kind: layout.EventAlloc, Value: 48, Time: 5 * time.Microsecond},
		{Kind: layout.EventGo, Value: 7, Time: 6 * time.Microsecond}}
	for i, e := range events(t, c) {
		e.ID = ctxid.ID{}
		if i >= len(want) || e != want[i] {
			t.Errorf("event %d: have %+v", i, e)
		}
	}
	stop := errors.New("stop")
	if err := c.EventLog(func(*ids.Event) error { return stop }); err != stop {
		t.Errorf("visit's error: have %v", err)
	}
	for i, want := range []ids.EventCount{{Kind: layout.EventAlloc, Bits: 6, Count: 1, Sum: 48, Max: 48},
		{Kind: layout.EventGo, Count: 1}} {
		have := counts(t, c)[i]
		if have.ID == (ctxid.ID{}) {
			t.Errorf("count %d has no ID", i)
		}
		if have.ID = (ctxid.ID{}); have != want {
			t.Errorf("count %d: have %+v, want %+v", i, have, want)
		}
	}
	other := *p.Profile
	other.Processes = slices.Clone(p.Processes)
	other.Processes[0].Run = 0
	if _, err := record.Merge(p, &record.Record{Profile: &other, IDs: p.IDs}); err == nil ||
		!strings.Contains(err.Error(), "cannot be added to others") || !strings.Contains(err.Error(), ", pid ") {
		t.Errorf("merging: have %v", err)
	}
}

func mustWrite(t testing.TB, r *record.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func mustText(t testing.TB, r *record.Record) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// readBack reads what was written.
func readBack(t testing.TB, data []byte) *record.Record {
	t.Helper()
	r, err := record.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestContextsSealed checks that the sealed file says what the directory said when
// it was read, also if the program went on.
func TestContextsSealed(t *testing.T) {
	d := contextsDir()
	fsys := d.FS()
	p, err := record.Open(fsys)
	if err != nil {
		t.Fatal(err)
	}
	before := mustWrite(t, p)
	again := contextsDir() // as much again in the same files
	d.Intern(recordtest.Interned{Parent: 1, Epoch: 1, Kind: layout.InternGo, Place: d.Return(0x400000, 2),
		Target: 0x400040})
	d.Epoch(9, nil, nil)
	d.AddEvent(recordtest.Event{Kind: layout.EventGo, Value: 8})
	for name, data := range d.Files() {
		fsys[name] = &fstest.MapFile{Data: data}
	}
	if after := mustWrite(t, p); len(after) != len(before) {
		t.Errorf("sealed %d bytes, then %d", len(before), len(after))
	}
	p.IDs.Stats.Elapsed = 1500 * time.Millisecond
	back, err := record.Read(bytes.NewReader(mustWrite(t, p)))
	if err != nil {
		t.Fatal(err)
	}
	if back.IDs.Stats != p.IDs.Stats || !slices.Equal(back.IDs.Interned, p.IDs.Interned) {
		t.Errorf("have %+v, want %+v", back.IDs.Stats, p.IDs.Stats)
	}
	if have, want := counts(t, back.IDs), counts(t, openContexts(t, again).IDs); !slices.Equal(have, want) {
		t.Errorf("counts: have %v, want %v", have, want)
	}
	if have, want := events(t, back.IDs), events(t, openContexts(t, again).IDs); !slices.Equal(have, want) {
		t.Errorf("events: have %v, want %v", have, want)
	}
	if have := mustWrite(t, back); !bytes.Equal(have, mustWrite(t, p)) {
		t.Error("reading and writing changes the file")
	}
}

// TestContextsDamage damages one thing after another.
func TestContextsDamage(t *testing.T) {
	type dir = recordtest.Contexts
	epoch := func(change func(*layout.Epoch)) func(*dir) { return func(d *dir) { raw.Update(d.Epochs, change) } }
	epochFunc := func(change func(*layout.EpochFunc)) func(*dir) {
		return func(d *dir) { raw.Update(d.Epochs[layout.EpochSize:], change) }
	}
	epochSite := func(change func(*layout.EpochSite)) func(*dir) {
		return func(d *dir) { raw.Update(d.Epochs[layout.EpochSize+2*layout.EpochFuncSize:], change) }
	}
	node := func(i int, change func(*layout.Interned)) func(*dir) {
		return func(d *dir) { raw.Update(d.Nodes[layout.InternedSize*i:], change) }
	}
	code := func(change func(*layout.PCsRecord)) func(*dir) { return func(d *dir) { raw.Update(codeOf(d), change) } }
	for _, c := range []struct {
		name   string
		damage func(d *recordtest.Contexts)
		want   string
	}{
		{"magic", func(d *recordtest.Contexts) { d.Tree[0] = 'x' }, "cce: offset 0: not the header"},
		{"flag", func(d *recordtest.Contexts) { d.Header(func(h *layout.Header) { h.Flags = 0 }) },
			"cce: offset 12: flags 0x0 without"},
		{"run", func(d *recordtest.Contexts) { d.Header(func(h *layout.Header) { h.Run = 0 }) },
			"cce: offset 184: run number 0"},
		{"header cut", func(d *recordtest.Contexts) { d.Tree = d.Tree[:5000] }, "cce: offset 4096: file ends at 5000"},
		{"epoch length", epoch(func(e *layout.Epoch) { e.Length++ }), "epochs: offset 0: epoch of"},
		{"epoch functions", epoch(func(e *layout.Epoch) { e.Funcs = 0xff }), "epochs: offset 0: epoch of"},
		{"epoch order", epoch(func(e *layout.Epoch) { e.Epoch = 2 }),
			"epochs: offset 4: epoch 2 behind epoch 0, want 1"},
		{"epoch number", epoch(func(e *layout.Epoch) { e.Epoch = 1 << 31 }),
			"epochs: offset 4: epoch 2147483648 behind"},
		{"unknown function", epochFunc(func(f *layout.EpochFunc) { f.Func++ }),
			"epochs: offset 32: function 0x400001 has no record"},
		{"key", epochFunc(func(f *layout.EpochFunc) { f.Key = layout.NumKeys }), "epochs: offset 32: key 16376"},
		{"numCC", epochFunc(func(f *layout.EpochFunc) { f.NumCC = layout.MaxNum + 1 }),
			"epochs: offset 32: key 0, numCC"},
		{"cell", epochSite(func(s *layout.EpochSite) { s.Cell = 77 }),
			"epochs: offset 64: cell 77 of a function with 2"},
		{"addition", epochSite(func(s *layout.EpochSite) { s.Addition = layout.MaxNum }),
			"epochs: offset 64: addition"},
		{"target", epochSite(func(s *layout.EpochSite) { s.Target = 1 << 40 }),
			"epochs: offset 64: function 0x10000000000"},
		{"node kind", node(1, func(n *layout.Interned) { n.Kind = 6 }), "nodes: offset 32: node of unknown kind 6"},
		{"node parent", node(2, func(n *layout.Interned) { n.Parent = 2 }),
			"nodes: offset 64: parent 2 is no node before"},
		{"node id", node(2, func(n *layout.Interned) { n.ID = layout.MaxNum }), "nodes: offset 64: id"},
		{"node root", node(1, func(n *layout.Interned) { n.Place = layout.NumRoots }), "nodes: offset 32: root 10"},
		{"node target", node(2, func(n *layout.Interned) { n.Target++ }),
			"nodes: offset 64: function 0x400041 has no record"},
		{"node count",
			func(d *recordtest.Contexts) { d.Second(func(h *layout.ContextsHeader) { h.NodesUsed = 1 << 40 }) },
			"cce: offset 4104: 1099511627776 nodes"},
		{"counts magic", func(d *recordtest.Contexts) { d.Counts[0][0] = 1 },
			"counts.0: offset 0: not a file of events"},
		{"counts used", func(d *recordtest.Contexts) {
			raw.Update(d.Counts[0], func(h *layout.CountsHeader) { h.Used += 1 << 16 })
		}, "counts.0: offset 8: 65537 entries are in use"},
		{"events magic", func(d *recordtest.Contexts) { d.Events[2][0] = 1 },
			"events.2: offset 0: not a file of events"},
		{"events used", func(d *recordtest.Contexts) {
			raw.Update(d.Events[0], func(h *layout.EventsHeader) { h.Capacity, h.Written = 77, 99 })
		}, "events.0: offset 16: 77 events of 77 are in use"},
		{"code pairs", code(func(c *layout.PCsRecord) { c.Pairs = 200 }), "return addresses in a record"},
		{"code site", func(d *recordtest.Contexts) {
			raw.Update(codeOf(d)[layout.PCsRecordSize:], func(p *layout.PCPair) { p.Site = 9 })
		}, "site 9 of 3"},
		{"code overlap", code(func(c *layout.PCsRecord) { c.Size = 1000 }), "1000 bytes of code"},
		{"code function", code(func(c *layout.PCsRecord) { c.ID++ }), "without a record"},
	} {
		d := contextsDir()
		c.damage(d)
		if _, err := record.Open(d.FS()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: have %v, want %s", c.name, err, c.want)
		}
	}
}

// codeOf returns the first record of return addresses.
func codeOf(d *recordtest.Contexts) []byte {
	for b := d.Funcs; ; {
		h := raw.Load[layout.FuncRecord](b)
		if h.Kind == layout.RecPCs {
			return b
		}
		b = b[h.Length:]
	}
}

// TestContextsKilled reads what a program has left that was killed while it wrote,
// or whose disk was full: what was complete can be read.
func TestContextsKilled(t *testing.T) {
	d := contextsDir()
	last := len(d.Epochs) - layout.EpochSize - layout.EpochFuncSize - 2*layout.EpochSiteSize
	raw.Update(d.Epochs[last:], func(e *layout.Epoch) { e.Length = 0 }) // the length is written last
	if p := openContexts(t, d); len(p.IDs.Dict.Epochs) != 2 {
		t.Errorf("%d epochs, want the complete ones", len(p.IDs.Dict.Epochs))
	}
	d = contextsDir()
	clear(d.Events[0][:8]) // the header of the file is being made
	clear(d.Counts[0][:8])
	d.Events[2], d.Counts[2] = d.Events[2][:20], nil
	if p := openContexts(t, d); len(events(t, p.IDs)) != 0 || len(mustWrite(t, p)) == 0 {
		t.Error("events of files without a header")
	} else if back, err := record.Read(bytes.NewReader(mustWrite(t, p))); err != nil ||
		!bytes.Equal(mustWrite(t, back), mustWrite(t, p)) {
		t.Errorf("sealed: %v", err)
	}
	d = contextsDir()
	d.Nodes = d.Nodes[:70]
	p := openContexts(t, d)
	if len(p.IDs.Interned) != 2 || len(p.Lost()) != 1 ||
		!strings.Contains(p.Processes[0].Notes[0], "nodes: 96 bytes are in use, but the file has 70") {
		t.Errorf("%d nodes, %v %v", len(p.IDs.Interned), p.Lost(), p.Processes[0].Notes)
	}
	d = contextsDir()
	d.Header(func(h *layout.Header) { h.Lost[layout.LostPages] = 1 })
	clear(d.Nodes[64:96])
	if p := openContexts(t, d); len(p.IDs.Interned) != 3 {
		t.Errorf("%d nodes with a lost page", len(p.IDs.Interned))
	}
	d = contextsDir()
	d.Header(func(h *layout.Header) { h.Lost[layout.LostFuncs] = 1 })
	d.Epochs[layout.EpochSize] = 1
	openContexts(t, d)
}

// TestEventLog writes more events than a log holds: the newest are there, in order, with
// how many are not, also in the sealed file and when the program goes on.
func TestEventLog(t *testing.T) {
	for n := range uint64(3 * recordtest.LogEvents) {
		d := contextsDir()
		d.Events, d.Counts = nil, nil
		d = func() *recordtest.Contexts { e := recordtest.NewContexts("prog"); e.Funcs = d.Funcs; return e }()
		for i := range n {
			d.AddEvent(recordtest.Event{Kind: layout.EventAlloc, Value: 100 + i, Time: i})
		}
		p := openContexts(t, d)
		sealed, err := record.Read(bytes.NewReader(mustWrite(t, p)))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []*ids.Encoding{p.IDs, sealed.IDs} {
			kept := min(n, recordtest.LogEvents)
			list := events(t, c)
			if uint64(len(list)) != kept || c.EventsOverwritten != n-kept {
				t.Fatalf("%d events: have %d, and %d overwritten", n, len(list), c.EventsOverwritten)
			}
			for i, e := range list {
				if want := n - kept + uint64(i); e.Value != 100+want || e.Time != time.Duration(want) {
					t.Errorf("%d events: event %d is %+v", n, i, e)
				}
			}
		}
		for range 3 { // the program goes on: what is left of what was read is right
			d.AddEvent(recordtest.Event{Kind: layout.EventAlloc, Value: 1})
		}
		for _, e := range events(t, p.IDs) {
			if e.Value < 100 {
				t.Errorf("%d events: one that came later is taken for an earlier one", n)
			}
		}
	}
}

// tornFS is a record whose log of events is read while the program writes: a reader gets the numbers of events from
// before, and what else is in them from after.
type tornFS struct {
	fs.FS
	write func()
}

func (f tornFS) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err == nil && name == "events.0" {
		return tornFile{file, f.write}, nil
	}
	return file, err
}

type tornFile struct {
	fs.File
	write func()
}

func (f tornFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.(io.ReaderAt).ReadAt(b, off)
	if off < layout.EventsHeaderSize {
		return n, err
	}
	before := bytes.Clone(b[:n])
	f.write()
	n, err = f.File.(io.ReaderAt).ReadAt(b, off)
	for i := 0; i+layout.EventSize <= n; i += layout.EventSize {
		copy(b[i:i+8], before[i:]) // kind and number
	}
	return n, err
}

// TestEventLogTorn has a program that writes events over those that are being copied: none is one half of two.
func TestEventLogTorn(t *testing.T) {
	for n := range uint64(3 * recordtest.LogEvents) {
		d := recordtest.NewContexts("prog")
		d.Funcs = contextsDir().Funcs
		value := uint64(0)
		add := func() {
			d.AddEvent(recordtest.Event{Kind: layout.EventAlloc, Value: 100 + value, Time: value})
			value++
		}
		for range n {
			add()
		}
		p, err := record.Open(tornFS{d.FS(), func() {
			for range 3 {
				add()
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		list := events(t, p.IDs)
		for _, e := range list {
			if e.Value != 100+uint64(e.Time) || uint64(e.Time) >= n {
				t.Errorf("of %d events: %+v", n, e)
			}
		}
		if kept := min(n, recordtest.LogEvents); uint64(len(list)) > kept || len(list) < int(kept)-7 {
			t.Errorf("of %d events %d are there", n, len(list))
		}
	}
}

// exerciseContexts calls everything that takes a profile with context IDs.
func exerciseContexts(t *testing.T, p *record.Record) {
	c := p.IDs
	_ = c.EventLog(func(e *ids.Event) error { return nil })
	_ = c.EventCounts(func(e *ids.EventCount) error { return nil })
	for n := range uint32(5) {
		if _, ok := c.Node(n); ok == (n == 0) && int(n) < len(c.Interned) {
			t.Errorf("node %d: %v", n, ok)
		}
	}
	for i := range c.Code {
		code := c.CodeAt(c.Code[i].Entry + 1)
		if c.Code[i].Size > 0 && code == nil {
			t.Fatalf("no code at %#x", c.Code[i].Entry)
		}
		c.Code[i].Site(c.Code[i].Entry + 16)
	}
	for epoch := range uint32(len(c.Dict.Epochs) + 1) {
		for fn := range p.Funcs[:min(5, len(p.Funcs))] {
			c.Dict.InEdges(epoch, uint32(fn))
		}
		if epoch > 20 {
			break
		}
	}
	data := mustWrite(t, p)
	back, err := record.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("reading what was written: %v", err)
	}
	if again := mustWrite(t, back); !bytes.Equal(again, data) {
		t.Fatal("a round trip changes the file")
	}
	text := mustText(t, p)
	if back, err = record.ParseText(strings.NewReader(text)); err != nil {
		t.Fatalf("reading the text that was written: %v\n%s", err, text)
	}
	if again := mustText(t, readBack(t, mustWrite(t, back))); again != text {
		t.Fatalf("a round trip changes the text from\n%s\nto\n%s", text, again)
	}
}

func FuzzReadContexts(f *testing.F) {
	d := contextsDir()
	f.Add(d.Tree, d.Funcs, d.Epochs, d.Nodes, d.Counts[0], d.Events[0], d.Check, d.Strings)
	d = contextsDir()
	d.Header(func(h *layout.Header) { h.Lost[layout.LostPages] = 1 })
	clear(d.Funcs[200:300])
	f.Add(d.Tree, d.Funcs, d.Epochs, d.Nodes, d.Counts[0], d.Events[0], d.Check, d.Strings)
	f.Fuzz(func(t *testing.T, cce, funcs, epochs, nodes, counts, events, check, strings []byte) {
		fsys := fstest.MapFS{}
		for name, data := range map[string][]byte{"cce": cce, "funcs": funcs, "epochs": epochs, "nodes": nodes,
			"counts.0": counts, "events.0": events, "check": check, "strings": strings} {
			fsys[name] = &fstest.MapFile{Data: data}
		}
		recordtest.Bounded(t,
			len(cce)+len(funcs)+len(epochs)+len(nodes)+len(counts)+len(events)+len(check)+len(strings), func() {
				l, err := record.Open(fsys)
				if err != nil {
					return
				}
				if err := l.Profile.CheckValid(); err != nil {
					t.Fatal(err)
				}
				_ = l.Checks(func(*livedir.Check) error { return nil })
				exerciseContexts(t, l)
			})
	})
}
