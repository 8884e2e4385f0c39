package stemma

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// A fake plays the extended runtime.
type fake struct {
	here   ID
	events []uint32
	dir    string
}

// testID is an ID that a program could have.
func testID(node uint32) ID {
	hi, lo := ctxid.Join(ctxid.Fields{Node: node, ID: 7, Epoch: 3, PC: 0x1234})
	return ID{hi, lo, 9}
}

// instrument makes the test an instrumented program.
func instrument(t testing.TB) *fake {
	if runtimeAPI != nil {
		t.Skip("the test itself is instrumented; run it with go test")
	}
	f := &fake{here: testID(1)}
	runtimeAPI = &api{
		Here:  func() (hi, lo, run uint64) { return f.here.hi, f.here.lo, f.here.run },
		Event: func(kind uint32, value uint64) { f.events = append(f.events, kind) },
		Dir:   func() string { return f.dir },
	}
	t.Cleanup(func() { runtimeAPI = nil })
	return f
}

// TestNormalBuild checks that nothing happens in a normal build.
func TestNormalBuild(t *testing.T) {
	if runtimeAPI != nil {
		t.Skip("the test itself is instrumented; run it with go test")
	}
	h := slog.NewTextHandler(io.Discard, nil)
	if have := SlogHandler(h, SlogKey("x")); have != slog.Handler(h) {
		t.Errorf("SlogHandler returns %v, want its argument", have)
	}
	if Enabled() || !Here().IsZero() || Here() != (ID{}) {
		t.Error("Here returns an ID")
	}
	err := errors.New("x")
	if have := WrapError(err); have != err {
		t.Errorf("WrapError returns %v, want its argument", have)
	}
	if _, ok := ContextOf(Errorf("y: %w", err)); ok {
		t.Error("Errorf remembers a context")
	}
	if p, err := Snapshot(); p != nil || !errors.Is(err, ErrNotBuilt) {
		t.Errorf("Snapshot: have %v, %v, want the error %v", p, err, ErrNotBuilt)
	}
	called := 0
	c := Measure(t.Context(), func(context.Context) { called++ })
	contexts, err := Contexts(c.Profile(), "calls")
	if contexts != nil || !errors.Is(err, errNoProfile) || !errors.Is(c.Err(), ErrNotBuilt) || called != 1 {
		t.Errorf("Measure: have %v and the error %v for contexts, called %d times", c.Err(), err, called)
	}
	if n := testing.AllocsPerRun(100, func() { sink = Here(); _ = WrapError(err) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

var sink ID

func TestIDText(t *testing.T) {
	id := testID(5)
	text := id.String()
	if len(text) != 37 || !strings.HasPrefix(text, "stm2") {
		t.Fatalf("text is %q", text)
	}
	if have, err := Parse(text); err != nil || have != id {
		t.Errorf("Parse: have %v %v", have, err)
	}
	if _, err := Parse(""); err == nil {
		t.Error("Parse takes the empty text")
	}
	if have := id.LogValue(); have.String() != text {
		t.Errorf("LogValue is %v", have)
	}
	// A struct with IDs, a zero one as well, is the same after JSON.
	type record struct{ A, B ID }
	b, err := json.Marshal(record{A: id})
	if want := `{"A":"` + text + `","B":""}`; err != nil || string(b) != want {
		t.Fatalf("JSON: have %s %v, want %s", b, err, want)
	}
	back := record{B: id}
	if err := json.Unmarshal(b, &back); err != nil || back != (record{A: id}) {
		t.Errorf("back from JSON: %v %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"A":"`+text[:36]+`"}`), &back); err == nil || back.A != id {
		t.Errorf("a cut ID: have %v %v", back, err)
	}
}

// logJSON logs one line through the handler and returns it as JSON without what
// slog adds itself.
func logJSON(t *testing.T, log func(*slog.Logger), opts ...SlogOption) string {
	t.Helper()
	var b bytes.Buffer
	log(slog.New(SlogHandler(slog.NewJSONHandler(&b,
		&slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == "time" || a.Key == "level" || a.Key == "msg") {
				return slog.Attr{}
			}
			return a
		}}), opts...)))
	return strings.TrimSpace(b.String())
}

func TestSlogHandler(t *testing.T) {
	f := instrument(t)
	ctx := `"ctx":"` + f.here.String() + `"`
	for _, c := range []struct {
		log  func(*slog.Logger)
		want string
	}{
		{func(l *slog.Logger) { l.Info("m", "a", 1) }, `{` + ctx + `,"a":1}`},
		{func(l *slog.Logger) { l.With("a", 1).Info("m", "b", 2) }, `{"a":1,` + ctx + `,"b":2}`},
		{func(l *slog.Logger) { l.WithGroup("g").Info("m", "b", 2) }, `{` + ctx + `,"g":{"b":2}}`},
		{func(l *slog.Logger) { l.With("a", 1).WithGroup("g").With("b", 2).WithGroup("h").Info("m", "c", 3) },
			`{"a":1,` + ctx + `,"g":{"b":2,"h":{"c":3}}}`},
		{func(l *slog.Logger) { l.WithGroup("g").Info("m") }, `{` + ctx + `}`},
		{func(l *slog.Logger) { l.WithGroup("").With().Info("m", "a", 1, "b", 2, "c", 3, "d", 4, "e", 5, "f", 6) },
			`{` + ctx + `,"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}`},
	} {
		if have := logJSON(t, c.log); have != c.want {
			t.Errorf("have %s\nwant %s", have, c.want)
		}
		// The same again and again: what is kept for a context must not change it.
		have := logJSON(t, func(l *slog.Logger) {
			for range boundAfter + 2 {
				c.log(l)
			}
			f.here = testID(99)
			c.log(l)
			f.here = testID(1)
			c.log(l)
		})
		lines := strings.Split(have, "\n")
		other := strings.ReplaceAll(c.want, testID(1).String(), testID(99).String())
		for i, line := range lines {
			if want := c.want; line != want && (i != boundAfter+2 || line != other) {
				t.Fatalf("line %d: have %s\nwant %s", i, line, want)
			}
		}
	}
	if have := logJSON(t, func(l *slog.Logger) { l.Info("m") },
		SlogKey("where")); have != `{"where":"`+f.here.String()+`"}` {
		t.Errorf("with a key of its own: %s", have)
	}
	f.here = ID{}
	if have := logJSON(t, func(l *slog.Logger) { l.Info("m") }); have != `{}` {
		t.Errorf("where nothing is known: %s", have)
	}
}

// TestSlogErrors logs errors that have contexts, and errors that have none.
func TestSlogErrors(t *testing.T) {
	f := instrument(t)
	arose := f.here
	err := fmt.Errorf("pay: %w", WrapError(errors.New("no funds")))
	f.here = testID(99)
	ctx, beside := `"ctx":"`+f.here.String()+`"`, `,"err.ctx":"`+arose.String()+`"`
	for _, c := range []struct {
		log  func(*slog.Logger)
		want string
	}{
		{func(l *slog.Logger) { l.Info("m", "a", 1, "err", err, "b", 2) },
			`{` + ctx + `,"a":1,"err":"pay: no funds"` + beside + `,"b":2}`},
		{func(l *slog.Logger) { l.With("err", err).Info("m") }, `{"err":"pay: no funds"` + beside + `,` + ctx + `}`},
		{func(l *slog.Logger) { l.WithGroup("g").Info("m", "err", err, "x", err) },
			`{` + ctx + `,"g":{"err":"pay: no funds"` + beside + `,"x":"pay: no funds"` +
				strings.Replace(beside, "err", "x", 1) + `}}`},
		{func(l *slog.Logger) { l.Info("m", "err", io.EOF, "nil", error(nil)) },
			`{` + ctx + `,"err":"EOF","nil":null}`},
	} {
		for line := range strings.SplitSeq(logJSON(t, func(l *slog.Logger) {
			for range boundAfter + 3 {
				c.log(l)
			}
		}), "\n") {
			if line != c.want {
				t.Fatalf("have %s\nwant %s", line, c.want)
			}
		}
	}
	var b strings.Builder
	slog.New(SlogHandler(slog.NewTextHandler(&b, nil))).Info("m", "err", err)
	if want := ctx99(f) + ` err="pay: no funds" err.ctx=` + arose.String(); !strings.Contains(b.String(), want) {
		t.Errorf("an error that wraps one: have %s, want %s", &b, want)
	}
	f.here = arose
	own := WrapError(errors.New("no funds"))
	f.here = testID(99)
	b.Reset()
	slog.New(SlogHandler(slog.NewTextHandler(&b, nil))).With("a", own).Info("m", "err", own)
	if have := strings.Count(b.String(), arose.String()); have != 2 || strings.Contains(b.String(), ".ctx") {
		t.Errorf("a handler that prints the IDs of errors: %s", &b)
	}
}

// ctx99 is how a text handler prints the context in which something is logged.
func ctx99(f *fake) string { return "ctx=" + f.here.String() }

// A formed error says how it is logged, in one of the ways that there are.
type formed struct{ error }

func (f formed) Unwrap() error { return f.error }

type valued struct{ formed }

func (valued) LogValue() slog.Value { return slog.GroupValue(slog.Int("code", 402)) }

type marshaled struct{ formed }

func (marshaled) MarshalJSON() ([]byte, error) { return []byte(`{"code":402}`), nil }

type worded struct{ formed }

func (worded) MarshalText() ([]byte, error) { return []byte("402"), nil }

// TestSlogFormed logs errors that say how they are logged: they are logged as without a context, and have one beside.
func TestSlogFormed(t *testing.T) {
	f := instrument(t)
	inner := formed{errors.New("no funds")}
	beside := `,"err.ctx":"` + f.here.String() + `"`
	for _, c := range []struct {
		err  error
		want string
	}{
		{valued{inner}, `{"code":402}`},
		{marshaled{inner}, `{"code":402}`},
		{worded{inner}, `"no funds"`}, // a JSON handler asks no error for its text
	} {
		want := `{"ctx":"` + f.here.String() + `","err":` + c.want + beside + `}`
		if have := logJSON(t, func(l *slog.Logger) { l.Info("m", "err", WrapError(c.err)) }); have != want {
			t.Errorf("%T: have %s\nwant %s", c.err, have, want)
		}
	}
	// One that wraps an error with a context.
	err := valued{formed{WrapError(inner)}}
	want := `{"ctx":"` + f.here.String() + `","err":{"code":402}` + beside + `}`
	if have := logJSON(t, func(l *slog.Logger) { l.Info("m", "err", err) }); have != want {
		t.Errorf("have %s\nwant %s", have, want)
	}
	var b strings.Builder
	slog.New(SlogHandler(slog.NewTextHandler(&b, nil))).Info("m", "err", WrapError(worded{inner}))
	if want := "err=402 err.ctx=" + f.here.String(); !strings.Contains(b.String(), want) {
		t.Errorf("have %s, want %s", &b, want)
	}
}

// TestSlogContexts logs in more contexts than are kept, each several times in a row,
// by two loggers: each line has its own context and attributes.
func TestSlogContexts(t *testing.T) {
	f := instrument(t)
	var want []string
	have := logJSON(t, func(l *slog.Logger) {
		for i := range uint32(1000) {
			f.here = testID(1 + i/3)
			for _, l := range []*slog.Logger{l, l.With("n", i)} {
				for range 2 {
					l.Info("m")
				}
			}
			for range 2 {
				want = append(want, `{"ctx":"`+f.here.String()+`"}`)
			}
			for range 2 {
				want = append(want, fmt.Sprintf(`{"n":%d,"ctx":"%s"}`, i, f.here))
			}
		}
	})
	for i, line := range strings.Split(have, "\n") {
		if line != want[i] {
			t.Fatalf("line %d: have %s, want %s", i, line, want[i])
		}
	}
}

// TestSlogRounds logs in contexts that come in turn, as many as make the handler keep
// more of them, and in more than it ever keeps: each line has its own.
func TestSlogRounds(t *testing.T) {
	for _, contexts := range []uint32{500, maxBound + 500} {
		f := instrument(t)
		have := logJSON(t, func(l *slog.Logger) {
			for i := range 4 * contexts {
				f.here = testID(1 + i%contexts)
				l.Info("m")
			}
		})
		for i, line := range strings.Split(have, "\n") {
			if want := `{"ctx":"` + testID(1+uint32(i)%contexts).String() + `"}`; line != want {
				t.Fatalf("%d contexts, line %d: have %s, want %s", contexts, i, line, want)
			}
		}
	}
}

// TestSlogWithAfter makes a logger of one that keeps contexts already.
func TestSlogWithAfter(t *testing.T) {
	instrument(t)
	have := logJSON(t, func(l *slog.Logger) {
		for range boundAfter + 3 {
			l.Info("m")
		}
		l.With("n", 1).Info("m")
	})
	if !strings.HasSuffix(have, "\n"+`{"n":1,"ctx":"`+testID(1).String()+`"}`) {
		t.Errorf("have ...%s", have[len(have)-120:])
	}
}

// TestSlogSiblings checks that loggers made from one do not share what they add.
func TestSlogSiblings(t *testing.T) {
	instrument(t)
	have := logJSON(t, func(l *slog.Logger) {
		g := l.WithGroup("g").With("a", 1)
		x := g.With("x", 1)
		g.With("y", 1)
		g.WithGroup("z").With("q", 1)
		x.WithGroup("k").Info("m", "b", 2)
	})
	if !strings.Contains(have, `,"g":{"a":1,"x":1,"k":{"b":2}}}`) {
		t.Errorf("have %s", have)
	}
}

// TestSlogRules runs the tests that log/slog has for handlers.
func TestSlogRules(t *testing.T) {
	instrument(t)
	var b bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		b.Reset()
		return SlogHandler(slog.NewJSONHandler(&b, nil))
	}, func(t *testing.T) map[string]any {
		m := make(map[string]any)
		if err := json.Unmarshal(b.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		delete(m, "ctx")
		return m
	})
}

// TestSlogRecordKept checks that a record handed to two handlers is not changed.
func TestSlogRecordKept(t *testing.T) {
	instrument(t)
	h := SlogHandler(slog.NewJSONHandler(io.Discard, nil))
	for n := range 20 {
		r := slog.Record{}
		for i := range n {
			r.AddAttrs(slog.Int("k", i))
		}
		for range 2 {
			if err := h.Handle(context.Background(), r); err != nil {
				t.Fatal(err)
			}
		}
		// What the first handler added must not be where this one adds.
		r.AddAttrs(slog.Int("k", n))
		r.Attrs(func(a slog.Attr) bool {
			if a.Key != "k" {
				t.Errorf("the record of %d attributes has got %s", n, a)
			}
			return true
		})
	}
}

func TestErrors(t *testing.T) {
	f := instrument(t)
	base := errors.New("no such order")
	err := WrapError(base)
	if err.Error() != base.Error() || !errors.Is(err, base) {
		t.Errorf("wrapped: %v", err)
	}
	if id, ok := ContextOf(fmt.Errorf("pay: %w", err)); !ok || id != f.here {
		t.Errorf("ContextOf: have %v %v, want %v", id, ok, f.here)
	}
	if have, want := fmt.Sprintf("%v|%s|%+v|%q", err, err, err, err),
		"no such order|no such order|no such order ["+f.here.String()+`]|"no such order"`; have != want {
		t.Errorf("formatted: have %s, want %s", have, want)
	}
	first := f.here
	f.here = testID(77)
	for _, again := range []error{WrapError(err), Errorf("pay: %w", err), WrapError(errors.Join(io.EOF, err))} {
		if id, _ := ContextOf(again); id != first {
			t.Errorf("%v: have %v, want the place where the error arose", again, id)
		}
	}
	if id, ok := ContextOf(Errorf("n=%d", 3)); !ok || id != f.here {
		t.Errorf("Errorf: have %v", id)
	}
	if len(f.events) != 2 || f.events[0] != layout.EventError {
		t.Errorf("events: have %v, want two of kind %d", f.events, layout.EventError)
	}
	if WrapError(nil) != nil {
		t.Error("WrapError makes an error of nil")
	}
	if _, ok := ContextOf(base); ok {
		t.Error("an error without a context has one")
	}
}

// BenchmarkHere reads a context at several depths of recursion.
func BenchmarkHere(b *testing.B) {
	for _, depth := range []int{0, 10, 1000} {
		b.Run(fmt.Sprint("depth=", depth), func(b *testing.B) { hereAt(b, depth) })
	}
}

func hereAt(b *testing.B, depth int) {
	if depth > 0 {
		hereAt(b, depth-1)
		return
	}
	for range b.N {
		sink = Here()
	}
}

// The two benchmarks of slog tell, in a normal build, that the handler costs
// nothing, and in an instrumented one (stemma test -engine=dacce -bench Slog .) what
// the context costs.
func BenchmarkSlogPlain(b *testing.B) { benchmarkSlog(b, slog.NewJSONHandler(io.Discard, nil)) }

func BenchmarkSlogContext(b *testing.B) {
	benchmarkSlog(b, SlogHandler(slog.NewJSONHandler(io.Discard, nil)))
}

func benchmarkSlog(b *testing.B, h slog.Handler) {
	l := slog.New(h)
	for b.Loop() {
		l.Info("paid", "order", 7, "customer", "c-1234", "amount", 12.5)
	}
}

// BenchmarkSlogRatio is what a line with the context costs, to one without: both take
// turns, so that the ratio holds where the machine is busy. In an instrumented
// build the contexts are real ones: the same for each line, of many, or ten levels
// deep in a recursion, each of which must be looked up for each line; it goes the
// same way for each line, or one of many.
func BenchmarkSlogRatio(b *testing.B) {
	for name, log := range map[string]func(l *slog.Logger, path int){"contexts=1": logLine, "contexts=1024": fork1,
		"recursion": logSameBelow, "recursion/contexts=1024": logBelow} {
		b.Run(name, func(b *testing.B) { slogRatio(b, log) })
	}
}

func slogRatio(b *testing.B, log func(l *slog.Logger, path int)) {
	plain := slog.New(slog.NewJSONHandler(io.Discard, nil))
	with := slog.New(SlogHandler(slog.NewJSONHandler(io.Discard, nil)))
	batch := func(l *slog.Logger) time.Duration {
		start := time.Now()
		for i := range 1 << 10 {
			log(l, i)
		}
		return time.Since(start)
	}
	var ratios []float64
	for b.Loop() {
		p, w := batch(plain), batch(with)
		ratios = append(ratios, float64(w)/float64(p))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "times-plain")
}

//go:noinline
func logLine(l *slog.Logger, path int) {
	l.Info("paid", "order", 7, "customer", "c-1234", "amount", 12.5)
}

// logSameBelow logs in one context, of a recursion.
func logSameBelow(l *slog.Logger, path int) { recurse(l, 0b11010011011) }

// logBelow logs in one of 1024 contexts, of a recursion.
func logBelow(l *slog.Logger, path int) { recurse(l, path&1023|1024) }

func recurse(l *slog.Logger, path int) {
	switch {
	case path == 1:
		logLine(l, 0)
	case path&1 == 0:
		recurse(l, path>>1)
	default:
		recurse(l, path>>1)
	}
}

// From fork1 to logLine there are 1024 paths.
//
//go:noinline
func fork1(l *slog.Logger, path int) {
	switch path & 3 {
	case 0:
		fork2(l, path>>2)
	case 1:
		fork2(l, path>>2)
	case 2:
		fork2(l, path>>2)
	default:
		fork2(l, path>>2)
	}
}

//go:noinline
func fork2(l *slog.Logger, path int) {
	switch path & 3 {
	case 0:
		fork3(l, path>>2)
	case 1:
		fork3(l, path>>2)
	case 2:
		fork3(l, path>>2)
	default:
		fork3(l, path>>2)
	}
}

//go:noinline
func fork3(l *slog.Logger, path int) {
	switch path & 3 {
	case 0:
		fork4(l, path>>2)
	case 1:
		fork4(l, path>>2)
	case 2:
		fork4(l, path>>2)
	default:
		fork4(l, path>>2)
	}
}

//go:noinline
func fork4(l *slog.Logger, path int) {
	switch path & 3 {
	case 0:
		fork5(l, path>>2)
	case 1:
		fork5(l, path>>2)
	case 2:
		fork5(l, path>>2)
	default:
		fork5(l, path>>2)
	}
}

//go:noinline
func fork5(l *slog.Logger, path int) {
	switch path & 3 {
	case 0:
		logLine(l, path>>2)
	case 1:
		logLine(l, path>>2)
	case 2:
		logLine(l, path>>2)
	default:
		logLine(l, path>>2)
	}
}

// BenchmarkSlogFake is the cost of the handler with a runtime that finds
// contexts at once.
func BenchmarkSlogFake(b *testing.B) {
	instrument(b)
	id := testID(3)
	runtimeAPI.Here = func() (hi, lo, run uint64) { return id.hi, id.lo, id.run }
	BenchmarkSlogContext(b)
}

// BenchmarkSlogFakeMany is the same where each line has another context.
func BenchmarkSlogFakeMany(b *testing.B) {
	instrument(b)
	n := uint32(0)
	runtimeAPI.Here = func() (hi, lo, run uint64) {
		id := testID(1 + n%1000)
		n++
		return id.hi, id.lo, id.run
	}
	BenchmarkSlogContext(b)
}

// BenchmarkSlogStack is what people do instead.
func BenchmarkSlogStack(b *testing.B) {
	l := slog.New(slog.NewJSONHandler(io.Discard, nil))
	for b.Loop() {
		var pcs [64]uintptr
		frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
		var stack []string
		for {
			f, more := frames.Next()
			stack = append(stack, fmt.Sprint(f.Function, " ", f.File, ":", f.Line))
			if !more {
				break
			}
		}
		l.Info("paid", "order", 7, "customer", "c-1234", "amount", 12.5, "stack", stack)
	}
}

// TestErrorAllocates checks what an error that nobody looks at costs: one object, the error.
func TestErrorAllocates(t *testing.T) {
	instrument(t)
	runtimeAPI.Event = func(uint32, uint64) {}
	var err error
	if n := testing.AllocsPerRun(100, func() { err = WrapError(io.EOF) }); n != 1 {
		t.Errorf("WrapError allocates %v objects for %+v, want 1", n, err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = ContextOf(err) }); n != 0 {
		t.Errorf("ContextOf allocates %v objects, want none", n)
	}
}

// TestNilError asks for the context of an error that is a nil pointer, whose method panics, and wraps it.
func TestNilError(t *testing.T) {
	f := instrument(t)
	var path *os.PathError
	if id, ok := ContextOf(path); ok {
		t.Errorf("have %v, want none", id)
	}
	for _, err := range []error{WrapError(path), Errorf("open: %w", error(path))} {
		if id, _ := ContextOf(err); id != f.here {
			t.Errorf("have %v, want that of the call", id)
		}
	}
}
