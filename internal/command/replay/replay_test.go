package replay

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/encoder"
)

// header defines two functions and a site of each kind.
const header = Magic + `
func 1 f
func 2 g with spaces
site 0 0 static somewhere
site 1 1 dynamic
site 2 1 go
`

// read returns all events of a file.
func read(text string) ([]Event, error) {
	r, err := NewReader(strings.NewReader(text), "x")
	if err != nil {
		return nil, err
	}
	var list []Event
	for {
		e, err := r.Next()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, e)
	}
}

func TestReader(t *testing.T) {
	got, err := read(header + "call 0 1\ncall 1 2\r\nret\ngo 5 2 2\non 5\nexit\nstart 5\non 0\nunwind 0\nreencode\n")
	want := []Event{
		{Kind: Call, Call: encoder.Call{Site: 0, Func: 1}},
		{Kind: Call, Call: encoder.Call{Site: 1, Func: 2}},
		{Kind: Unwind, Depth: 1},
		{Kind: Go, Call: encoder.Call{Site: 2, Func: 2}, Child: 5},
		{Kind: Exit, G: 5},
		{Kind: Start, G: 5},
		{Kind: Unwind},
		{Kind: Reencode},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("have %v, %v; want %v", got, err, want)
	}
}

// Each mistake is an error that names the line.
func TestReaderErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                            `x:1: not an event file: the first line is ""`,
		"stemma\x00\x02\x01\x00":      "x: a sealed profile has no calls; name the live directory",
		Magic + "\nfunc 2 f\n":        "x:2: function 2 is defined, but 1 is next",
		Magic + "\nfunc 1\n":          "x:2: function 1 has no name",
		Magic + "\nsite 0 1 static\n": "x:2: site 0 lies in function 1, which is not defined",
		Magic + "\nsite 1 0 static\n": "x:2: site 1 is defined, but 0 is next",
		Magic + "\nsite 0 0 odd\n":    `x:2: unknown kind of site "odd"`,
		header + "call 0\n":           `x:7: have "", want a number`,
		header + "call 0 1 1\n":       `x:7: unexpected "1" at the end of the line`,
		header + "call 0 9\n":         "x:7: there is no function 9 to call",
		header + "call 9 1\n":         "x:7: there is no site 9",
		header + "call 1 1\n": "x:7: site 1 belongs to function 1, but goroutine 0 is " +
			"in function 0",
		header + "call 0 1\n\ncall 2 1\n":               "x:9: site 2 is a go statement, not a call",
		header + "call 0 1\ngo 1 1 2\n":                 "x:8: site 1 is a call, not a go statement",
		header + "call 0 1\ngo 0 2 2\n":                 "x:8: goroutine 0 is running already",
		header + "start 0\n":                            "x:7: goroutine 0 is running already",
		header + "call 0 0\n":                           "x:7: there is no function 0 to call",
		header + "ret\n":                                "x:7: goroutine 0 has 0 frames and cannot be unwound to -1",
		header + "unwind 1\n":                           "x:7: goroutine 0 has 0 frames and cannot be unwound to 1",
		header + "exit\n":                               "x:7: goroutine 0 cannot exit",
		header + "on 3\ncall 0 1\n":                     "x:8: there is no goroutine 3",
		header + "on 3\nunwind 0\n":                     "x:8: there is no goroutine 3",
		header + "call 0 1\nret\ncall 0 2\n":            "x:9: site 0 is static and calls function 1; it cannot call 2",
		header + "jump 3\n":                             `x:7: unknown word "jump"`,
		header + "call 4294967296 1\n":                  `x:7: have "4294967296", want a number from 0 to 4294967295`,
		header + strings.Repeat("x", 2e6):               "x:7: line longer than 1048576 bytes",
		"reading 1.dat\n1.2 x: [entry] f(1) depth: 0\n": `x:2: task "x" is no number`,
		"reading 1.dat\n1.2 3: [entry] f(1) depth: x\n": `x:2: depth "x" is no number`,
		"reading 1.dat\n1.2 3: [entry] f(1) depth: 1\n": "x:2: depth 1, but 0 functions of task 3 were entered",
		"reading 1.dat\n1.2 3: [exit ] f(1) depth: 0\n": "x:2: depth 0, but 0 functions of task 3 were entered",
	} {
		if _, err := read(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.80q: have %v, want %s", text, err, want)
		}
	}
}

// In a dump, depths tell what was left without an exit, and tasks are apart.
func TestDump(t *testing.T) {
	const text = "reading 1.dat\n1.2 3: [entry] f(1) depth: 0\n1.2 3: [entry] g(2) depth: 1\n1.2 3: [entry] " +
		"g(2) depth: 2\n" +
		"1.2 3: [entry] g(2) depth: 1\n1.2 4: [entry] g(2) depth: 0\n1.2 3: [exit ] f(1) depth: 0\n1.2 3: [entry] " +
		"f(1) depth: 0\n"
	call := func(g encoder.Goroutine, site encoder.Site, f encoder.Func) Event {
		return Event{Kind: Call, G: g, Call: encoder.Call{Site: site, Func: f}}
	}
	want := []Event{
		{Kind: Start, G: 3}, call(3, 0, 1), call(3, 1, 2), call(3, 2, 2), {Kind: Unwind, G: 3, Depth: 1}, call(3, 1, 2),
		{Kind: Start, G: 4}, call(4, 3, 2), {Kind: Unwind, G: 3}, call(3, 0, 1),
	}
	if got, err := read(text); err != nil || !slices.Equal(got, want) {
		t.Errorf("have %v, %v; want %v", got, err, want)
	}
}

// opener opens a text as often as is asked for.
func opener(text string) func() (*Reader, error) {
	return func() (*Reader, error) { return NewReader(strings.NewReader(text), "x") }
}

// A wrong context is noticed, counted, and described.
func TestMismatch(t *testing.T) {
	r, err := NewReader(strings.NewReader(header+"call 0 1\n"), "x")
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.Check = 1
	d := newDriver(r, r.Program(), nil, o)
	d.list = append(d.list, &contender{Encoder: liar{newTree()}})
	o.Encoders = []string{"dacce", "liar"}
	if err := d.run(); err != nil {
		t.Fatal(err)
	}
	res := d.result(o, "")
	if res.Mismatches() != 2 || res.Rows[0].Mismatches != 0 || !strings.Contains(res.Rows[1].Note, "first mismatch") {
		t.Errorf("have %+v", res)
	}
}

// A liar decodes every context to the empty one.
type liar struct{ *tree }

func (liar) Name() string                                   { return "liar" }
func (liar) Decode(encoder.Context) ([]encoder.Call, error) { return nil, nil }

// Many more contexts than are kept: the kept ones are spread over the run, and the
// end still knows them.
func TestKept(t *testing.T) {
	var b strings.Builder
	b.WriteString(header)
	for range 5 * maxKept {
		b.WriteString("call 0 1\ncall 1 2\nret 2\n")
	}
	o := DefaultOptions()
	o.Check = 1
	res, err := Run(opener(b.String()), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range res.Rows {
		if row.Encoder != "pcc" && (row.Checked <= 10*maxKept || row.Checked > 11*maxKept || row.Mismatches != 0) {
			t.Errorf("%s: %d checked, %d wrong", row.Encoder, row.Checked, row.Mismatches)
		}
	}
}

// The figures of a run whose contexts can be counted by hand: a chain of functions,
// each of which calls the next one from two sites.
func TestFigures(t *testing.T) {
	const depth = 6
	var b strings.Builder
	b.WriteString(Magic + "\nsite 0 0 static\n")
	for f := range depth {
		fmt.Fprintf(&b, "func %d f%d\nsite %d %d static\nsite %d %d static\n", f+1, f+1, 2*f+1, f+1, 2*f+2, f+1)
	}
	var visit func(f int)
	visit = func(f int) {
		for s := 2*f + 1; f < depth-1 && s <= 2*f+2; s++ {
			fmt.Fprintf(&b, "call %d %d\n", s, f+2)
			visit(f + 1)
			b.WriteString("ret\n")
		}
	}
	b.WriteString("call 0 1\n")
	visit(0)
	b.WriteString("reencode\n")
	visit(0)
	o := DefaultOptions()
	o.Check, o.NewEdges = 1, 0
	res, err := Run(opener(b.String()), o)
	if err != nil {
		t.Fatal(err)
	}
	const contexts = 1<<depth - 1
	if res.Contexts != contexts || res.Calls != 2*contexts-1 || res.MaxDepth != depth {
		t.Errorf("have %d contexts, %d calls, %d frames", res.Contexts, res.Calls, res.MaxDepth)
	}
	for _, row := range res.Rows {
		want := Row{Edges: 2*depth - 1, NumCC: contexts + 1, MaxID: 1<<(depth-1) - 1}
		switch row.Encoder {
		case "pcc":
			continue
		case "cct":
			want.MaxID = contexts
		case "dacce", "dacce-edges", "dacce-counts":
			want.StackOps = contexts // before the re-encoding
		case "lucce":
			// Edges keep ids that they have outgrown, so that there are more than contexts.
			want.NumCC, want.MaxID = row.NumCC, row.MaxID
			if row.NumCC == 0 || row.Interned != 1 {
				t.Errorf("%+v, want ids, and one path that begins", row)
			}
		}
		if row.Edges != want.Edges || row.NumCC != want.NumCC || row.MaxID != want.MaxID ||
			row.StackOps != want.StackOps || row.Mismatches != 0 {
			t.Errorf("%+v, want %+v", row, want)
		}
	}
}

// Input that can be read only once leaves out pcce and reports it.
func TestReadOnce(t *testing.T) {
	open, used := opener(header+"call 0 1\n"), false
	res, err := Run(func() (*Reader, error) {
		if used {
			return nil, ErrReadOnce
		}
		used = true
		return open()
	}, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range res.Rows {
		if (row.Note != "") != needsGraph(row.Encoder) {
			t.Errorf("%s: note %q", row.Encoder, row.Note)
		}
	}
	broken := errors.New("broken")
	if _, err := Run(func() (*Reader, error) { return nil, broken }, DefaultOptions()); err != broken {
		t.Errorf("have %v, want %v", err, broken)
	}
}

// FuzzReader: no input makes a reader panic, or return what encoders cannot do.
func FuzzReader(f *testing.F) {
	f.Add(header + "call 0 1\ngo 5 2 2\non 5\nret\nunwind 1\nexit\n")
	f.Add("reading 1.dat\n1.2 3: [entry] f(1) depth: 0\n1.2 3: [entry] g(1) depth: 1\n1.2 3: [exit ] f(1) depth: 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		o := DefaultOptions()
		o.Check = 1
		res, err := Run(opener(text), o)
		if err == nil && res.Mismatches() != 0 {
			t.Errorf("%+v", res)
		}
	})
}
