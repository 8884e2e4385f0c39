package sealed

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// textMagic is the first line of the text form; the number is its version.
const textMagic = "stemma profile 2"

// WriteText writes the text form of f: a line for each row, with the rows that belong to
// it behind it. Values that are 0 are left out.
func (f *File) WriteText(w io.Writer) error {
	t := &textWriter{w: bufio.NewWriter(w), f: f, tables: make(map[string]*tableCursor)}
	children := make(map[string]bool)
	for _, tbl := range f.Tables {
		tc := &tableCursor{t: tbl}
		for _, c := range tbl.Columns {
			tc.columns = append(tc.columns, &cursor{c: c, d: c.data})
			children[c.Name] = children[c.Name] || c.Kind == Child
		}
		t.tables[tbl.Name] = tc
	}
	fmt.Fprintln(t.w, textMagic)
	for _, tbl := range f.Tables {
		if children[tbl.Name] {
			continue
		}
		for i := range tbl.Rows {
			t.row(t.tables[tbl.Name], i, "")
		}
	}
	if t.err != nil {
		return t.err
	}
	return t.w.Flush()
}

// A tableCursor reads the rows of a table one after another.
type tableCursor struct {
	t       *Table
	next    int // row
	columns []*cursor
}

// A textWriter writes rows. Errors of writing stay in w until its Flush.
type textWriter struct {
	w      *bufio.Writer
	f      *File
	tables map[string]*tableCursor
	err    error
}

// row writes the next row of a table, which is number i of those of its parent.
func (t *textWriter) row(tc *tableCursor, i int, indent string) {
	if tc.next >= tc.t.Rows || t.err != nil {
		t.fail("table %s: %d rows, want more", tc.t.Name, tc.t.Rows)
		return
	}
	fmt.Fprintf(t.w, "%s%s %d", indent, tc.t.Name, i)
	type part struct {
		tc *tableCursor
		n  uint64
	}
	var parts []part
	for _, x := range tc.columns {
		if x.c.Kind == Child {
			if child := t.tables[x.c.Name]; child != nil {
				parts = append(parts, part{child, x.upTo(uint64(child.t.Rows))})
			}
		} else if text := x.text(t.f, tc.next); text != "" {
			fmt.Fprintf(t.w, " %s %s", x.c.Name, text)
		}
		if x.err != nil {
			t.fail("table %s: column %s: row %d: %w", tc.t.Name, x.c.Name, tc.next, x.err)
		}
	}
	tc.next++
	fmt.Fprintln(t.w)
	for _, p := range parts {
		for k := range p.n {
			t.row(p.tc, int(k), indent+"\t")
		}
	}
}

func (t *textWriter) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format, args...)
	}
}

// text reads the next value and returns it as text, "" for 0. row is that which it is of.
func (x *cursor) text(f *File, row int) string {
	limit := x.c.limit(f)
	switch x.c.Kind {
	case List:
		return strings.Join(texts(x.list(limit), func(v uint64) string { return strconv.FormatUint(v, 10) }), ",")
	case Strings:
		return strings.Join(texts(x.list(limit), func(v uint64) string { return strconv.Quote(f.Strings[v]) }), ",")
	case Bytes:
		if b := x.bytes(); len(b) > 0 {
			return strconv.Quote(string(b))
		}
		return ""
	}
	v := x.upTo(limit)
	if v == 0 {
		return ""
	}
	switch x.c.Kind {
	case Hex:
		return fmt.Sprintf("%016x", v)
	case Index:
		return strconv.FormatUint(v-1, 10)
	case Up:
		return strconv.FormatUint(uint64(row)-min(v, uint64(row)), 10)
	case Word:
		return x.c.Words[v]
	case Flags:
		var set []string
		for i, w := range x.c.Words {
			if v&(1<<i) != 0 {
				set = append(set, w)
			}
		}
		return strings.Join(set, ",")
	case Time:
		return time.Unix(0, int64(v)).UTC().Format(time.RFC3339Nano)
	case String:
		return strconv.Quote(f.Strings[v])
	}
	return strconv.FormatUint(v, 10)
}

// texts returns the texts of values.
func texts(list []uint64, text func(uint64) string) (all []string) {
	for _, v := range list {
		all = append(all, text(v))
	}
	return all
}

// maxLine bounds a line of the text form.
const maxLine = 1 << 26

// ParseText reads the text form of tables with the given descriptions, see
// [Schema.Describe]. After each row it calls the table's AfterRow, which may add columns to
// tables that have no rows yet. An error names the line. What it accepts, WriteText writes back, but
// for comments, spacing, zeros and the order of columns.
func ParseText(r io.Reader, tables []*Table) (*File, error) {
	t := newTextReader(tables)
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxLine)
	for sc.Scan() {
		t.lineNo++
		t.rest = strings.TrimSpace(sc.Text())
		if t.rest == "" || t.rest[0] == '#' {
			continue
		}
		if t.line(); t.err != nil {
			return nil, fmt.Errorf("line %d: %w", t.lineNo, t.err)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", t.lineNo+1, err)
	}
	if !t.begun {
		return nil, fmt.Errorf("line 1: not the text form of a profile; want %q", textMagic)
	}
	t.countChildren()
	return t.f, nil
}

// A textTable is a table that is being read.
type textTable struct {
	*Table
	columns  map[string]*Column
	parent   *textTable
	counts   map[string][]uint64 // of children, by row
	children []*Column
}

// A textReader reads one line after another, and in a line one word after another.
type textReader struct {
	f      *File
	known  map[string]uint32 // strings
	tables map[string]*textTable
	lineNo int
	begun  bool // the first line was read
	rest   string
	err    error
}

func newTextReader(tables []*Table) *textReader {
	t := &textReader{f: &File{Strings: []string{""}, Tables: tables}, known: map[string]uint32{"": 0},
		tables: make(map[string]*textTable)}
	for _, tbl := range tables {
		tt := &textTable{Table: tbl, columns: make(map[string]*Column), counts: make(map[string][]uint64)}
		for _, c := range tbl.Columns {
			if c.Kind == Child {
				tt.children = append(tt.children, c)
			}
		}
		t.tables[tbl.Name] = tt
	}
	for _, tt := range t.tables {
		for _, c := range tt.children {
			t.tables[c.Name].parent = tt
		}
	}
	return t
}

// countChildren fills in the columns that count the rows of children.
func (t *textReader) countChildren() {
	for _, tt := range t.tables {
		for _, c := range tt.children {
			for _, n := range tt.counts[c.Name] {
				c.append(n)
			}
		}
	}
}

// fail records the first error and drops the rest of the line.
func (t *textReader) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format, args...)
	}
	t.rest = ""
}

// word returns the next word, "" at the end of the line.
func (t *textReader) word() string {
	w, rest, _ := strings.Cut(t.rest, " ")
	t.rest = strings.TrimLeft(rest, " ")
	return w
}

// line reads one row.
func (t *textReader) line() {
	if !t.begun {
		if t.rest != textMagic {
			t.fail("have %q, want %q", t.rest, textMagic)
		}
		t.begun = true
		return
	}
	name := t.word()
	tt := t.tables[name]
	if tt == nil {
		t.fail("unknown table %q", name)
		return
	}
	want := tt.Rows
	if up := tt.parent; up != nil {
		if up.Rows == 0 {
			t.fail("%q before the first %q", name, up.Name)
			return
		}
		want = int(up.counts[name][up.Rows-1])
		up.counts[name][up.Rows-1]++
	}
	if have := t.word(); have != strconv.Itoa(want) {
		t.fail("%s: have index %q, want %d", name, have, want)
	}
	t.fields(tt)
	if tt.Rows++; t.err == nil && tt.AfterRow != nil {
		t.err = tt.AfterRow(t.f)
	}
	for _, c := range tt.children {
		tt.counts[c.Name] = append(tt.counts[c.Name], 0)
	}
}

// fields reads the values of a row. Those that are not given are 0.
func (t *textReader) fields(tt *textTable) {
	if tt.Rows == 0 { // by now all columns are known
		for _, c := range tt.Columns {
			if c.Kind != Child {
				tt.columns[c.Name] = c
			}
		}
	}
	given := make(map[*Column]bool, len(tt.columns))
	for t.rest != "" {
		name := t.word()
		c := tt.columns[name]
		if c == nil || given[c] {
			t.fail("%s: unknown word %q, or given twice", tt.Name, name)
			return
		}
		given[c] = true
		t.value(c, uint64(tt.Rows))
	}
	for _, c := range tt.Columns {
		if !given[c] && c.Kind != Child {
			c.append(0)
		}
	}
}

// append adds a number to a column.
func (c *Column) append(v uint64) { c.data = binary.AppendUvarint(c.data, v) }

// value reads a value of a column.
func (t *textReader) value(c *Column, row uint64) {
	switch c.Kind {
	case Bytes:
		s := t.quoted()
		c.append(uint64(len(s)))
		c.data = append(c.data, s...)
	case String:
		c.append(t.string())
	case List:
		list := strings.Split(t.word(), ",")
		c.append(uint64(len(list)))
		for _, w := range list {
			c.append(t.number(w, 10, math.MaxUint64))
		}
	case Strings:
		list := []uint64{t.string()}
		for strings.HasPrefix(t.rest, ",") {
			t.rest = t.rest[1:]
			list = append(list, t.string())
		}
		c.append(uint64(len(list)))
		for _, v := range list {
			c.append(v)
		}
	default:
		c.append(t.scalar(c, t.word(), row))
	}
}

// scalar returns the number that a word stands for.
func (t *textReader) scalar(c *Column, w string, row uint64) uint64 {
	switch c.Kind {
	case Hex:
		return t.number(w, 16, math.MaxUint64)
	case Index:
		return t.number(w, 10, math.MaxInt32-1) + 1
	case Up:
		return row - t.number(w, 10, row)
	case Word:
		for i, known := range c.Words {
			if (known == w || known == c.former[w]) && w != "" {
				return uint64(i)
			}
		}
		t.fail("have %q, want one of %q", w, c.Words)
	case Flags:
		return t.flags(c, w)
	case Time:
		v, err := time.Parse(time.RFC3339Nano, w)
		if err != nil || v.Year() < 1970 || v.Year() > 2261 || v.UnixNano() <= 0 {
			t.fail("have %q, want a time from 1970 to 2261", w)
			return 0
		}
		return uint64(v.UnixNano())
	default:
		return t.number(w, 10, math.MaxUint64)
	}
	return 0
}

// flags returns the bits that words with commas between them stand for.
func (t *textReader) flags(c *Column, w string) (bits uint64) {
	for _, name := range strings.Split(w, ",") {
		found := false
		for i, known := range c.Words {
			if known == name {
				bits |= 1 << i
				found = true
			}
		}
		if !found {
			t.fail("unknown flag %q (have %q)", name, c.Words)
		}
	}
	return bits
}

// number reads a number of at most max.
func (t *textReader) number(w string, base int, max uint64) uint64 {
	v, err := strconv.ParseUint(w, base, 64)
	if err != nil || v > max {
		t.fail("have %q, want a number up to %d", w, max)
		return 0
	}
	return v
}

// string reads a quoted string and returns its index.
func (t *textReader) string() uint64 { return uint64(t.f.intern(t.known, t.quoted())) }

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
