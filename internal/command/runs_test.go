package command

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// TestRunTwice has two records of one run: a copy that was sealed early, and the live
// directory, which knows more; and then only a damaged one of the two.
func TestRunTwice(t *testing.T) {
	dir := t.TempDir()
	p := recordtest.NewProgram(3, 5)
	early := p.Capture()
	live, sealed := filepath.Join(dir, "prog.1"), filepath.Join(dir, "early"+store.SealedSuffix)
	p.D.WriteTo(t, live)
	if _, errs, code := mainOf(t, "", "seal", "-o", sealed, live); code != 0 {
		t.Fatal(errs)
	}
	for range 500 {
		p.Act()
	}
	late := p.Capture()
	p.D.WriteTo(t, live)
	text := func(c recordtest.Captured) string {
		return string(ctxid.Append(nil, ctxid.ID{Hi: c.Hi, Lo: c.Lo, Run: recordtest.Run}))
	}
	for _, ids := range [][]string{{text(early), text(late)}, {text(late), text(early)}} {
		if out, errs, code := mainOf(t, "", append([]string{"decode", dir}, ids...)...); code != 0 {
			t.Errorf("code %d\n%s%s", code, out, errs)
		}
	}
	if err := os.Truncate(filepath.Join(live, "funcs"), 100); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := mainOf(t, "", "decode", dir, text(early)); code != 0 {
		t.Errorf("with a damaged copy: code %d\n%s%s", code, out, errs)
	}
	if _, errs, code := mainOf(t, "", "decode", dir, text(late)); code != 1 ||
		!strings.Contains(errs, "prog.1: funcs: ") && !strings.Contains(errs, "node") {
		t.Errorf("what only the damaged one knew: code %d, %s", code, errs)
	}
}

// A following is a decode command whose input comes by and by.
type following struct {
	t   *testing.T
	in  *io.PipeWriter
	out chan string // lines
	err chan string // standard error, at the end
}

// follow starts decode.
func follow(t *testing.T, args ...string) *following {
	pr, in := io.Pipe()
	f := &following{t, in, make(chan string, 100), make(chan string, 1)}
	outR, outW := io.Pipe()
	go func() {
		var errs bytes.Buffer
		Main(append([]string{"decode"}, args...), pr, outW, &errs)
		outW.Close()
		f.err <- errs.String()
	}()
	go func() {
		var line []byte
		b := make([]byte, 1000)
		for {
			n, err := outR.Read(b)
			for _, c := range b[:n] {
				if line = append(line, c); c == '\n' {
					f.out <- string(line)
					line = nil
				}
			}
			if err != nil {
				f.out <- string(line)
				return
			}
		}
	}()
	return f
}

// say writes text, and wants the line back before anything else is written.
func (f *following) say(text, want string) {
	f.t.Helper()
	if _, err := io.WriteString(f.in, text); err != nil {
		f.t.Fatal(err)
	}
	if want == "" {
		return
	}
	select {
	case have := <-f.out:
		if have != want {
			f.t.Errorf("have %q, want %q", have, want)
		}
	case <-time.After(time.Minute):
		f.t.Fatalf("%q is held back", text)
	}
}

// end ends the input and returns what decode then prints.
func (f *following) end() string {
	f.in.Close()
	return <-f.err
}

// TestFollow writes lines one by one, and none is held back, whatever it ends with.
func TestFollow(t *testing.T) {
	_, path, id, _ := recordtest.Shop(t)
	f := follow(t, path)
	for _, line := range []string{"plain\n", "s\n", "st\n", "stm\n", "stm2\n", id[:30] + "\n", "stm1\n", "\n",
		"stm" + Digits(30) + "\n"} {
		f.say(line, line)
	}
	f.say("x "+id+" y\n", "x "+recordtest.ShopLine+" y\n")
	f.say("part of an ID: "+id[:20], "")
	f.say(id[20:]+"\n", "part of an ID: "+recordtest.ShopLine+"\n")
	f.say("part of a prefix: s", "")
	f.say("tm", "")
	f.say(id[3:]+"\nno end", "part of a prefix: "+recordtest.ShopLine+"\n")
	f.in.Close()
	if have := <-f.out; have != "no end" {
		t.Errorf("at the end: %q", have)
	}
}

// Digits returns n digits that are no ID.
func Digits(n int) string { return strings.Repeat("A", n) }

// TestFollowLater begins to decode before the program has begun: its record is named in
// full, or a directory that it will be in, which may not be there either.
func TestFollowLater(t *testing.T) {
	for _, named := range []string{"out/shop.42", "out", "out/there", ""} {
		t.Run(named, func(t *testing.T) {
			d, _, id, _ := recordtest.Shop(t)
			t.Chdir(t.TempDir())
			record, args := "out/shop.42", []string{named}
			switch named {
			case "out/there":
				record = "out/there/shop.42"
				if err := os.MkdirAll(named, 0o777); err != nil {
					t.Fatal(err)
				}
			case "":
				record, args = "stemma.out/shop.42", nil
			}
			f := follow(t, args...)
			f.say("begins\n", "begins\n")
			f.say(id+"\n", id+"\n") // nobody knows it yet
			// A program makes its directory first, and the files in it one by one.
			if err := os.MkdirAll(record, 0o777); err != nil {
				t.Fatal(err)
			}
			f.say(id+"\n", id+"\n")
			d.WriteTo(t, record)
			f.say(id+"\n", recordtest.ShopLine+"\n")
			if errs := f.end(); !strings.Contains(errs, "no record yet") ||
				!strings.Contains(errs,
					"2 IDs cannot be decoded and were left as they are; the first: "+id+": ID of run ") {
				t.Errorf("standard error: %s", errs)
			}
		})
	}
}

// TestFollowNothing decodes without a record: the text is copied, and the error comes at
// the end.
func TestFollowNothing(t *testing.T) {
	_, _, id, _ := recordtest.Shop(t)
	t.Chdir(t.TempDir())
	const none = "no record given, and neither *.stemma nor stemma.out/* here; name a record"
	for args, want := range map[string]string{"": none,
		"no/such": "no/such: no such file or directory"} {
		out, errs, code := mainOf(t, id+"\n", append([]string{"decode"}, strings.Fields(args)...)...)
		if out != id+"\n" || code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%q: code %d, %s\n%s", args, code, out, errs)
		}
		if _, errs, code := mainOf(t, "",
			append(append([]string{"decode"}, strings.Fields(args)...), id)...); code == 0 ||
			!strings.Contains(errs, want) {
			t.Errorf("%q and an ID: code %d, %s", args, code, errs)
		}
	}
}

// TestDecodeOld finds IDs of the first version.
func TestDecodeOld(t *testing.T) {
	_, path, id, _ := recordtest.Shop(t)
	const old = "stm1AAAABAAAAAcAAAMAAJJAB1"
	out, errs, code := mainOf(t, old+" "+id+" "+old+id+" stm1x", "decode", path)
	if want := old + " " + recordtest.ShopLine + " " + old + recordtest.ShopLine + " stm1x"; out != want || code != 0 {
		t.Errorf("code %d\nhave %s\nwant %s", code, out, want)
	}
	if !strings.Contains(errs,
		"2 IDs are of an earlier version and were left as they are: decode them with the stemma that built "+
			"the program") || strings.Contains(errs, "damaged") {
		t.Errorf("standard error: %s", errs)
	}
	if _, errs, code := mainOf(t, "", "decode", path, old); code != 1 ||
		!strings.Contains(errs, "of an earlier version of stemma (have stm1, want stm2)") {
		t.Errorf("argument: code %d, %s", code, errs)
	}
}

// A fullWriter takes nothing.
type fullWriter struct{}

var errFull = errors.New("no space left on device")

func (fullWriter) Write([]byte) (int, error) { return 0, errFull }

// TestDecodeFull writes to a full disk.
func TestDecodeFull(t *testing.T) {
	_, path, id, _ := recordtest.Shop(t)
	var errs bytes.Buffer
	if code := Main([]string{"decode", path}, strings.NewReader(strings.Repeat(id+"\n", 100_000)), fullWriter{},
		&errs); code != 1 || !strings.Contains(errs.String(), errFull.Error()) {
		t.Errorf("code %d, %s", code, &errs)
	}
}
