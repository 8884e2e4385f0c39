package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/livetest"
)

// A simulated process is one of many of a few programs: code lies at the same
// addresses, and IDs differ in the run number alone, or hardly.
type simulated struct {
	path string
	ids  []ctxid.ID
	want []string // the functions of each
}

// simulate makes n processes that record below dir.
func simulate(t *testing.T, dir string, n int) (list []simulated) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		p := livetest.NewProgram(uint64(i), 4)
		run := r.Uint64()
		p.D.Header(func(h *layout.Header) { h.Run = run })
		s := simulated{path: filepath.Join(dir, fmt.Sprintf("prog.%d", i))}
		for range 3 {
			for range 10 {
				p.Step()
			}
			c := p.Capture()
			s.ids = append(s.ids, ctxid.ID{Hi: c.Hi, Lo: c.Lo, Run: run})
			var funcs []string
			for _, f := range c.All() {
				funcs = append(funcs, f.Func)
			}
			s.want = append(s.want, strings.Join(funcs, " "))
		}
		p.D.WriteTo(t, s.path)
		list = append(list, s)
	}
	return list
}

// functions returns the functions of a path.
func functions(path []cct.PathFrame) string {
	var funcs []string
	for _, f := range path {
		funcs = append(funcs, f.Func)
	}
	return strings.Join(funcs, " ")
}

// decodeAll decodes all IDs of all processes, of one after the other by turns.
func decodeAll(t *testing.T, set *contextSet, processes []simulated) (ids int) {
	t.Helper()
	for i := range processes[0].ids {
		for _, p := range processes {
			stack, err := set.decode(p.ids[i])
			if err != nil {
				t.Fatalf("%s: %v", p.path, err)
			}
			if have := functions(stack.Path()); have != p.want[i] {
				t.Fatalf("%s: have %s\nwant %s", p.path, have, p.want[i])
			}
			ids++
		}
	}
	return ids
}

// without removes the record of one process. Its IDs are refused, and none is decoded
// with the record of another.
func without(t *testing.T, dir string, p simulated, all int) {
	t.Helper()
	aside := filepath.Join(t.TempDir(), "aside")
	if err := os.Rename(p.path, aside); err != nil {
		t.Fatal(err)
	}
	set, err := openContexts(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range p.ids {
		_, err := set.decode(id)
		want := fmt.Sprintf("ID of run %016x: no record of that run in %s (have %s); name the record of the run that wrote the log", id.Run, dir, plural(all-1, "run"))
		if err == nil || err.Error() != want {
			t.Fatalf("without %s: have %v, want %s", p.path, err, want)
		}
	}
	if err := os.Rename(aside, p.path); err != nil {
		t.Fatal(err)
	}
	if _, err := set.decode(p.ids[0]); err != nil {
		t.Errorf("%s is there again: %v", p.path, err)
	}
}

// TestManyRuns decodes the IDs of ten thousand processes with the directory that their
// records are in: each to its own stack, or none if its record is removed.
func TestManyRuns(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 500
	}
	dir := t.TempDir()
	processes := simulate(t, dir, n)
	set, err := openContexts(dir)
	if err != nil {
		t.Fatal(err)
	}
	ids := decodeAll(t, set, processes)
	alike := make(map[ctxid.ID]bool)
	for _, p := range processes {
		for _, id := range p.ids {
			id.Run = 0
			alike[id] = true
		}
	}
	t.Logf("%d IDs of %d processes, of which %d differ in more than the run", ids, n, len(alike))
	if len(alike) > ids/2 {
		t.Error("the IDs of processes are hardly alike")
	}
	for i := 0; i < n; i += n / 4 {
		without(t, dir, processes[i], n)
	}
}

// TestRunsWithout removes the record of each process in turn.
func TestRunsWithout(t *testing.T) {
	dir := t.TempDir()
	processes := simulate(t, dir, 100)
	for _, p := range processes {
		without(t, dir, p, len(processes))
	}
}

// TestRunsClosed lets fewer records be open than the IDs are of.
func TestRunsClosed(t *testing.T) {
	dir := t.TempDir()
	processes := simulate(t, dir, 100)
	set, err := openContexts(dir)
	if err != nil {
		t.Fatal(err)
	}
	set.limit = 1 << 16
	decodeAll(t, set, processes)
	open := int64(0)
	for _, p := range processes {
		for _, r := range set.byRun[p.ids[0].Run] {
			if r.open != nil {
				open += r.open.Size()
			}
		}
	}
	if open > set.limit || open != set.open {
		t.Errorf("%d bytes of records are open, %d are counted, want at most %d", open, set.open, set.limit)
	}
}

// TestRunGone removes a record that was found but not opened yet.
func TestRunGone(t *testing.T) {
	dir := t.TempDir()
	processes := simulate(t, dir, 2)
	set, err := openContexts(dir)
	if err != nil {
		t.Fatal(err)
	}
	gone := processes[1]
	if err := os.RemoveAll(gone.path); err != nil {
		t.Fatal(err)
	}
	if _, err := set.decode(gone.ids[0]); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("(have run %016x)", processes[0].ids[0].Run)) {
		t.Errorf("have %v", err)
	}
}

// TestRunReplaced has another run record into the directory that is named.
func TestRunReplaced(t *testing.T) {
	dir := t.TempDir()
	processes := simulate(t, dir, 2)
	old, next := processes[0], processes[1]
	set, err := openContexts(old.path)
	if err != nil {
		t.Fatal(err)
	}
	decodeAll(t, set, []simulated{old})
	if _, err := set.decode(next.ids[0]); err == nil {
		t.Fatal("decoded without its record")
	}
	if err := os.RemoveAll(old.path); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next.path, old.path); err != nil {
		t.Fatal(err)
	}
	decodeAll(t, set, []simulated{next})
	decodeAll(t, set, []simulated{old}) // what was read holds
}

// TestRunTwice has two records of one run: a copy that was sealed early, and the live
// directory, which knows more; and then only a damaged one of the two.
func TestRunTwice(t *testing.T) {
	dir := t.TempDir()
	p := livetest.NewProgram(3, 5)
	early := p.Capture()
	live, sealed := filepath.Join(dir, "prog.1"), filepath.Join(dir, "early"+sealedSuffix)
	p.D.WriteTo(t, live)
	if _, errs, code := mainOf(t, "", "seal", "-o", sealed, live); code != 0 {
		t.Fatal(errs)
	}
	for range 500 {
		p.Step()
	}
	late := p.Capture()
	p.D.WriteTo(t, live)
	text := func(c livetest.Captured) string { return string(ctxid.Append(nil, c.Hi, c.Lo, livetest.Run)) }
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
	if _, errs, code := mainOf(t, "", "decode", dir, text(late)); code != 1 || !strings.Contains(errs, "prog.1: funcs: ") && !strings.Contains(errs, "node") {
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

// end ends the input and returns what decode says then.
func (f *following) end() string {
	f.in.Close()
	return <-f.err
}

// TestFollow writes lines one by one, and none is held back, whatever it ends with.
func TestFollow(t *testing.T) {
	_, path, id, _ := shop(t)
	f := follow(t, path)
	for _, line := range []string{"plain\n", "s\n", "st\n", "stm\n", "stm2\n", id[:30] + "\n", "stm1\n", "\n", "stm" + Digits(30) + "\n"} {
		f.say(line, line)
	}
	f.say("x "+id+" y\n", "x "+shopLine+" y\n")
	f.say("part of an ID: "+id[:20], "")
	f.say(id[20:]+"\n", "part of an ID: "+shopLine+"\n")
	f.say("part of a prefix: s", "")
	f.say("tm", "")
	f.say(id[3:]+"\nno end", "part of a prefix: "+shopLine+"\n")
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
			d, _, id, _ := shop(t)
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
			f.say(id+"\n", shopLine+"\n")
			if errs := f.end(); !strings.Contains(errs, "no record yet") || !strings.Contains(errs, "2 IDs cannot be decoded and were left as they are; the first: "+id+": ID of run ") {
				t.Errorf("standard error: %s", errs)
			}
		})
	}
}

// TestFollowNothing decodes without a record: the text is copied, and the error comes at
// the end.
func TestFollowNothing(t *testing.T) {
	_, _, id, _ := shop(t)
	t.Chdir(t.TempDir())
	for args, want := range map[string]string{"": "no record given, and neither *.stemma nor stemma.out/* here", "no/such": "no/such: no such file or directory"} {
		out, errs, code := mainOf(t, id+"\n", append([]string{"decode"}, strings.Fields(args)...)...)
		if out != id+"\n" || code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%q: code %d, %s\n%s", args, code, out, errs)
		}
		if _, errs, code := mainOf(t, "", append(append([]string{"decode"}, strings.Fields(args)...), id)...); code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%q and an ID: code %d, %s", args, code, errs)
		}
	}
}

// TestDecodeOld finds IDs of the first version.
func TestDecodeOld(t *testing.T) {
	_, path, id, _ := shop(t)
	const old = "stm1AAAABAAAAAcAAAMAAJJAB1"
	out, errs, code := mainOf(t, old+" "+id+" "+old+id+" stm1x", "decode", path)
	if want := old + " " + shopLine + " " + old + shopLine + " stm1x"; out != want || code != 0 {
		t.Errorf("code %d\nhave %s\nwant %s", code, out, want)
	}
	if !strings.Contains(errs, "2 IDs are of an earlier version and were left as they are: decode them with the stemma that built the program") || strings.Contains(errs, "damaged") {
		t.Errorf("standard error: %s", errs)
	}
	if _, errs, code := mainOf(t, "", "decode", path, old); code != 1 || !strings.Contains(errs, "of an earlier version of stemma (have stm1, want stm2)") {
		t.Errorf("argument: code %d, %s", code, errs)
	}
}

// A fullWriter takes nothing.
type fullWriter struct{}

var errFull = errors.New("no space left on device")

func (fullWriter) Write([]byte) (int, error) { return 0, errFull }

// TestDecodeFull writes to a full disk.
func TestDecodeFull(t *testing.T) {
	_, path, id, _ := shop(t)
	var errs bytes.Buffer
	if code := Main([]string{"decode", path}, strings.NewReader(strings.Repeat(id+"\n", 100_000)), fullWriter{}, &errs); code != 1 || !strings.Contains(errs.String(), errFull.Error()) {
		t.Errorf("code %d, %s", code, &errs)
	}
}
