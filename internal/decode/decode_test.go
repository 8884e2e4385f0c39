package decode_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/level"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

func open(t testing.TB, d *recordtest.Contexts) *record.Record {
	t.Helper()
	p, err := record.Open(d.FS())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func id(c recordtest.Captured) ctxid.ID {
	return ctxid.ID{Hi: c.Hi, Lo: c.Lo, Run: recordtest.Run}
}

// path renders frames for comparison.
func path[F cct.PathFrame | recordtest.Frame](frames []F) string {
	var b strings.Builder
	for _, f := range frames {
		switch f := any(f).(type) {
		case cct.PathFrame:
			fmt.Fprintln(&b, f.Func, f.File, f.Line, f.Inlined)
		case recordtest.Frame:
			fmt.Fprintln(&b, f.Func, f.File, f.Line, f.Inlined)
		}
	}
	return b.String()
}

// TestRandom decodes the contexts of random programs.
func TestRandom(t *testing.T) {
	decoded, epochs := 0, 0
	for seed := range level.Rounds[uint64](10, 40) {
		p := recordtest.NewProgram(seed, 3+2*int(seed%10))
		var list []recordtest.Captured
		for range 2000 {
			p.Act()
			list = append(list, p.Capture())
		}
		prof := open(t, p.D)
		epochs += len(prof.IDs.Dict.Epochs)
		d := decode.New(prof)
		for i, c := range list {
			s, err := d.Decode(id(c))
			if err != nil {
				t.Fatalf("seed %d, context %d: %v", seed, i, err)
			}
			if have, want := path(s.Path()), path(c.All()); have != want {
				t.Fatalf("seed %d, context %d: have\n%s\nwant\n%s", seed, i, have, want)
			}
			if line := string(s.AppendLine(nil, -1)); !strings.HasSuffix(line, "["+c.Root+"]") || s.Cut() != "" {
				t.Fatalf("seed %d, context %d: want root %s: %s", seed, i, c.Root, line)
			}
			if have, want := strings.Count(string(s.AppendStack(nil, "")), "started by\n"),
				generations(c); have != want {
				t.Fatalf("seed %d, context %d: %d go statements, want %d", seed, i, have, want)
			}
			decoded++
		}
	}
	t.Logf("%d contexts, %d epochs", decoded, epochs)
}

func generations(c recordtest.Captured) int {
	n := 0
	for c.Start != nil {
		c = *c.Start
		n++
	}
	return n
}

// small returns the directory of main → a → b, whose edges epoch 1 encodes, and the
// function IDs.
func small() (d *recordtest.Contexts, mainF, a, b uint64, root uint32) {
	d = recordtest.NewContexts("small")
	site := func(line, cell int) recordtest.Site {
		return recordtest.Site{Kind: layout.SiteCall, Line: line, Cell: cell}
	}
	mainF = d.Func(recordtest.Func{Name: "main.main", Line: 1, Files: []string{"/src/m.go"},
		Sites: []recordtest.Site{site(2, 1), site(3, 2)}})
	a = d.Func(recordtest.Func{Name: "main.a", Line: 10, Files: []string{"/src/m.go"},
		Sites: []recordtest.Site{site(11, 1)}})
	b = d.Func(recordtest.Func{Name: "main.b", Line: 20, Files: []string{"/src/m.go"},
		Sites: []recordtest.Site{site(21, 1)}})
	d.Epoch(1, []recordtest.EpochFunc{{Func: mainF, NumCC: 1}, {Func: a, NumCC: 2}, {Func: b, NumCC: 2}},
		[]recordtest.EpochSite{{Func: mainF, Cell: 0, Target: a}, {Func: mainF, Cell: 1, Addition: 1, Target: a},
			{Func: a, Target: b}})
	root = d.Intern(recordtest.Interned{Kind: layout.InternRoot, Place: layout.RootMain, Target: mainF})
	return d, mainF, a, b, root
}

func line(t *testing.T, d *recordtest.Contexts, hi, lo uint64) string {
	t.Helper()
	s, err := decode.New(open(t, d)).Decode(ctxid.ID{Hi: hi, Lo: lo, Run: recordtest.Run})
	if err != nil {
		return "error: " + err.Error()
	}
	return string(s.AppendLine(nil, -1))
}

func TestSmall(t *testing.T) {
	d, mainF, a, b, root := small()
	pc := d.Return(b, 0)
	pair := func(hi, lo uint64) [2]uint64 { return [2]uint64{hi, lo} }
	faultPC := d.Return(a, 0) + 2
	d.FaultAt(faultPC, "runtime.sigpanic", recordtest.Frame{Func: "main.a", File: "/src/m.go", Line: 15})
	intern := func(n recordtest.Interned) uint32 { return d.Intern(n) }
	cut := intern(recordtest.Interned{Kind: layout.InternCut, Place: layout.CutDepth})
	at := intern(recordtest.Interned{Parent: root, Epoch: 1, ID: 1, Kind: layout.InternAt, Place: pc})
	goB := intern(recordtest.Interned{Parent: root, Epoch: 1, ID: 1, Kind: layout.InternGo, Place: d.Return(a, 0),
		Target: b})
	goAt := intern(recordtest.Interned{Parent: at, Kind: layout.InternGo, Place: recordtest.Text, Target: a})
	fault := intern(recordtest.Interned{Parent: root, Epoch: 1, ID: 0, Kind: layout.InternFault, Place: faultPC,
		Target: b})
	again := intern(recordtest.Interned{Parent: root, Epoch: 1, ID: 1, Kind: layout.InternCall, Place: pc,
		Target: mainF})
	for _, c := range []struct {
		id   [2]uint64
		want string
	}{
		{pair(d.ID(root, 0, 1, pc)), "main.b m.go:21 ← main.a m.go:11 ← main.main m.go:2 ← [main]"},
		{pair(d.ID(root, 1, 1, pc)), "main.b m.go:21 ← main.a m.go:11 ← main.main m.go:3 ← [main]"},
		{pair(d.ID(root, 0, 0, d.Return(mainF, 1))), "main.main m.go:3 ← [main]"},
		{pair(d.ID(root, 0, 1, pc+3)), "main.b m.go ← main.a m.go:11 ← main.main m.go:2 ← [main]"},
		{pair(d.ID(again, 0, 1, d.Return(a, 0))),
			"main.a m.go:11 ← main.main m.go:2 ← main.b m.go:21 ← main.a m.go:11 ← main.main m.go:3 ← [main]"},
		{pair(d.ID(cut, 1, 1, pc)),
			"main.b m.go:21 ← main.a m.go:11 ← main.main m.go:3 ← [truncated: the ccStack was full]"},
		{pair(d.ID(goB, 0, 1, pc)), "main.b m.go:21 ←go main.a m.go:11 ← main.main m.go:3 ← [main]"},
		{pair(d.ID(goAt, 0, 0, d.Return(a, 0))),
			"main.a m.go:11 ←go main.b m.go:21 ← main.a m.go:11 ← main.main m.go:3 ← [main]"},
		{pair(d.ID(at, 0, 0, recordtest.Text)), "main.b m.go:21 ← main.a m.go:11 ← main.main m.go:3 ← [main]"},
		{pair(d.ID(fault, 0, 1, pc)), "main.b m.go:21 ← main.a m.go:15 ← main.main m.go:2 ← [main]"},
		{pair(d.ID(root, 2, 1, pc)), "error: epoch 1: no edge into main.b has id 2"},
		{pair(d.ID(root, 0, 0, pc)), "error: epoch 0: no edge into main.b has id 0"},
		{pair(d.ID(root, 0, 2, pc)), "error: epoch 2 has no dictionary"},
		{pair(d.ID(99, 0, 1, d.Return(mainF, 0))), "error: node 99 is not one of 8"},
		{pair(d.ID(0, 0, 1, pc)), "error: epoch 1: no edge into main.main has id 0"},
		{pair(d.ID(root, 0, 1, recordtest.Text)), "error: ID without an address, and node 1 has none"},
		{pair(d.ID(root, 0, 1, pc+1<<20)), "error: address 0x501"},
	} {
		if have := line(t, d, c.id[0], c.id[1]); have != c.want && !strings.HasPrefix(have, c.want) {
			t.Errorf("%#x\nhave %s\nwant %s", c.id, have, c.want)
		}
	}
}

// TestOtherRun decodes an ID of another run, which would have a stack in this one.
func TestOtherRun(t *testing.T) {
	d, _, _, b, root := small()
	hi, lo := d.ID(root, 0, 1, d.Return(b, 0))
	for _, run := range []uint64{0, 1, recordtest.Run ^ 1, recordtest.Run ^ 1<<63} {
		_, err := decode.New(open(t, d)).Decode(ctxid.ID{Hi: hi, Lo: lo, Run: run})
		if want := fmt.Sprintf("ID of run %016x: this is the record of run %016x", run,
			uint64(recordtest.Run)); err == nil || err.Error() != want {
			t.Errorf("have %v, want %s", err, want)
		}
	}
}

// TestNoRoom decodes an ID whose node stands for all that had no room.
func TestNoRoom(t *testing.T) {
	d, _, _, b, _ := small()
	hi, lo := d.ID(layout.InternedBytes/layout.InternedSize-1, 0, 1, d.Return(b, 0))
	if have := line(t, d, hi, lo); !strings.HasPrefix(have, "error") {
		t.Errorf("nothing was truncated, but have %s", have)
	}
	d.Second(func(h *layout.ContextsHeader) { h.Truncated = 1 })
	if have, want := line(t, d, hi, lo),
		"main.b m.go:21 ← [truncated: there was no room for more contexts]"; have != want {
		t.Errorf("have %s, want %s", have, want)
	}
}

// TestCycle decodes with a damaged dictionary, in which edges of addition 0 lead
// in a circle.
func TestCycle(t *testing.T) {
	d, mainF, a, b, root := small()
	d.Epoch(0, nil, []recordtest.EpochSite{{Func: b, Target: a},
		{Func: mainF, Cell: 0, Addition: layout.NoAddition}, {Func: mainF, Cell: 1, Addition: layout.NoAddition}})
	hi, lo := d.ID(root, 0, 2, d.Return(a, 0))
	if have := line(t, d, hi, lo); !strings.Contains(have, "cycle") {
		t.Errorf("have %s", have)
	}
}

func TestTrim(t *testing.T) {
	d := recordtest.NewContexts("trim")
	const pkg = "github.com/stemma-go/stemma."
	f := d.Func(recordtest.Func{Name: "main.f", Line: 1, Files: []string{"/src/m.go"},
		Inlined: []recordtest.Inlined{{Callee: pkg + "Here", Line: 2}},
		Sites: []recordtest.Site{{Kind: layout.SiteCall, In: 1, Line: 66, Cell: 1}, {Kind: layout.SiteCall, Line: 3,
			Cell: 2}}})
	wrap := d.Func(recordtest.Func{Name: pkg + "WrapError", Line: 1, Files: []string{"/src/errors.go"},
		Inlined: []recordtest.Inlined{{Callee: pkg + "Here", Line: 32}},
		Sites:   []recordtest.Site{{Kind: layout.SiteCall, In: 1, Line: 66, Cell: 1}}})
	handle := d.Func(recordtest.Func{Name: pkg + "(*slogHandler).Handle", Files: []string{"/src/slog.go"},
		Sites: []recordtest.Site{{Kind: layout.SiteCall, Line: 70, Cell: 1}}})
	other := d.Func(recordtest.Func{Name: "example.com/fan.(*Out).Handle", Files: []string{"/src/fan.go"},
		Sites: []recordtest.Site{{Kind: layout.SiteCall, Line: 71, Cell: 1}}})
	log := d.Func(recordtest.Func{Name: "log/slog.(*Logger).log", Files: []string{"/src/logger.go"},
		Sites: []recordtest.Site{{Kind: layout.SiteCall, Line: 256, Cell: 1}}})
	pays := d.Func(recordtest.Func{Name: "main.pay", Files: []string{"/src/pay.go"},
		Inlined: []recordtest.Inlined{{Callee: "log/slog.Info", Line: 12}},
		Sites: []recordtest.Site{{Kind: layout.SiteCall, In: 1, Line: 291, Cell: 1},
			{Kind: layout.SiteCall, Line: 13, Cell: 2}}})
	root := d.Intern(recordtest.Interned{Kind: layout.InternRoot, Target: f})
	payN := d.Intern(recordtest.Interned{Parent: root, Place: d.Return(f, 1), Target: pays})
	logN := d.Intern(recordtest.Interned{Parent: payN, Place: d.Return(pays, 0), Target: log})
	otherN := d.Intern(recordtest.Interned{Parent: logN, Place: d.Return(log, 0), Target: other})
	handleN := d.Intern(recordtest.Interned{Parent: otherN, Place: d.Return(other, 0), Target: handle})
	direct := d.Intern(recordtest.Interned{Parent: payN, Place: d.Return(pays, 1), Target: handle})
	worker := d.Intern(recordtest.Interned{Parent: logN, Place: d.Return(log, 0), Kind: layout.InternGo,
		Target: handle})
	call := d.Intern(recordtest.Interned{Parent: root, Place: d.Return(f, 1), Target: wrap})
	dec := decode.New(open(t, d))
	trim := func(hi, lo uint64) string {
		s, err := dec.Decode(ctxid.ID{Hi: hi, Lo: lo, Run: recordtest.Run})
		if err != nil {
			t.Fatal(err)
		}
		return string(s.Trim().AppendLine(nil, -1))
	}
	if have, want := trim(d.ID(root, 0, 0, d.Return(f, 0))), "main.f m.go:2 ← [main]"; have != want {
		t.Errorf("have %s, want %s", have, want)
	}
	if have, want := trim(d.ID(call, 0, 0, d.Return(wrap, 0))), "main.f m.go:3 ← [main]"; have != want {
		t.Errorf("have %s, want %s", have, want)
	}
	for node, want := range map[uint32]string{
		handleN: "main.pay pay.go:12 ← main.f m.go:3 ← [main]",
		direct:  "main.pay pay.go:13 ← main.f m.go:3 ← [main]",
		worker: "github.com/stemma-go/stemma.(*slogHandler).Handle slog.go:70 ←go log/slog.(*Logger).log " +
			"logger.go:256 ← log/slog.Info pay.go:291 ← main.pay pay.go:12 ← main.f m.go:3 ← [main]",
	} {
		if have := trim(d.ID(node, 0, 0, d.Return(handle, 0))); have != want {
			t.Errorf("have %s\nwant %s", have, want)
		}
	}
}

// TestTrimLoggers decodes contexts that the handlers of other loggers captured.
func TestTrimLoggers(t *testing.T) {
	const pkg = "github.com/stemma-go/stemma/stemma"
	for _, names := range [][]string{
		{pkg + "zap.(*core).Write", "go.uber.org/zap/zapcore.(*CheckedEntry).Write", "go.uber.org/zap.(*Logger).Info"},
		{pkg + "zerolog.Hook.Run", "github.com/rs/zerolog.(*Event).msg", "github.com/rs/zerolog.(*Event).Msg"},
		{pkg + "logrus.Hook.Fire", "example.com/fan.Fire", "github.com/sirupsen/logrus.(*Entry).Info"},
		{pkg + "otel.(*processor).OnStart", "go.opentelemetry.io/otel/sdk/trace.(*tracer).newSpan",
			"go.opentelemetry.io/otel/sdk/trace.(*tracer).Start"},
		{pkg + "otel.(*logProcessor).OnEmit", "go.opentelemetry.io/otel/sdk/log.(*logger).Emit",
			"go.opentelemetry.io/contrib/bridges/otelslog.(*Handler).Handle", "log/slog.(*Logger).log",
			"log/slog.Info"},
		{pkg + "otel.(*logProcessor).OnEmit", "go.opentelemetry.io/otel/sdk/log.(*logger).Emit",
			"go.opentelemetry.io/contrib/bridges/otelslog.(*Handler).Handle", "example.com/multi.(*fanout).Handle",
			pkg + ".(*slogHandler).Handle", "log/slog.(*Logger).log", "log/slog.Info"},
		{pkg + "otel.(*logProcessor).OnEmit", "go.opentelemetry.io/otel/sdk/log.(*logger).Emit",
			"go.opentelemetry.io/contrib/bridges/otellogr.(*LogSink).Info", "github.com/go-logr/logr.Logger.Info"},
		{pkg + "pprof.Do"},
	} {
		d := recordtest.NewContexts("trim")
		f := d.Func(recordtest.Func{Name: "main.f", Line: 1, Files: []string{"/src/m.go"},
			Sites: []recordtest.Site{{Kind: layout.SiteCall, Line: 3, Cell: 1}}})
		caller := f
		node := d.Intern(recordtest.Interned{Kind: layout.InternRoot, Target: f})
		for _, name := range slices.Backward(names) {
			next := d.Func(recordtest.Func{Name: name, Files: []string{"/src/log.go"},
				Sites: []recordtest.Site{{Kind: layout.SiteCall, Line: 70, Cell: 1}}})
			node = d.Intern(recordtest.Interned{Parent: node, Place: d.Return(caller, 0), Target: next})
			caller = next
		}
		hi, lo := d.ID(node, 0, 0, d.Return(caller, 0))
		s, err := decode.New(open(t, d)).Decode(ctxid.ID{Hi: hi, Lo: lo, Run: recordtest.Run})
		if err != nil {
			t.Fatal(err)
		}
		if have, want := string(s.Trim().AppendLine(nil, -1)), "main.f m.go:3 ← [main]"; have != want {
			t.Errorf("%s: have %s, want %s", names[0], have, want)
		}
		if s.Group.Return != d.Return(caller, 0) || s.Trim().Group.Return != d.Return(f, 0) {
			t.Errorf("%s: the calls return to %#x and %#x, want %#x and %#x", names[0], s.Group.Return,
				s.Trim().Group.Return, d.Return(caller, 0), d.Return(f, 0))
		}
	}
}

func TestShort(t *testing.T) {
	p := recordtest.NewProgram(3, 10)
	for range 5000 {
		p.Act()
	}
	c := p.Capture()
	s, err := decode.New(open(t, p.D)).Decode(id(c))
	if err != nil {
		t.Fatal(err)
	}
	short, full := string(s.AppendLine(nil, 3)), string(s.AppendLine(nil, -1))
	if len(c.All()) < 8 {
		t.Fatalf("only %d frames", len(c.All()))
	}
	if !strings.Contains(short, " more ← [") || len(short) >= len(full) ||
		!strings.HasPrefix(full, short[:strings.LastIndex(short[:strings.LastIndex(short, " more")], decode.Arrow)]) {
		t.Errorf("have\n%s\nof\n%s", short, full)
	}
}

// contexts returns a decoder and IDs of a program with deep stacks.
func contexts(b *testing.B, n int) (*record.Record, []ctxid.ID) {
	p := recordtest.NewProgram(1, 200)
	var ids []ctxid.ID
	for range n {
		p.Act()
		ids = append(ids, id(p.Capture()))
	}
	return open(b, p.D), ids
}

// BenchmarkDecode decodes IDs in the order in which they were captured, and
// renders them.
func BenchmarkDecode(b *testing.B) {
	prof, ids := contexts(b, 200_000)
	d := decode.New(prof)
	var buf []byte
	i := 0
	for b.Loop() {
		s, err := d.Decode(ids[i%len(ids)])
		if err != nil {
			b.Fatal(err)
		}
		buf = s.AppendLine(buf[:0], -1)
		i++
	}
	b.ReportMetric(float64(i)/b.Elapsed().Seconds(), "IDs/s")
	b.ReportMetric(float64(len(prof.IDs.Dict.Epochs)), "epochs")
}

// BenchmarkDecodeFirst decodes each ID once, with a decoder that knows nothing.
func BenchmarkDecodeFirst(b *testing.B) {
	prof, ids := contexts(b, 200_000)
	n := 0
	for b.Loop() {
		d := decode.New(prof)
		for _, id := range ids {
			if _, err := d.Decode(id); err != nil {
				b.Fatal(err)
			}
		}
		n += len(ids)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "IDs/s")
}

// FuzzDecode decodes any ID with damaged dictionaries and entries: it ends, with a
// stack or an error.
func FuzzDecode(f *testing.F) {
	p := recordtest.NewProgram(9, 8)
	var c recordtest.Captured
	for range 300 {
		p.Act()
		c = p.Capture()
	}
	f.Add(p.D.Epochs, p.D.Nodes, c.Hi, c.Lo)
	fsys := p.D.FS()
	f.Fuzz(func(t *testing.T, epochs, nodes []byte, hi, lo uint64) {
		damaged := maps.Clone(fsys)
		damaged["epochs"] = &fstest.MapFile{Data: epochs}
		damaged["nodes"] = &fstest.MapFile{Data: nodes}
		prof, err := record.Open(damaged)
		if err != nil {
			return
		}
		d := decode.New(prof)
		for range 2 { // with what the first time left behind as well
			s, err := d.Decode(ctxid.ID{Hi: hi, Lo: lo, Run: recordtest.Run})
			if err == nil {
				s.Path()
				s.Trim().AppendStack(s.AppendLine(nil, 3), "\t")
			}
		}
	})
}
