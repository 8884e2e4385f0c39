package profile

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxLine bounds a line of the text form.
const maxLine = 1 << 26

// ParseText reads the text form. An error names the line.
// What it accepts, WriteText writes back but for comments and spacing. The form is
// for tests and for looking at a profile: it is several times as large as a sealed
// file and slow to read.
func ParseText(r io.Reader) (*Profile, error) {
	t := &textReader{p: &Profile{Strings: []string{""}}, strings: map[string]uint32{"": 0}}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxLine)
	for sc.Scan() {
		t.lineNo++
		t.rest = strings.TrimSpace(sc.Text())
		if t.rest == "" || t.rest[0] == '#' {
			continue
		}
		t.line()
		if t.err != nil {
			return nil, t.err
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", t.lineNo+1, err)
	}
	if !t.begun {
		return nil, fmt.Errorf("line 1: not the text form of a profile; want %q", textMagic)
	}
	return t.p, t.p.CheckValid()
}

// A textReader reads one line after another, and in a line one word after
// another. After the first error all words are empty.
type textReader struct {
	p       *Profile
	strings map[string]uint32
	lineNo  int
	begun   bool // the first line was read
	rest    string
	err     error
}

// fail records the first error and drops the rest of the line.
func (t *textReader) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf("line %d: %w", t.lineNo, fmt.Errorf(format, args...))
	}
	t.rest = ""
}

// line reads one line. Lines that begin with no word of their own belong to
// the process above them.
func (t *textReader) line() {
	if !t.begun {
		if t.rest != textMagic {
			t.fail("have %q, want %q", t.rest, textMagic)
		}
		t.begun = true
		return
	}
	switch w := t.word(); w {
	case "process":
		t.p.Processes = append(t.p.Processes, Process{})
	case "func":
		t.function()
	case "inlined", "site", "frame":
		t.funcLine(w)
	case "node":
		t.node()
	default:
		t.processLine(w)
	}
	if t.rest != "" {
		t.fail("%q is too much", t.rest)
	}
}

// word returns the next word, "" at the end of the line.
func (t *textReader) word() string {
	w, rest, _ := strings.Cut(t.rest, " ")
	t.rest = strings.TrimLeft(rest, " ")
	return w
}

// expect reads a word that carries no information.
func (t *textReader) expect(want string) {
	if have := t.word(); have != want {
		t.fail("have %q, want %q", have, want)
	}
}

// number reads a decimal number of at most max.
func (t *textReader) number(max uint64) uint64 {
	w := t.word()
	v, err := strconv.ParseUint(w, 10, 64)
	if err != nil || v > max {
		t.fail("have %q, want a number up to %d", w, max)
		return 0
	}
	return v
}

// u32 reads a number of up to 32 bits.
func (t *textReader) u32() uint32 { return uint32(t.number(math.MaxUint32)) }

// index reads a number or "-" for None.
func (t *textReader) index() int32 {
	if strings.HasPrefix(t.rest, "-") {
		t.expect("-")
		return None
	}
	return int32(t.number(math.MaxInt32))
}

// sequence reads a number that must be want: indexes are there for human readers.
func (t *textReader) sequence(want int) {
	if have := t.number(math.MaxUint32); have != uint64(want) {
		t.fail("have index %d, want %d", have, want)
	}
}

// quoted reads a string in Go's syntax.
func (t *textReader) quoted() string {
	q, err := strconv.QuotedPrefix(t.rest)
	if err != nil {
		t.fail("have %q, want a quoted string", t.rest)
		return ""
	}
	t.rest = strings.TrimLeft(t.rest[len(q):], " ")
	s, err := strconv.Unquote(q)
	if err != nil {
		t.fail("%s: %w", q, err)
	}
	return s
}

// string reads a quoted string and returns its index in the profile.
func (t *textReader) string() uint32 {
	s := t.quoted()
	i, ok := t.strings[s]
	if !ok {
		i = uint32(len(t.p.Strings))
		t.strings[s] = i
		t.p.Strings = append(t.p.Strings, s)
	}
	return i
}

// at reads a place: the word at, a file and a line.
func (t *textReader) at() (file, line uint32) {
	t.expect("at")
	return t.string(), t.u32()
}

// processLine reads a line about the last process.
// A key may come several times; of all but lists the last one counts.
func (t *textReader) processLine(key string) {
	if len(t.p.Processes) == 0 {
		t.fail("unknown word %q", key)
		return
	}
	proc := &t.p.Processes[len(t.p.Processes)-1]
	switch key {
	case "arg":
		proc.Args = append(proc.Args, t.quoted())
	case "run":
		proc.Run = t.run()
	case "pid":
		proc.PID = int(t.u32())
	case "start":
		proc.Start = t.time()
	case "go":
		proc.GoVersion = t.quoted()
	case "engine":
		proc.Engine = t.quoted()
	case "full":
		proc.Full = true
	case "checked":
		proc.Checked = true
	case "lost":
		proc.Losses = append(proc.Losses, Loss{t.quoted(), t.number(math.MaxUint64)})
	case "note":
		proc.Notes = append(proc.Notes, t.quoted())
	default:
		t.fail("unknown word %q", key)
	}
}

// run reads a run number: 16 hexadecimal digits.
func (t *textReader) run() uint64 {
	w := t.word()
	v, err := strconv.ParseUint(w, 16, 64)
	if err != nil || fmt.Sprintf("%016x", v) != w || v == 0 {
		t.fail("have %q, want a run number: 16 hexadecimal digits, not all 0", w)
	}
	return v
}

// time reads a time that the sealed file can hold.
func (t *textReader) time() time.Time {
	w := t.word()
	v, err := time.Parse(time.RFC3339Nano, w)
	if err != nil || v.Year() < 1970 || v.Year() > 2261 || v.UnixNano() == 0 {
		t.fail("have %q, want a time from 1970 to 2261", w)
		return time.Time{}
	}
	return v.UTC()
}

// function reads the first line of a function. Cells and counters are given,
// not computed, so that a text can describe a function without sites.
func (t *textReader) function() {
	t.sequence(len(t.p.Funcs))
	var f Func
	f.Kind = FuncKind(kindOf(t, funcKindNames[:]))
	f.Name = t.string()
	f.File, f.Line = t.at()
	t.expect("cells")
	f.Cells = t.u32()
	t.expect("counters")
	f.Counters = t.u32()
	for t.rest != "" {
		switch w := t.word(); w {
		case "wrapper":
			f.Flags |= FuncWrapper
		case "asm":
			f.Flags |= FuncAsm
		default:
			t.fail("unknown flag %q", w)
		}
	}
	t.p.Funcs = append(t.p.Funcs, f)
}

// kindOf reads a word and returns its index in names.
func kindOf(t *textReader, names []string) int {
	w := t.word()
	for i, n := range names {
		if n == w && n != "" {
			return i
		}
	}
	t.fail("have %q, want one of %q", w, names)
	return 0
}

// funcLine reads a line about the last function.
func (t *textReader) funcLine(key string) {
	if len(t.p.Funcs) == 0 {
		t.fail("%q before the first function", key)
		return
	}
	f := &t.p.Funcs[len(t.p.Funcs)-1]
	switch key {
	case "inlined":
		t.sequence(len(f.Inlined))
		var in Inlined
		t.expect("in")
		in.Parent, in.Callee = t.index(), t.string()
		in.File, in.Line = t.at()
		t.expect("counter")
		in.Counter = t.index()
		if t.rest != "" {
			t.expect("begins")
			in.CalleeFile, in.CalleeLine = t.string(), t.u32()
		}
		f.Inlined = append(f.Inlined, in)
	case "site":
		t.sequence(len(f.Sites))
		f.Sites = append(f.Sites, t.site())
	case "frame":
		fr := Frame{Func: t.string()}
		fr.File, fr.Line = t.at()
		f.Frames = append(f.Frames, fr)
	}
}

// site reads a site line behind its index.
func (t *textReader) site() Site {
	s := Site{Kind: SiteKind(kindOf(t, siteKindNames[:]))}
	t.expect("in")
	s.Inlined, s.Callee = t.index(), t.string()
	s.File, s.Line = t.at()
	t.expect("cell")
	s.Cell = t.index()
	t.expect("counter")
	s.Counter = t.index()
	return s
}

// node reads a node with its counters, as many as its function has.
func (t *textReader) node() {
	t.sequence(len(t.p.Nodes))
	n := Node{First: uint32(len(t.p.Counts))}
	t.expect("parent")
	n.Parent = t.u32()
	t.expect("cell")
	n.Cell = t.u32()
	t.expect("func")
	n.Func = t.u32()
	t.expect("counts")
	if t.err == nil && uint64(n.Func) >= uint64(len(t.p.Funcs)) {
		t.fail("function %d is not one of %d", n.Func, len(t.p.Funcs))
	}
	have := uint32(0)
	for ; t.rest != ""; have++ {
		t.p.Counts = append(t.p.Counts, t.number(math.MaxUint64))
	}
	if t.err == nil && have != t.p.Funcs[n.Func].Counters {
		t.fail("%d counts, want %d", have, t.p.Funcs[n.Func].Counters)
	}
	t.p.Nodes = append(t.p.Nodes, n)
}
