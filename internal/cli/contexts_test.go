package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt"
	"github.com/stemma-go/stemma/internal/livetest"
	"github.com/stemma-go/stemma/internal/raw"
)

// main runs the tool and returns what it printed and its exit code.
func mainOf(t testing.TB, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Main(args, strings.NewReader(stdin), &out, &errs)
	return out.String(), errs.String(), code
}

// shop is the directory of main.main → main.serve → main.pay in a goroutine of its
// own, and the texts of two IDs: in main.pay, before and after a re-encoding.
func shop(t testing.TB) (d *livetest.Contexts, path string, before, after string) {
	return shopOf(t, "main.pay", "/src/pay.go")
}

// shopOf is shop with another name, in another file, for main.pay.
func shopOf(t testing.TB, name, file string) (d *livetest.Contexts, path string, before, after string) {
	d = livetest.NewContexts("shop", "-v")
	site := func(line int, kind byte) livetest.Site { return livetest.Site{Kind: kind, Line: line, Cell: 1} }
	mainF := d.Func(livetest.Func{Name: "main.main", Files: []string{"/src/main.go"}, Sites: []livetest.Site{site(9, rt.SiteGo)}})
	serve := d.Func(livetest.Func{Name: "main.serve", Files: []string{"/src/serve.go"}, Sites: []livetest.Site{site(40, rt.SiteCall)}})
	pay := d.Func(livetest.Func{Name: name, Files: []string{file}, Sites: []livetest.Site{site(12, rt.SiteCall)}})
	root := d.Intern(livetest.Interned{Kind: rt.InternRoot, Place: rt.RootMain, Target: mainF})
	start := d.Intern(livetest.Interned{Parent: root, Kind: rt.InternGo, Place: d.Return(mainF, 0), Target: serve})
	call := d.Intern(livetest.Interned{Parent: start, Place: d.Return(serve, 0), Target: pay})
	d.Epoch(1, []livetest.EpochFunc{{Func: serve, NumCC: 1}, {Func: pay, NumCC: 1}}, []livetest.EpochSite{{Func: serve, Target: pay}})
	hi, lo := d.ID(call, 0, 0, d.Return(pay, 0))
	hi2, lo2 := d.ID(start, 0, 1, d.Return(pay, 0))
	d.AddEvent(livetest.Event{Kind: rt.EventAlloc, Value: 100, Time: 1, Hi: hi, Lo: lo})
	d.AddEvent(livetest.Event{P: 1, Kind: rt.EventAlloc, Value: 20, Time: 2, Hi: hi2, Lo: lo2})
	d.AddEvent(livetest.Event{P: 1, Kind: rt.EventGo, Value: 7, Time: 3, Hi: hi2, Lo: lo2})
	hi3, lo3 := d.ID(root, 0, 0, d.Return(mainF, 0))
	d.AddEvent(livetest.Event{P: 1, Kind: rt.EventBlock, Value: 4000, Time: 4, Hi: hi3, Lo: lo3})
	d.AddContextCheck(hi, lo, hi3, lo3, 3, livetest.Frame{Func: "main.pay", File: "/src/pay.go", Line: 12},
		livetest.Frame{Func: "main.serve", File: "/src/serve.go", Line: 40}, livetest.Frame{Func: "runtime.goexit", File: "asm.s", Line: 1})
	d.AddContextCheck(hi3, lo3, 0, 0, 1, livetest.Frame{Func: "main.main", File: "/src/main.go", Line: 9}, livetest.Frame{Func: "runtime.main", File: "proc.go", Line: 1})
	path = filepath.Join(t.TempDir(), "shop.42")
	d.WriteTo(t, path)
	return d, path, string(ctxid.Append(nil, hi, lo, livetest.Run)), string(ctxid.Append(nil, hi2, lo2, livetest.Run))
}

const shopLine = "main.pay pay.go:12 ← main.serve serve.go:40 ←go main.main main.go:9 ← [main]"

const shopStack = "\tmain.pay\n\t\t/src/pay.go:12\n\tmain.serve\n\t\t/src/serve.go:40\n\tstarted by\n\tmain.main\n\t\t/src/main.go:9\n\t[main]\n"

// forms calls f with the live directory, the sealed file made of it, and the
// directory that the live directory is in.
func forms(t *testing.T, path string, f func(t *testing.T, path string)) {
	sealed := filepath.Join(t.TempDir(), "shop.stemma")
	if _, errs, code := mainOf(t, "", "seal", "-o", sealed, path); code != 0 {
		t.Fatal(errs)
	}
	for name, path := range map[string]string{"live": path, "sealed": sealed, "dirs": filepath.Dir(path)} {
		t.Run(name, func(t *testing.T) { f(t, path) })
	}
}

func TestDecodeCommand(t *testing.T) {
	_, path, id, id2 := shop(t)
	mangled := strings.Replace(id, id[10:12], "--", 1)
	other := string(ctxid.Append(nil, 1, 77, 5))
	quoted := `"` + shopLine + `"`
	forms(t, path, func(t *testing.T, path string) {
		for _, c := range []struct {
			name, stdin, args, out, errs string
			code                         int
		}{
			{"argument", "", id, id + "\n" + shopStack, "", 0},
			{"two", "", "-format=line " + id + " " + id2, shopLine + "\n" + shopLine + "\n", "", 0},
			{"text", `{"ctx":"` + id + `","n":1} ` + id2 + "\nno ID\n" + id, "", `{"ctx":"` + shopLine + `","n":1} ` + shopLine + "\nno ID\n" + shopLine, "", 0},
			{"glued", id + id2 + "x", "", shopLine + shopLine + "x", "", 0},
			{"stacks", "a " + id + " b\nc", "-format=stack", "a " + id + " b\n" + shopStack + "c", "", 0},
			{"no end of line", id, "-format=stack", id + "\n" + shopStack, "", 0},
			{"mangled", mangled + " " + other + "\n" + id[:20], "", mangled + " " + other + "\n" + id[:20], "stemma: 2 texts begin like IDs but are none, or are damaged; they were left as they are\nstemma: 1 ID cannot be decoded and was left as it is: stm2", 0},
			{"one mangled", mangled, "", mangled, "stemma: 1 text begins like an ID but is none, or is damaged; it was left as it is\n", 0},
			{"two others", other + other, "", other + other, "stemma: 2 IDs cannot be decoded and were left as they are; the first: stm2", 0},
			{"logfmt", "msg=a ctx=" + id + " n=1 ctx=" + id + "\nctx=" + id, "", "msg=a ctx=" + quoted + " n=1 ctx=" + quoted + "\nctx=" + quoted, "", 0},
			{"logfmt in quotes", `msg="a \" ctx=` + id + ` b" ctx="` + id + `"`, "", `msg="a \" ctx=` + shopLine + ` b" ctx="` + shopLine + `"`, "", 0},
			{"logfmt behind quotes", `msg="a \\" ctx=` + id, "", `msg="a \\" ctx=` + quoted, "", 0},
			{"JSON", `{"msg":"ctx=` + id + ` \"","ctx":"` + id + `"}`, "", `{"msg":"ctx=` + shopLine + ` \"","ctx":"` + shopLine + `"}`, "", 0},
			{"no logfmt", "= " + id + " a=" + id + ", b==" + id + " (c=" + id + ")", "", "= " + shopLine + " a=" + shopLine + ", b==" + shopLine + " (c=" + shopLine + ")", "", 0},
			{"mangled argument", "", id + " " + mangled, id + "\n" + shopStack, "check value", 1},
			{"other argument", "", other, "", "ID of run 0000000000000005: no record of that run in ", 1},
			{"format", "", "-format=x", "", "-format=x: no such format", 2},
		} {
			out, errs, code := mainOf(t, c.stdin, append([]string{"decode", path}, strings.Fields(c.args)...)...)
			if out != c.out || code != c.code || !strings.Contains(errs, c.errs) || (c.errs == "") != (errs == "") {
				t.Errorf("%s: code %d, standard error %q\nhave %q\nwant %q", c.name, code, errs, out, c.out)
			}
		}
	})
}

// TestDecodeNewest lets decode find the record itself.
func TestDecodeNewest(t *testing.T) {
	_, path, id, _ := shop(t)
	t.Chdir(t.TempDir())
	if err := os.Mkdir(outDir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, filepath.Join(outDir, "shop.42")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"decode", id}, {"decode"}} {
		if out, errs, code := mainOf(t, id, args...); code != 0 || !strings.Contains(out, "main.pay") {
			t.Errorf("%q: code %d, %s%s", args, code, out, errs)
		}
	}
}

// TestDecodeChunks puts IDs at every place around the end of a chunk.
func TestDecodeChunks(t *testing.T) {
	_, path, id, _ := shop(t)
	set, err := openContexts(path)
	if err != nil {
		t.Fatal(err)
	}
	for pad := chunkSize - 40; pad < chunkSize+5; pad++ {
		text := strings.Repeat("x", pad) + id + "stm" + id + "\n"
		var out bytes.Buffer
		r := newReplacer(&out, set, formatLine)
		if err := r.copy(strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if want := strings.Repeat("x", pad) + shopLine + "stm" + shopLine + "\n"; out.String() != want {
			t.Fatalf("after %d bytes: have ...%s", pad, out.String()[pad-3:])
		}
	}
	// Byte by byte, as a pipe may bring it.
	var out bytes.Buffer
	r := newReplacer(&out, set, formatLine)
	if err := r.copy(oneByte{strings.NewReader("a" + id + "bstm2" + id)}); err != nil || out.String() != "a"+shopLine+"bstm2"+shopLine {
		t.Errorf("byte by byte: %v %s", err, &out)
	}
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(b []byte) (int, error) { return o.r.Read(b[:1]) }

// TestDecodeGrowing decodes an ID that the program made after its record was read.
func TestDecodeGrowing(t *testing.T) {
	d, path, id, _ := shop(t)
	set, err := openContexts(path)
	if err != nil {
		t.Fatal(err)
	}
	r := newReplacer(io.Discard, set, formatLine)
	if _, ok := r.lookup([ctxid.Len]byte([]byte(id))); !ok {
		t.Fatal(r.why)
	}
	const serve, pay, start = 0x400040, 0x400080, 2
	d.Epoch(0, nil, nil)
	n := d.Intern(livetest.Interned{Parent: start, Epoch: 2, Place: d.Return(serve, 0), Target: pay})
	hi, lo := d.ID(n, 0, 2, d.Return(pay, 0))
	text := [ctxid.Len]byte(ctxid.Append(nil, hi, lo, livetest.Run))
	if _, ok := r.lookup(text); ok {
		t.Error("decoded before it was recorded")
	}
	d.WriteTo(t, path)
	r.why = nil
	if stack, ok := r.lookup(text); !ok || string(stack) != shopLine {
		t.Errorf("at once after it was recorded: %v %s", r.why, stack)
	}
}

// TestDecodeMemory decodes a log with many different IDs, of which it must not
// remember all.
func TestDecodeMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; run without -short")
	}
	set, log := bigLog(t, 50_000)
	var before, after runtime.MemStats
	r := newReplacer(io.Discard, set, formatLine)
	for i := range 8 {
		if err := r.copy(bytes.NewReader(log)); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		if i == 1 {
			runtime.ReadMemStats(&before)
		}
	}
	runtime.ReadMemStats(&after)
	if after.HeapAlloc > before.HeapAlloc+64<<20 {
		t.Errorf("memory grew from %d to %d MB", before.HeapAlloc>>20, after.HeapAlloc>>20)
	}
	if r.damaged != 0 || r.unknown != 0 || r.replaced != 8*50_000 {
		t.Errorf("%d replaced, %d damaged, %d unknown: %v", r.replaced, r.damaged, r.unknown, r.why)
	}
}

// bigLog returns a log of n lines with an ID each.
func bigLog(t testing.TB, n int) (*contextSet, []byte) {
	p := livetest.NewProgram(1, 200)
	var log bytes.Buffer
	for i := range n {
		p.Step()
		c := p.Capture()
		fmt.Fprintf(&log, "{\"time\":\"2026-01-02T03:04:05.%06d\",\"level\":\"INFO\",\"msg\":\"paid\",\"order\":%d,\"ctx\":\"%s\"}\n", i, i, ctxid.Append(nil, c.Hi, c.Lo, livetest.Run))
	}
	path := filepath.Join(t.TempDir(), "prog.1")
	p.D.WriteTo(t, path)
	set, err := openContexts(path)
	if err != nil {
		t.Fatal(err)
	}
	return set, log.Bytes()
}

// BenchmarkDecodeLog decodes log lines, from text to text.
func BenchmarkDecodeLog(b *testing.B) {
	set, log := bigLog(b, 200_000)
	lines := 0
	for b.Loop() {
		r := newReplacer(io.Discard, set, formatLine)
		if err := r.copy(bytes.NewReader(log)); err != nil {
			b.Fatal(err)
		}
		lines += int(r.replaced)
	}
	b.ReportMetric(float64(lines)/b.Elapsed().Seconds(), "lines/s")
}

func TestEventsCommand(t *testing.T) {
	_, path, _, _ := shop(t)
	forms(t, path, func(t *testing.T, path string) {
		out, errs, code := mainOf(t, "", "events", path)
		for _, want := range []string{
			"alloc: 2 events, 120 B in all, 100 B at most\nblock: 1 event, 4µs in all, 4µs at most\ngo: 1 event\n",
			"           2              120 B          100 B  alloc  " + shopLine + "\n           1                4µs            4µs  block  main.main main.go:9 ← [main]\n" +
				"           1                  -              -  go     " + shopLine + "\n",
		} {
			if !strings.Contains(out, want) || code != 0 || errs != "" {
				t.Errorf("code %d %s\nhave\n%s\nwant\n%s", code, errs, out, want)
			}
		}
		out, _, _ = mainOf(t, "", "events", "-by=sum", "-top=1", path)
		if !strings.Contains(out, "4µs  block") || !strings.Contains(out, "and 2 more") || strings.Contains(out, "alloc  main") {
			t.Errorf("-by=sum: %s", out)
		}
		out, _, _ = mainOf(t, "", "events", "-kind=go,alloc", "-json", path)
		if want := `{"kind":"alloc","count":2,"sum":120,"max":100,"unit":"bytes","histogram":[{"from":16,"to":31,"count":1},{"from":64,"to":127,"count":1}],"stack":"` + shopLine + "\"}\n" +
			`{"kind":"go","count":1,"stack":"` + shopLine + "\"}\n"; out != want {
			t.Errorf("-json: have %s, want %s", out, want)
		}
		out, _, _ = mainOf(t, "", "events", "-histogram", path)
		if !strings.Contains(out, "           1                      from 16 B to 31 B\n           1                      from 64 B to 127 B\n") {
			t.Errorf("-histogram: %s", out)
		}
		out, _, _ = mainOf(t, "", "events", "-log", "-top=2", path)
		if want := "             3ns go                  7  " + shopLine + "\n             4ns block             4µs  main.main main.go:9 ← [main]\n"; !strings.HasSuffix(out, want) {
			t.Errorf("-log: have %s, want %s", out, want)
		}
		out, _, _ = mainOf(t, "", "events", "-log", "-json", "-kind=block", path)
		if want := `{"time":4,"kind":"block","value":4000,"unit":"nanoseconds","stack":"main.main main.go:9 ← [main]"}` + "\n"; out != want {
			t.Errorf("-log -json: have %s, want %s", out, want)
		}
	})
	for flag, want := range map[string]string{"-kind=x": "no such kind", "-by=x": "-by=x", "-format=x": "no such format",
		"-log -by=sum": "-by does nothing for a log; it has -kind, -log, -top, -format, -json", "-json -histogram": "-histogram does nothing for JSON"} {
		if _, errs, code := mainOf(t, "", append(append([]string{"events"}, strings.Fields(flag)...), path)...); code != 2 || !strings.Contains(errs, want) {
			t.Errorf("%s: code %d, %s", flag, code, errs)
		}
	}
}

func TestVerifyContexts(t *testing.T) {
	d, path, _, _ := shop(t)
	if out, errs, code := mainOf(t, "", "verify", "-live", path); code != 0 || !strings.Contains(out, "checked 2 contexts, 0 mismatches") {
		t.Fatalf("code %d\n%s%s", code, out, errs)
	}
	good := bytes.Clone(d.Check)
	for name, c := range map[string]struct {
		change func(b []byte)
		want   string
	}{
		"line":    {func(b []byte) { b[56+8]++ }, "line       1"},
		"inlined": {func(b []byte) { b[56+12] = 1 }, "inlined    1"},
		"id":      {func(b []byte) { b[24]++ }, "missing    1"},
		"start":   {func(b []byte) { clear(b[40:56]) }, "depth      1"},
		"caller":  {func(b []byte) { copy(b[56:60], b[72:76]) }, "function   1"},
	} {
		d.Check = bytes.Clone(good)
		c.change(d.Check)
		d.WriteTo(t, path)
		out, errs, code := mainOf(t, "", "verify", "-live", "-v", path)
		if code != 1 || !strings.Contains(out, "checked 2 contexts, 1 mismatch\n\t"+c.want) {
			t.Errorf("%s: code %d\n%s%s", name, code, out, errs)
		}
	}
	d.Second(func(h *layout.ContextsHeader) { h.Truncated = 1 })
	d.Check = good
	copy(d.Nodes[3*layout.InternedSize:], make([]byte, layout.InternedSize))
	raw.Update(d.Nodes[3*layout.InternedSize:], func(n *layout.Interned) { n.Kind = rt.InternCut })
	d.WriteTo(t, path)
	if out, errs, _ := mainOf(t, "", "verify", "-live", path); !strings.Contains(out, "checked 1 context, 0 mismatches\n\t1 truncated") {
		t.Errorf("truncated: %s%s", out, errs)
	}
}

// TestVerifyProgram compares the contexts of a random program.
func TestVerifyProgram(t *testing.T) {
	p := livetest.NewProgram(7, 20)
	for range 2000 {
		p.Step()
		c := p.Capture()
		var hi, lo uint64
		if c.Start != nil {
			hi, lo = c.Start.Hi, c.Start.Lo
		}
		p.D.AddContextCheck(c.Hi, c.Lo, hi, lo, 1, c.Own...)
	}
	path := filepath.Join(t.TempDir(), "prog.1")
	p.D.WriteTo(t, path)
	if out, errs, code := mainOf(t, "", "verify", "-live", path); code != 0 || !strings.Contains(out, "checked 2000 contexts, 0 mismatches") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
}

func TestReportContexts(t *testing.T) {
	d, path, _, _ := shop(t)
	d.Second(func(h *layout.ContextsHeader) {
		h.Functions, h.Edges, h.MaxID = 1500, 4000, 70000
		h.Dacce.Encoded, h.Dacce.Pushes, h.Dacce.Depths = 3000, 10*rt.PushStep, 25
		h.Dacce.Encodes, h.Dacce.EncodeTime, h.Dacce.MaxPause = 12, 3_475_000, 90_000
	})
	d.WriteTo(t, path)
	timed := filepath.Join(t.TempDir(), "timed.stemma")
	var summary bytes.Buffer
	if err := sealAndSummarize(&env{stderr: &summary}, path, timed, 2*time.Second); err != nil || !strings.Contains(summary.String(), "see 'stemma decode") {
		t.Errorf("%v, %s", err, &summary)
	}
	if out, _, _ := mainOf(t, "", "report", timed); !strings.Contains(out, "       5,120    2.50 ") || !strings.Contains(out, "ran for        2s\n") {
		t.Errorf("pushes a second: %s", out)
	}
	forms(t, path, func(t *testing.T, path string) {
		out, errs, code := mainOf(t, "", "report", path)
		for _, want := range []string{
			"shop -v · pid 4242 · go1.26.8", "     1,500      4,000       70,000            -    2.50       12          3,475\n",
			"10,240 pushes, mean depth 2.50", "12 times, 3.475ms in all, longest pause 90µs", "3 entries",
		} {
			if !strings.Contains(out, want) || code != 0 {
				t.Errorf("code %d %s: want %q in\n%s", code, errs, want, out)
			}
		}
		if out, _, _ := mainOf(t, "", "report", "-json", path); !strings.Contains(out, `"MaxID": 70000`) {
			t.Errorf("-json: %s", out)
		}
		if out, _, _ := mainOf(t, "", "info", path); !strings.Contains(out, "engine      dacce\n") || !strings.Contains(out, "events      4\n") {
			t.Errorf("info: %s", out)
		}
		if _, errs, code := mainOf(t, "", "export", path); code != 1 || !strings.Contains(errs, "no counts to export") {
			t.Errorf("export: code %d, %s", code, errs)
		}
	})
}
