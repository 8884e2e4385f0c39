package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// TestDecodeChunks puts IDs at every place around the end of a chunk.
func TestDecodeChunks(t *testing.T) {
	_, path, id, _ := recordtest.Shop(t)
	set, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for pad := chunkSize - 40; pad < chunkSize+5; pad++ {
		text := strings.Repeat("x", pad) + id + "stm" + id + "\n"
		var out bytes.Buffer
		r := NewReplacer(&out, set, FormatLine)
		if err := r.Copy(strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if want := strings.Repeat("x", pad) + recordtest.ShopLine + "stm" + recordtest.ShopLine +
			"\n"; out.String() != want {
			t.Fatalf("after %d bytes: have ...%s", pad, out.String()[pad-3:])
		}
	}
	// Byte by byte, as a pipe may bring it.
	var out bytes.Buffer
	r := NewReplacer(&out, set, FormatLine)
	if err := r.Copy(oneByte{strings.NewReader("a" + id + "bstm2" + id)}); err != nil ||
		out.String() != "a"+recordtest.ShopLine+"bstm2"+recordtest.ShopLine {
		t.Errorf("byte by byte: %v %s", err, &out)
	}
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(b []byte) (int, error) { return o.r.Read(b[:1]) }

// TestDecodeGrowing decodes an ID that the program made after its record was read.
func TestDecodeGrowing(t *testing.T) {
	d, path, id, _ := recordtest.Shop(t)
	set, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReplacer(io.Discard, set, FormatLine)
	if _, ok := r.lookup([ctxid.Len]byte([]byte(id))); !ok {
		t.Fatal(r.why)
	}
	const serve, pay, start = 0x400040, 0x400080, 2
	d.Epoch(0, nil, nil)
	n := d.Intern(recordtest.Interned{Parent: start, Epoch: 2, Place: d.Return(serve, 0), Target: pay})
	hi, lo := d.ID(n, 0, 2, d.Return(pay, 0))
	text := [ctxid.Len]byte(ctxid.Append(nil, ctxid.ID{Hi: hi, Lo: lo, Run: recordtest.Run}))
	if _, ok := r.lookup(text); ok {
		t.Error("decoded before it was recorded")
	}
	d.WriteTo(t, path)
	r.why = nil
	if stack, ok := r.lookup(text); !ok || string(stack) != recordtest.ShopLine {
		t.Errorf("at once after it was recorded: %v %s", r.why, stack)
	}
}

// TestDecodeMemory decodes a log with many different IDs. It must not remember all
// of them.
func TestDecodeMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; run without -short")
	}
	set, log := bigLog(t, 50_000)
	var before, after runtime.MemStats
	r := NewReplacer(io.Discard, set, FormatLine)
	for i := range 8 {
		if err := r.Copy(bytes.NewReader(log)); err != nil {
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
func bigLog(t testing.TB, n int) (*Set, []byte) {
	p := recordtest.NewProgram(1, 200)
	var log bytes.Buffer
	for i := range n {
		p.Act()
		c := p.Capture()
		fmt.Fprintf(&log,
			"{\"time\":\"2026-01-02T03:04:05.%06d\",\"level\":\"INFO\",\"msg\":\"paid\",\"order\":%d,\"ctx\":\"%s\"}\n",
			i, i, ctxid.Append(nil, ctxid.ID{Hi: c.Hi, Lo: c.Lo, Run: recordtest.Run}))
	}
	path := filepath.Join(t.TempDir(), "prog.1")
	p.D.WriteTo(t, path)
	set, err := Open(path)
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
		r := NewReplacer(io.Discard, set, FormatLine)
		if err := r.Copy(bytes.NewReader(log)); err != nil {
			b.Fatal(err)
		}
		lines += int(r.replaced)
	}
	b.ReportMetric(float64(lines)/b.Elapsed().Seconds(), "lines/s")
}

// logfmtLine is a line of slog's text handler.
var logfmtLine = regexp.MustCompile(`^(?:[^\s"=]+=(?:"(?:[^"\\]|\\.)*"|[^\s"=]*)(?: |$))+$`)

// TestLogsStayLogs decodes what slog's handlers write, whole and byte by byte: text
// lines stay lines of keys and values, and JSON stays JSON.
func TestLogsStayLogs(t *testing.T) {
	_, path, id, _ := recordtest.Shop(t)
	set, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var text, js bytes.Buffer
	for _, log := range []*slog.Logger{slog.New(slog.NewTextHandler(&text, nil)),
		slog.New(slog.NewJSONHandler(&js, nil))} {
		for _, msg := range []string{"plain", "ctx=" + id, `a "ctx=` + id + `" b\`, `\" ctx=` + id + ` \\`, id,
			"x=" + id + "y"} {
			log.Info(msg, "ctx", id, "other", `say "`+id+`"`, "last", id)
		}
	}
	for name, one := range map[string]bool{"whole": false, "bytes": true} {
		decoded := func(log []byte) string {
			var out bytes.Buffer
			r := NewReplacer(&out, set, FormatLine)
			in := bytes.NewReader(log)
			if one {
				err = r.Copy(iotest.OneByteReader(in))
			} else {
				err = r.Copy(in)
			}
			if err != nil || strings.Contains(out.String(), id) || !strings.Contains(out.String(), "main.pay") {
				t.Fatalf("%s: %v\n%s", name, err, out.String())
			}
			return out.String()
		}
		for line := range strings.Lines(decoded(text.Bytes())) {
			if !logfmtLine.MatchString(strings.TrimSuffix(line, "\n")) ||
				!strings.Contains(line, fmt.Sprintf(" last=%q\n", recordtest.ShopLine)) {
				t.Errorf("%s: %s", name, line)
			}
		}
		for line := range strings.Lines(decoded(js.Bytes())) {
			var v struct{ Ctx, Last string }
			if err := json.Unmarshal([]byte(line), &v); err != nil || v.Ctx != recordtest.ShopLine ||
				v.Last != recordtest.ShopLine {
				t.Errorf("%s: %v: %s", name, err, line)
			}
		}
	}
}
