package stemma

import (
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/testing/level"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// linesOf is the fingerprint of lines, by its definition.
func linesOf(s Stack) Fingerprint {
	text := "[" + s.Root + "]"
	for i, section := range slices.Backward(s.Sections) {
		for k, f := range slices.Backward(section) {
			text += "\n"
			if k == len(section)-1 && i < len(s.Sections)-1 {
				text += "go "
			}
			text += f.Func
			if f.Line > 0 {
				text += "\n\t" + path.Base(f.File) + ":" + strconv.Itoa(f.Line)
			}
		}
	}
	h := fnv.New64a()
	h.Write([]byte(text))
	return Fingerprint(h.Sum64())
}

// TestSlogFingerprint logs in a context that can be decoded, again and again, and in one that cannot.
func TestSlogFingerprint(t *testing.T) {
	f := instrument(t)
	own.records, knownFingerprints = nil, fingerprintCache{}
	t.Cleanup(func() { own.records, knownFingerprints = nil, fingerprintCache{} })
	p := recordtest.NewProgram(5, 20)
	c := p.Capture()
	f.dir = filepath.Join(t.TempDir(), "prog.1")
	p.D.WriteTo(t, f.dir)
	known := ID{c.Hi, c.Lo, recordtest.Run}
	stack, err := Decode(known)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[ID]string{known: `","print":"` + stack.Fingerprint().String() + `"}`, testID(7): `"}`} {
		f.here = id
		have := logJSON(t, func(l *slog.Logger) {
			for range boundAfter + 3 {
				l.Info("m")
			}
		}, SlogFingerprint("print"))
		for line := range strings.SplitSeq(have, "\n") {
			if line != `{"ctx":"`+id.String()+want {
				t.Fatalf("have %s, want %s behind the ID", line, want)
			}
		}
	}
}

func TestDecode(t *testing.T) {
	if _, err := Decode(testID(1)); err == nil || !strings.Contains(err.Error(), "not built") {
		t.Errorf("normal build: %v", err)
	}
	f := instrument(t)
	own.records = nil
	t.Cleanup(func() { own.records = nil })
	if _, err := Decode(ID{}); err == nil {
		t.Error("the zero ID has a stack")
	}
	if _, err := Decode(testID(1)); err == nil || !strings.Contains(err.Error(), "nowhere to record") {
		t.Errorf("without a directory: %v", err)
	}
	p := recordtest.NewProgram(5, 20)
	f.dir = filepath.Join(t.TempDir(), "prog.1")
	ancestors := 0
	for range 40 {
		var c recordtest.Captured
		for range 100 {
			p.Act()
			c = p.Capture()
		}
		p.D.WriteTo(t, f.dir) // the program has recorded more since the last ID
		stack, err := Decode(ID{c.Hi, c.Lo, recordtest.Run})
		if err != nil {
			t.Fatal(err)
		}
		var have, want []string
		for _, s := range stack.Sections {
			for _, f := range s {
				have = append(have, f.Func)
			}
		}
		for _, f := range c.All() {
			want = append(want, f.Func)
		}
		if strings.Join(have, " ") != strings.Join(want, " ") || stack.Root != c.Root || stack.Truncated != "" {
			t.Fatalf("have %v\nwant %v, root %s", stack, want, c.Root)
		}
		if !strings.HasSuffix(stack.String(), "["+c.Root+"]\n") ||
			strings.Count(stack.String(), "started by\n") != len(stack.Sections)-1 {
			t.Fatalf("text:\n%s", stack)
		}
		ancestors += len(stack.Sections) - 1
		if have, want := stack.LineFingerprint(), linesOf(stack); have != want {
			t.Fatalf("fingerprint of lines: have %v, want %v, of\n%s", have, want, stack)
		}
		if f := stack.Fingerprint(); f == 0 || f == stack.LineFingerprint() {
			t.Fatalf("fingerprints %v and %v", f, stack.LineFingerprint())
		}
	}
	if ancestors == 0 {
		t.Error("no stack had an ancestor")
	}
	if _, err := Decode(testID(1)); err == nil || !strings.Contains(err.Error(), "ID of run 0000000000000009") {
		t.Errorf("an ID of another run: %v", err)
	}
}

// TestPCs finds the program counters of functions that are inlined into each other, where the frames for them are
// all there, and where the innermost is left out; and none where the address is that of another function.
func TestPCs(t *testing.T) {
	callers := make([]uintptr, 8)
	outer(callers)
	found := runtime.CallersFrames(callers)
	var want []Frame
	for {
		f, _ := found.Next()
		want = append(want, Frame{Func: f.Function, PC: f.PC + 1})
		if f.Func != nil {
			break
		}
	}
	if len(want) != 3 {
		t.Fatalf("the functions are not inlined into each other: %v", want)
	}
	for skip := range want {
		have := slices.Clone(want[skip:])
		for i := range have {
			have[i].PC = 0
		}
		setPCs(have, want[0].PC)
		if !slices.Equal(have, want[skip:]) {
			t.Errorf("have %v, want %v", have, want[skip:])
		}
	}
	other := []Frame{{Func: "main.main"}}
	if setPCs(other, want[0].PC); other[0].PC != 0 {
		t.Errorf("a function has an address of another one: %v", other)
	}
}

//go:noinline
func outer(callers []uintptr)  { middle(callers) }
func middle(callers []uintptr) { inner(callers) }
func inner(callers []uintptr)  { runtime.Callers(1, callers) }

// TestLinked checks that a program that does not decode has no decoder in it.
func TestLinked(t *testing.T) {
	level.NeedMore(t)
	for call, want := range map[string]bool{"stemma.Here()": false, "stemma.Decode(stemma.Here())": true,
		"println(stemma.WrapError(nil))": false} {
		dir := filepath.Join(t.TempDir(), "prog")
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		src := "package main\nimport \"github.com/stemma-go/stemma\"\nfunc main() { " + call + " }\n"
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(src), 0o666); err != nil {
			t.Fatal(err)
		}
		exe := filepath.Join(dir, "prog")
		if out, err := exec.Command("go", "build", "-o", exe,
			filepath.Join(dir, "main.go")).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err := exec.Command("go", "tool", "nm", exe).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, symbol := range []string{"internal/decode.(*Decoder).Decode", "stemma/internal/record.Open",
			"internal/cct.(*Walker).", "internal/engine.List"} {
			if have := strings.Contains(string(out), symbol); have != want {
				t.Errorf("%s: %s linked in: %v, want %v", call, symbol, have, want)
			}
		}
	}
}

// TestDecodeSegments decodes IDs of segments, whose directories change their names when one begins, and of one that was
// removed.
func TestDecodeSegments(t *testing.T) {
	f := instrument(t)
	own.records = nil
	t.Cleanup(func() { own.records = nil })
	f.dir = filepath.Join(t.TempDir(), "prog.1")
	const segments = 6
	paths := []string{f.dir}
	var ids []ID
	var want []string
	decodeAll := func(but int) {
		t.Helper()
		for i, id := range ids {
			stack, err := Decode(id)
			if i == but {
				if err == nil {
					t.Errorf("segment %d was removed, and its ID decodes", i)
				}
				continue
			}
			if err != nil {
				t.Fatalf("segment %d of %d: %v", i, len(ids), err)
			}
			if have := stack.Sections[0][0].Func; have != want[i] {
				t.Fatalf("segment %d: have %s, want %s", i, have, want[i])
			}
		}
	}
	for i := range segments {
		p := recordtest.NewProgram(uint64(i), 20)
		p.Act()
		c := p.Capture()
		next := f.dir
		if i > 0 {
			next = f.dir + fmt.Sprintf(".%06d", i)
			paths = append(paths, next)
		}
		run := uint64(i + 1)
		p.D.Header(func(h *layout.Header) { h.Run = run })
		p.D.WriteTo(t, next)
		if i > 0 { // it takes the name of the live directory
			for _, names := range [][2]string{{f.dir, f.dir + "x"}, {next, f.dir}, {f.dir + "x", next}} {
				if err := os.Rename(names[0], names[1]); err != nil {
					t.Fatal(err)
				}
			}
		}
		ids, want = append(ids, ID{c.Hi, c.Lo, run}), append(want, c.All()[0].Func)
		decodeAll(-1)
	}
	if len(own.records) != maxOwn {
		t.Errorf("%d segments are open, want %d", len(own.records), maxOwn)
	}
	if err := os.RemoveAll(f.dir + ".000001"); err != nil { // the first one
		t.Fatal(err)
	}
	decodeAll(0)
}
