package sealed_test

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/sealed"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// sampledText is a record of samples.
const sampledText = `stemma profile 2
record 0 run 00000000000000a1
process 0 args "prog" run 00000000000000a1 pid 7 go "go1.26.8" engine "sample"
	sampler 0 name "isps" walk "marker" ask "signal" interval 1000000
		stat 0 kind "samples" count 3
		latency 0 floor 1000 count 3
func 0 kind root cells 10 counters 1
func 1 kind place
	frame 0 func "main.in" file "main.go" line 10 start 9
	frame 1 func "main.main" file "main.go" line 4 start 3
func 2 kind place
	frame 0 func "[truncated]"
value 0 name "cpu" unit "nanoseconds" about "the time on CPU" flags sampled
value 1 name "samples" unit "count" about "the samples" flags sampled
node 0
node 1 func 1 parent 0 cpu 2000000 samples 2
node 2 func 2 parent 1 cpu 1000000 samples 1
`

// records returns a record of each kind: a tree, samples, and context IDs by the encodings
// of epochs, and by a log of the graph.
func records(t testing.TB) []*record.Record {
	t.Helper()
	program := recordtest.NewProgram(3, 20)
	for range 120 {
		program.Act()
		program.Capture()
	}
	lucce := recordtest.NewLucce(t, 1<<20)
	caller, callee := lucce.Func("main.f", 3), lucce.Func("main.g", 2)
	frame := lucce.Root(caller, layout.RootMain)
	for site := range 3 {
		inner := lucce.Call(lucce.Call(frame, site, callee), site%2, caller)
		lucce.Capture(lucce.Call(inner, 1, callee), 1)
	}
	deep := frame
	for level := range 30 { // recursion makes groups
		deep = lucce.Call(lucce.Call(deep, level%3, callee), level%2, caller)
	}
	lucce.Go(frame, 2, callee)
	list := make([]*record.Record, 0, 4)
	for _, dir := range []fs.FS{recordtest.Shapes().FS(), program.D.FS(), lucce.FS()} {
		r, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	sampled, err := record.ParseText(strings.NewReader(sampledText))
	if err != nil {
		t.Fatal(err)
	}
	return append(list, sampled)
}

func text(t testing.TB, r *record.Record) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func file(t testing.TB, r *record.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestUnknown reads a file with a table and with columns of every kind that the reader does
// not know: it skips them.
func TestUnknown(t *testing.T) {
	for _, r := range records(t) {
		f, err := sealed.Read(bytes.NewReader(file(t, r)))
		if err != nil {
			t.Fatal(err)
		}
		want := text(t, r)
		later := sealed.Schema[int]{
			{Name: "later", Get: func(*int) uint64 { return 7 }},
			{Name: "more", Kind: sealed.List, Numbers: func(*int) []uint64 { return []uint64{1, 2} }},
		}
		later.Add(f, "later", []int{1, 2, 3})
		for _, t := range f.Tables {
			t.AddNumbers("later", make([]uint64, t.Rows))
			t.AddColumn("kind", 99, bytes.Repeat([]byte{1}, t.Rows))
		}
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		back, err := record.Read(&b)
		if err != nil {
			t.Fatal(err)
		}
		if have := text(t, back); have != want {
			t.Errorf("have\n%s\nwant\n%s", have, want)
		}
	}
}

// TestBomb: a small file does not make a reader allocate what it claims, nor what it
// would expand to; and no record is such that it cannot be read again.
func TestBomb(t *testing.T) {
	huge := sealed.Bomb(1 << 30)
	if len(huge) > 2<<20 {
		t.Fatalf("the bomb has %d bytes", len(huge))
	}
	recordtest.Bounded(t, 0, func() {
		if _, err := record.Read(bytes.NewReader(huge)); err == nil ||
			!strings.Contains(err.Error(), "that expand to 1073741824, want at most") {
			t.Errorf("have error %v", err)
		}
	})
	r := records(t)[0]
	r.Strings[1] = strings.Repeat("a", 8<<20)
	if back, err := record.Read(bytes.NewReader(file(t, r))); err != nil || back.Strings[1] != r.Strings[1] {
		t.Errorf("what compresses well cannot be read again: %v", err)
	}
}

// FuzzRead reads files whose checksums may be right.
func FuzzRead(f *testing.F) {
	for _, r := range records(f) {
		f.Add(file(f, r))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		recordtest.Bounded(t, len(data), func() {
			if r, err := record.Read(bytes.NewReader(data)); err == nil {
				identity(t, r)
			}
		})
	})
}

// TestRows checks what a description can claim of its bytes.
func TestRows(t *testing.T) {
	for _, c := range []struct {
		rows int
		data string
		want string
	}{
		{3, "\x01\x02", "2 bytes for 3 rows"},
		{1, "\x01\x02", "1 bytes too many behind 1 rows"},
		{1, "\xff", "cut off in a number"},
		{2, "\x01\x05", ""},
	} {
		f := &sealed.File{Strings: []string{""}, Tables: []*sealed.Table{{Name: "t", Rows: c.rows}}}
		f.Tables[0].AddColumn("n", sealed.Number, []byte(c.data))
		s := sealed.Schema[uint64]{{Name: "n", Get: func(v *uint64) uint64 { return *v },
			Set: func(v *uint64, n uint64) { *v = n }}}
		_, err := s.Rows(f, "t")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d rows of %q: have %v, want %q", c.rows, c.data, err, c.want)
		}
	}
}

// FuzzTables damages the tables of records of all kinds before they are sealed, where no
// checksum protects what reads them. What is accepted says the same after text → binary → text.
func FuzzTables(f *testing.F) {
	f.Add(uint8(0), uint8(7), uint8(4), uint16(3), uint64(1<<40))
	f.Add(uint8(0), uint8(12), uint8(1), uint16(2), uint64(7))
	f.Add(uint8(1), uint8(16), uint8(5), uint16(2), uint64(9))
	f.Add(uint8(1), uint8(18), uint8(1), uint16(4), uint64(0))
	f.Add(uint8(2), uint8(21), uint8(0), uint16(1), uint64(3))
	f.Add(uint8(3), uint8(11), uint8(0), uint16(1), uint64(0))
	list := records(f)
	f.Fuzz(func(t *testing.T, kind, n, c uint8, row uint16, v uint64) {
		tables, err := sealed.Read(bytes.NewReader(file(t, list[int(kind)%len(list)])))
		if err != nil {
			t.Fatal(err)
		}
		table := tables.Tables[int(n)%len(tables.Tables)]
		if table.Rows == 0 || len(table.Columns) == 0 {
			return
		}
		sealed.Damage(table.Columns[int(c)%len(table.Columns)], int(row)%table.Rows, v)
		var b bytes.Buffer
		if err := tables.Write(&b); err != nil {
			t.Fatal(err)
		}
		recordtest.Bounded(t, b.Len(), func() {
			if r, err := record.Read(&b); err == nil {
				identity(t, r)
			}
		})
	})
}

// FuzzText reads texts of records of all kinds.
func FuzzText(f *testing.F) {
	for _, r := range records(f) {
		f.Add(text(f, r))
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1<<20 {
			return
		}
		if r, err := record.ParseText(strings.NewReader(s)); err == nil {
			identity(t, r)
		}
	})
}

// identity checks text → binary → text.
func identity(t *testing.T, r *record.Record) {
	t.Helper()
	want := text(t, r)
	parsed, err := record.ParseText(strings.NewReader(want))
	if err != nil {
		t.Fatalf("%v\n%s", err, want)
	}
	back, err := record.Read(bytes.NewReader(file(t, parsed)))
	if err != nil {
		t.Fatalf("%v\n%s", err, want)
	}
	if have := text(t, back); have != want {
		t.Fatalf("have\n%s\nwant\n%s", have, want)
	}
}

// TestEarlierVersion refuses a file of an earlier version, and says what to do.
func TestEarlierVersion(t *testing.T) {
	data := file(t, records(t)[0])
	data[8] = 3
	_, err := record.Read(bytes.NewReader(data))
	if want := "offset 8: format version 3 (want 4); seal the live directory again, or use the stemma that " +
		"wrote the file"; err == nil || err.Error() != want {
		t.Errorf("have %v, want %s", err, want)
	}
}

func TestIdentity(t *testing.T) {
	for i, r := range records(t) {
		identity(t, r)
		for _, word := range [][]string{{"inlined 0", "calls 10,20"}, {"epoch 0", "edge 0", "interned 1"},
			{"group 0", "interval 0", "flags graphLog"}, {"place", "cpu 2000000"}}[i] {
			if !strings.Contains(text(t, r), word) {
				t.Errorf("record %d has no %q:\n%s", i, word, text(t, r))
			}
		}
		if err := r.CheckValid(); err != nil {
			t.Error(err)
		}
	}
}
