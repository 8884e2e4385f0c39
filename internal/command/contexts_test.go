package command

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/run"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/safefile"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// main runs the tool and returns what it printed and its exit code.
func mainOf(t testing.TB, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code, _ = Run(args, strings.NewReader(stdin), &out, &errs) // notes no errors in the cache of the user
	return out.String(), errs.String(), code
}

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

// shopPrint is the fingerprint of the context recordtest.ShopLine: that of a test vector on the page of fingerprints.
// shopPrints are both as JSON has them.
const (
	shopPrint  = "afb4eca54a3dd733"
	shopPrints = `","fingerprint":"` + shopPrint + `","fingerprintLines":"8a99e1912b5ee000"`
)

func TestDecodeCommand(t *testing.T) {
	_, path, id, id2 := recordtest.Shop(t)
	mangled := strings.Replace(id, id[10:12], "--", 1)
	other := string(ctxid.Append(nil, ctxid.ID{Hi: 1, Lo: 77, Run: 5}))
	quoted := `"` + recordtest.ShopLine + `"`
	const counted = shopPrint + " main.pay ← main.serve ←go main.main ← [main]\n"
	forms(t, path, func(t *testing.T, path string) {
		for _, c := range []struct {
			name, stdin, args, out, errs string
			code                         int
		}{
			{"argument", "", id, id + "\n" + recordtest.ShopStack, "", 0},
			{"two", "", "-format=line " + id + " " + id2, recordtest.ShopLine + "\n" + recordtest.ShopLine + "\n", "",
				0},
			{"text", `{"ctx":"` + id + `","n":1} ` + id2 + "\nno ID\n" + id, "",
				`{"ctx":"` + recordtest.ShopLine + `","n":1} ` + recordtest.ShopLine + "\nno ID\n" +
					recordtest.ShopLine,
				"", 0},
			{"glued", id + id2 + "x", "", recordtest.ShopLine + recordtest.ShopLine + "x", "", 0},
			{"stacks", "a " + id + " b\nc", "-format=stack", "a " + id + " b\n" + recordtest.ShopStack + "c", "", 0},
			{"no end of line", id, "-format=stack", id + "\n" + recordtest.ShopStack, "", 0},
			{"mangled", mangled + " " + other + "\n" + id[:20], "", mangled + " " + other + "\n" + id[:20],
				"stemma: 2 texts begin like IDs but are none, or are damaged; they were left as they are\nstemma: 1 " +
					"ID cannot be decoded and was left as it is: stm2", 0},
			{"one mangled", mangled, "", mangled,
				"stemma: 1 text begins like an ID but is none, or is damaged; it was left as it is\n", 0},
			{"two others", other + other, "", other + other,
				"stemma: 2 IDs cannot be decoded and were left as they are; the first: stm2", 0},
			{"logfmt", "msg=a ctx=" + id + " n=1 ctx=" + id + "\nctx=" + id, "",
				"msg=a ctx=" + quoted + " n=1 ctx=" + quoted + "\nctx=" + quoted, "", 0},
			{"logfmt in quotes", `msg="a \" ctx=` + id + ` b" ctx="` + id + `"`, "",
				`msg="a \" ctx=` + recordtest.ShopLine + ` b" ctx="` + recordtest.ShopLine + `"`, "", 0},
			{"logfmt behind quotes", `msg="a \\" ctx=` + id, "", `msg="a \\" ctx=` + quoted, "", 0},
			{"JSON", `{"msg":"ctx=` + id + ` \"","ctx":"` + id + `"}`, "",
				`{"msg":"ctx=` + recordtest.ShopLine + ` \"","ctx":"` + recordtest.ShopLine + `"}`, "", 0},
			{"no logfmt", "= " + id + " a=" + id + ", b==" + id + " (c=" + id + ")", "",
				"= " + recordtest.ShopLine + " a=" + recordtest.ShopLine + ", b==" + recordtest.ShopLine + " (c=" +
					recordtest.ShopLine + ")", "", 0},
			{"fingerprint", "", "-format=fingerprint " + id, shopPrint + "\n", "", 0},
			{"fingerprint in text", "ctx=" + id + " n=1\n", "-format=fingerprint", `ctx="` + shopPrint + `" n=1` + "\n", "", 0},
			{"fingerprints", "a " + id + " b " + id2 + "\n" + id + "x", "-fingerprint", strings.Repeat(counted, 3), "",
				0},
			{"fingerprints of arguments", "", "-fingerprint " + id + " " + id2, counted + counted, "", 0},
			{"both", "", "-fingerprint -format=line " + id, "", "leave -format out", 2},
			{"mangled argument", "", id + " " + mangled, id + "\n" + recordtest.ShopStack, "check value", 1},
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
	_, path, id, _ := recordtest.Shop(t)
	t.Chdir(t.TempDir())
	if err := os.Mkdir(store.OutDir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, filepath.Join(store.OutDir, "shop.42")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"decode", id}, {"decode"}} {
		if out, errs, code := mainOf(t, id, args...); code != 0 || !strings.Contains(out, "main.pay") {
			t.Errorf("%q: code %d, %s%s", args, code, out, errs)
		}
	}
}

// TestDecodeUnseen has what is called as a record, and cannot be looked at: that is said, and not that there is none.
func TestDecodeUnseen(t *testing.T) {
	_, _, id, _ := recordtest.Shop(t)
	t.Chdir(t.TempDir())
	loop := filepath.Join(store.OutDir, "shop.7-abcdef") // which not even root can follow
	if err := errors.Join(os.Mkdir(store.OutDir, 0o777), os.Symlink("shop.7-abcdef", loop)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", store.OutDir, loop} {
		args := slices.DeleteFunc([]string{"decode", path, id}, func(s string) bool { return s == "" })
		if out, errs, code := mainOf(t, "", args...); code != base.ExitFailure || out != "" ||
			!strings.Contains(errs, loop+": ") || !strings.Contains(errs, "too many levels of symbolic links") {
			t.Errorf("%q: code %d, %s%s", args, code, out, errs)
		}
	}
}

// TestEventsMissing has a record that lacks events. JSON comes with a word of it as well, on standard error.
func TestEventsMissing(t *testing.T) {
	_, path, _, _ := recordtest.Shop(t)
	rec, err := store.Sum([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	rec.IDs.EventsOverwritten, rec.IDs.EventsSpilt = 7, 2
	file := filepath.Join(t.TempDir(), "shop.stemma")
	if err := safefile.Write(file, safefile.Private, rec.Write); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{"": "2 events are without a context",
		"-log": "7 older events are not in"} {
		args := append(strings.Fields(args), file)
		if out, errs, code := mainOf(t, "", append([]string{"events"}, args...)...); code != 0 || errs != "" ||
			!strings.Contains(out, want) {
			t.Errorf("%q: code %d, %s%s, want %q in it", args, code, out, errs, want)
		}
		out, errs, code := mainOf(t, "", append([]string{"events", "-json"}, args...)...)
		if code != 0 || strings.Contains(out, want) || !strings.HasPrefix(errs, "stemma: warning: "+want) ||
			strings.Count(errs, "\n") != 1 {
			t.Errorf("%q -json: code %d, %s%s, want %q on standard error", args, code, out, errs, want)
		}
	}
}

func TestEventsCommand(t *testing.T) {
	_, path, _, _ := recordtest.Shop(t)
	forms(t, path, func(t *testing.T, path string) {
		out, errs, code := mainOf(t, "", "events", path)
		for _, want := range []string{
			"alloc: 2 events, 120 B in all, 100 B at most\nblock: 1 event, 4µs in all, 4µs at most\ngo: 1 event\n",
			"           2              120 B          100 B  alloc  " + recordtest.ShopLine +
				"\n           1                4µs            4µs  block  main.main main.go:9 ← [main]\n" +
				"           1                  -              -  go     " + recordtest.ShopLine + "\n",
		} {
			if !strings.Contains(out, want) || code != 0 || errs != "" {
				t.Errorf("code %d %s\nhave\n%s\nwant\n%s", code, errs, out, want)
			}
		}
		out, _, _ = mainOf(t, "", "events", "-by=sum", "-top=1", path)
		if !strings.Contains(out, "4µs  block") || !strings.Contains(out, "and 2 more") ||
			strings.Contains(out, "alloc  main") {
			t.Errorf("-by=sum: %s", out)
		}
		out, _, _ = mainOf(t, "", "events", "-kind=go,alloc", "-json", path)
		if want := `{"kind":"alloc","count":2,"sum":120,"max":100,"unit":"bytes","histogram":[{"from":16,"to":31,"count":1},{"from":64,"to":127,"count":1}],"stack":"` + recordtest.ShopLine + shopPrints + "}\n" +
			`{"kind":"go","count":1,"stack":"` + recordtest.ShopLine + shopPrints + "}\n"; out != want {
			t.Errorf("-json: have %s, want %s", out, want)
		}
		out, _, _ = mainOf(t, "", "events", "-fingerprint", "-kind=alloc", path)
		want := "alloc  " + shopPrint + " main.pay ← main.serve ←go main.main ← [main]\n"
		if !strings.HasSuffix(out, want) {
			t.Errorf("-fingerprint: have %s, want %s", out, want)
		}
		out, _, _ = mainOf(t, "", "events", "-kind=panic", path)
		if !strings.HasSuffix(out, "\nno events of kind panic\n") {
			t.Errorf("%s: events of a kind that there is none of:\n%s", path, out)
		}
		out, _, _ = mainOf(t, "", "events", "-histogram", path)
		if !strings.Contains(out,
			"           1                      from 16 B to 31 B\n           1                      from 64 "+
				"B to 127 B\n") {
			t.Errorf("-histogram: %s", out)
		}
		out, _, _ = mainOf(t, "", "events", "-log", "-top=2", path)
		if want := "             3ns go                  7  " + recordtest.ShopLine +
			"\n             4ns block             4µs  main.main main.go:9 ← [main]\n"; !strings.HasSuffix(out, want) {
			t.Errorf("-log: have %s, want %s", out, want)
		}
		out, _, _ = mainOf(t, "", "events", "-log", "-json", "-kind=block", path)
		if want := `{"time":4,"kind":"block","value":4000,"unit":"nanoseconds","stack":"main.main main.go:9 ← [main]",` +
			`"fingerprint":"7a91763aa4e326cc","fingerprintLines":"bb0e0bf721625f51"}` + "\n"; out != want {
			t.Errorf("-log -json: have %s, want %s", out, want)
		}
	})
	for flag, want := range map[string]string{"-kind=x": "no such kind", "-by=x": "-by=x",
		"-format=x":        "no such format",
		"-log -by=sum":     "-by does nothing for a log; it has -kind, -log, -top, -format, -json",
		"-json -histogram": "-histogram does nothing for JSON"} {
		if _, errs, code := mainOf(t, "",
			append(append([]string{"events"}, strings.Fields(flag)...), path)...); code != 2 ||
			!strings.Contains(errs, want) {
			t.Errorf("%s: code %d, %s", flag, code, errs)
		}
	}
}

func TestVerifyContexts(t *testing.T) {
	d, path, _, _ := recordtest.Shop(t)
	if out, errs, code := mainOf(t, "", "verify", "-live", path); code != 0 ||
		!strings.Contains(out, "checked 2 contexts, 0 mismatches") {
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
	raw.Update(d.Nodes[3*layout.InternedSize:], func(n *layout.Interned) { n.Kind = layout.InternCut })
	d.WriteTo(t, path)
	if out, errs, _ := mainOf(t, "", "verify", "-live", path); !strings.Contains(out,
		"checked 1 context, 0 mismatches\n\t1 truncated") {
		t.Errorf("truncated: %s%s", out, errs)
	}
}

// TestVerifyProgram compares the contexts of a random program.
func TestVerifyProgram(t *testing.T) {
	p := recordtest.NewProgram(7, 20)
	for range 2000 {
		p.Act()
		c := p.Capture()
		var hi, lo uint64
		if c.Start != nil {
			hi, lo = c.Start.Hi, c.Start.Lo
		}
		p.D.AddContextCheck(c.Hi, c.Lo, hi, lo, 1, c.Own...)
	}
	path := filepath.Join(t.TempDir(), "prog.1")
	p.D.WriteTo(t, path)
	if out, errs, code := mainOf(t, "", "verify", "-live", path); code != 0 ||
		!strings.Contains(out, "checked 2000 contexts, 0 mismatches") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
}

func TestReportContexts(t *testing.T) {
	d, path, _, _ := recordtest.Shop(t)
	d.Second(func(h *layout.ContextsHeader) {
		h.Functions, h.Edges, h.MaxID = 1500, 4000, 70000
		h.Dacce.Encoded, h.Dacce.Pushes, h.Dacce.Depths = 3000, 10*layout.PushStep, 25
		h.Dacce.Encodes, h.Dacce.EncodeTime, h.Dacce.MaxPause = 12, 3_475_000, 90_000
	})
	d.WriteTo(t, path)
	timed := filepath.Join(t.TempDir(), "my timed.stemma")
	var summary bytes.Buffer
	if err := run.SealAndSummarize(&base.Env{Stderr: &summary}, path, timed, 2*time.Second); err != nil ||
		!strings.Contains(summary.String(), fmt.Sprintf("wrote %s; see 'stemma decode %q <LOG' and "+
			"'stemma events %[2]q'\n", timed, timed)) {
		t.Errorf("%v, %s", err, &summary)
	}
	if out, _, _ := mainOf(t, "", "report", timed); !strings.Contains(out, "       5,120    2.50 ") ||
		!strings.Contains(out, "ran for        2s\n") {
		t.Errorf("pushes a second: %s", out)
	}
	forms(t, path, func(t *testing.T, path string) {
		out, errs, code := mainOf(t, "", "report", path)
		for _, want := range []string{
			"shop -v · pid 4242 · go1.26.8",
			"     1,500      4,000       70,000            -    2.50       12          3,475\n",
			"10,240 pushes, mean depth 2.50", "12 times, 3.475ms in all, longest pause 90µs", "3 entries",
		} {
			if !strings.Contains(out, want) || code != 0 {
				t.Errorf("code %d %s: want %q in\n%s", code, errs, want, out)
			}
		}
		if out, _, _ := mainOf(t, "", "report", "-json", path); !strings.Contains(out, `"MaxID": 70000`) {
			t.Errorf("-json: %s", out)
		}
		if out, _, _ := mainOf(t, "", "info", path); !strings.Contains(out, "engine      dacce\n") ||
			!strings.Contains(out, "events      4\n") {
			t.Errorf("info: %s", out)
		}
		if _, errs, code := mainOf(t, "", "export", path); code != 1 || !strings.Contains(errs, "no counts to export") {
			t.Errorf("export: code %d, %s", code, errs)
		}
	})
}

// TestDecodeLogs gives decode logs where it wants a record, and logs as a rotation leaves them. Each error says what
// decodes them.
func TestDecodeLogs(t *testing.T) {
	_, path, id, _ := recordtest.Shop(t)
	t.Chdir(t.TempDir())
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprintln(z, id)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"srv.log": id + "\n", "srv\x1b.log": id + "\n",
		"srv.log.1.gz": packed.String()} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(path, "my shop.stemma"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{"", []string{"srv.log"}, "srv.log is no record; to decode a log: stemma decode <srv.log\n"},
		{"", []string{"srv.log.1.gz"}, "to decode a log: zcat srv.log.1.gz | stemma decode\n"},
		{packed.String(), []string{"my shop.stemma"}, "decompress it: zcat LOG | stemma decode\n"},
		{"", []string{"my shop.stemma", "srv.log"}, ": stemma decode \"my shop.stemma\" <srv.log\n"},
		{"", []string{"-format=short", "srv.log", "stemma.out", "other"},
			": stemma decode -format=short stemma.out other <srv.log\n"},
		{"", []string{"srv.log.1.gz", "stemma.out"}, ": zcat srv.log.1.gz | stemma decode stemma.out\n"},
		{"", []string{"stemma.out", "srv.log.1.gz", "srv.log"},
			"srv.log.1.gz is compressed, and no record; to decode logs: (zcat srv.log.1.gz; cat srv.log) | " +
				"stemma decode stemma.out\n"},
		{"", []string{"-store=s3://user:secret@logs/a", "srv.log"},
			": stemma decode -store=s3://logs/a <srv.log\n"},
		{"", []string{"srv\x1b.log"}, "srv\\x1b.log is no record; to decode a log: stemma decode <$'srv\\x1b.log'\n"},
	} {
		if out, errs, code := mainOf(t, c.stdin, append([]string{"decode"}, c.args...)...); code != base.ExitUsage ||
			out != "" || !strings.HasSuffix(errs, c.want) {
			t.Errorf("%s: code %d, %q, standard error %q, want %q", c.args, code, out, errs, c.want)
		}
	}
}
