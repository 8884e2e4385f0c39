// Package sealed keeps records as described tables, in a binary file and as text.
//
// # Terminology
//
// A [File] is a list of tables, and the strings that they refer to. A [Table] has a
// name, rows, and columns that have names and kinds; so a reader can skip the tables
// and columns that it does not know, and show all of them as text. A [Schema] says
// what the columns of a table are in a Go type.
//
// All values are numbers: a string is an index into the strings of the file, a word
// one into the words of its column. A table may be the child of another one: the
// parent has a column, with the child's name, that counts the child's rows.
package sealed

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"
)

// A Kind is what the values of a column are.
type Kind uint8

// The kinds. FORMAT.md lists them as well; numbers are never used again.
const (
	Number  Kind = iota // a number
	Hex                 // a number that is shown in hexadecimal: an address, a run number
	Index               // a number plus 1; 0 for none
	Up                  // how many rows before its own the row lies that it names; in Go the index of that row
	Word                // an index into the words of the column
	Flags               // bits, from the lowest on named by the words of the column
	Time                // nanoseconds since 1970; 0 if not known
	String              // an index into the strings of the file
	List                // how many, then as many numbers
	Strings             // how many, then as many indexes into the strings of the file
	Bytes               // how many, then as many bytes
	Child               // how many rows of the table with the column's name belong to this one
	numKinds
)

// NanoUnix returns the value of a column of kind [Time]: 0 for a time that is not known or not after the year 1970
// began.
func NanoUnix(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(max(t.UnixNano(), 0))
}

// UnixNano returns the time that a column of kind [Time] has as v, the zero time for what is none: 0, and what is too
// large.
func UnixNano(v uint64) time.Time {
	if v == 0 || v > math.MaxInt64 {
		return time.Time{}
	}
	return time.Unix(0, int64(v)).UTC()
}

// A File is a list of tables.
type File struct {
	Strings []string // [0] is ""
	Tables  []*Table
}

// A Table is a list of rows, column by column.
type Table struct {
	Name    string
	Rows    int
	Columns []*Column

	// AfterRow, if it is not nil, is called by [ParseText] after each row that it has read.
	AfterRow func(f *File) error
}

// A Column is one value of each row.
type Column struct {
	Name  string
	Kind  Kind
	Words []string // of kinds Word and Flags

	former map[string]string // words of the text form that have another name now
	data   []byte            // varints, and what they count
}

// Table returns the table of a name, an empty one if there is none.
func (f *File) Table(name string) *Table {
	for _, t := range f.Tables {
		if t.Name == name {
			return t
		}
	}
	return &Table{Name: name}
}

// Size returns how many bytes the values take.
func (t *Table) Size() (n int) {
	for _, c := range t.Columns {
		n += len(c.data)
	}
	return n
}

// column returns the column of a name, nil if there is none.
func (t *Table) column(name string) *Column {
	for _, c := range t.Columns {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// intern returns the index of s, and adds it if it is new.
func (f *File) intern(known map[string]uint32, s string) uint32 {
	i, ok := known[s]
	if !ok {
		i = uint32(len(f.Strings))
		known[s] = i
		f.Strings = append(f.Strings, s)
	}
	return i
}

// An Interner gives strings their indexes in a file.
type Interner struct {
	f     *File
	known map[string]uint32
}

// Interner returns an interner of the strings of f.
func (f *File) Interner() *Interner {
	x := &Interner{f, make(map[string]uint32, len(f.Strings))}
	for i, s := range f.Strings {
		if _, ok := x.known[s]; !ok {
			x.known[s] = uint32(i)
		}
	}
	return x
}

// Index returns the index of a string, which it adds if it is new.
func (x *Interner) Index(s string) uint64 { return uint64(x.f.intern(x.known, s)) }

// At returns a string by its index; reading has checked that it is one.
func (x *Interner) At(i uint64) string { return x.f.Strings[i] }

// A Field is a column of a table of T.
type Field[T any] struct {
	Name  string
	Kind  Kind
	Words []string
	Max   uint64 // of the value; 0 for none that the kind does not have

	// Former has words that the text form had before, each with the one that it has now.
	Former map[string]string

	Get func(*T) uint64 // of all kinds but List, Strings and Bytes
	Set func(*T, uint64)

	Numbers    func(*T) []uint64 // of List and Strings
	SetNumbers func(*T, []uint64)
	Bytes      func(*T) []byte // of Bytes
	SetBytes   func(*T, []byte)
}

// A Schema is the columns of a table of T.
type Schema[T any] []Field[T]

// Describe returns an empty table with the columns of the schema.
func (s Schema[T]) Describe(name string) *Table {
	t := &Table{Name: name}
	for _, f := range s {
		t.Columns = append(t.Columns, &Column{Name: f.Name, Kind: f.Kind, Words: f.Words, former: f.Former})
	}
	return t
}

// Add appends a table of rows to f.
func (s Schema[T]) Add(f *File, name string, rows []T) {
	t := s.Describe(name)
	t.Rows = len(rows)
	for k := range s {
		t.Columns[k].data = s[k].encode(rows)
	}
	f.Tables = append(f.Tables, t)
}

// encode returns the values of a column.
func (f *Field[T]) encode(rows []T) []byte {
	e := Encoder(make([]byte, 0, len(rows)))
	for i := range rows {
		switch r := &rows[i]; f.Kind {
		case Up:
			e.Uint(uint64(i) - f.Get(r))
		case List, Strings:
			list := f.Numbers(r)
			e.Uint(uint64(len(list)))
			for _, v := range list {
				e.Uint(v)
			}
		case Bytes:
			e.Bytes(f.Bytes(r))
		default:
			e.Uint(f.Get(r))
		}
	}
	return e
}

// AddNumbers adds a column with a number for each row.
func (t *Table) AddNumbers(name string, values []uint64) {
	e := Encoder(make([]byte, 0, len(values)))
	for _, v := range values {
		e.Uint(v)
	}
	t.Columns = append(t.Columns, &Column{Name: name, data: e})
}

// AddColumn adds a column of a kind, with values as a file has them.
func (t *Table) AddColumn(name string, kind Kind, data []byte) {
	t.Columns = append(t.Columns, &Column{Name: name, Kind: kind, data: data})
}

// AddLists adds a column with some numbers for each row.
func (t *Table) AddLists(name string, list func(row int) []uint64) {
	e := Encoder(make([]byte, 0, 2*t.Rows))
	for i := range t.Rows {
		values := list(i)
		e.Uint(uint64(len(values)))
		for _, v := range values {
			e.Uint(v)
		}
	}
	t.Columns = append(t.Columns, &Column{Name: name, Kind: List, data: e})
}

// Numbers returns a column with a number for each row.
func (t *Table) Numbers(name string) ([]uint64, error) {
	var values []uint64
	err := t.each(name, Number, func(i int, x *cursor) {
		if i == 0 {
			values = make([]uint64, t.Rows)
		}
		values[i] = x.upTo(math.MaxUint64)
	})
	return values, err
}

// Lists returns a column with some numbers for each row, one row's behind the other's. size
// returns how many there must be.
func (t *Table) Lists(name string, size func(row int) int) ([]uint64, error) {
	all := 0
	for i := range t.Rows {
		all += size(i)
	}
	var values []uint64
	err := t.each(name, List, func(i int, x *cursor) {
		if i == 0 && all <= len(x.d) { // each takes a byte
			values = make([]uint64, 0, all)
		}
		n := x.upTo(uint64(len(x.d)))
		if n != uint64(size(i)) {
			x.fail("%d numbers, want %d", n, size(i))
			return
		}
		for range n {
			values = append(values, x.upTo(math.MaxUint64))
		}
	})
	return values, err
}

// each calls visit for each value of a column.
func (t *Table) each(name string, kind Kind, visit func(row int, x *cursor)) error {
	if t.Rows == 0 {
		return nil
	}
	c := t.column(name)
	if c == nil {
		return fmt.Errorf("table %s: no column %s", t.Name, name)
	}
	if c.Kind != kind {
		return fmt.Errorf("table %s: column %s: kind %d, want %d", t.Name, name, c.Kind, kind)
	}
	x := &cursor{c: c, d: c.data}
	for i := range t.Rows {
		if visit(i, x); x.err != nil {
			return fmt.Errorf("table %s: column %s: row %d: %w", t.Name, name, i, x.err)
		}
	}
	if len(x.d) > 0 {
		return fmt.Errorf("table %s: column %s: %d bytes too many", t.Name, name, len(x.d))
	}
	return nil
}

// Rows returns the rows of table name of f. An error names table, column and row. All
// columns must be there: with bytes for each, what rows take is in proportion to the file.
func (s Schema[T]) Rows(f *File, name string) ([]T, error) {
	t := f.Table(name)
	if t.Rows == 0 {
		return nil, nil
	}
	if err := t.checkRows(); err != nil {
		return nil, err
	}
	columns := make([]*Column, len(s))
	for k := range s {
		c := t.column(s[k].Name)
		if c == nil || c.Kind != s[k].Kind {
			return nil, fmt.Errorf("table %s: no column %s of kind %d; use the stemma that wrote the file", name,
				s[k].Name, s[k].Kind)
		}
		columns[k] = c
	}
	rows := make([]T, t.Rows)
	for k, c := range columns {
		if err := s[k].decode(f, c, rows); err != nil {
			return nil, fmt.Errorf("table %s: column %s: %w", name, c.Name, err)
		}
	}
	return rows, nil
}

// checkRows bounds the rows by the bytes that there are: each value takes one.
func (t *Table) checkRows() error {
	if t.Rows > 0 && len(t.Columns) == 0 {
		return fmt.Errorf("table %s: %d rows without a column", t.Name, t.Rows)
	}
	for _, c := range t.Columns {
		if c.Kind < numKinds && t.Rows > len(c.data) {
			return fmt.Errorf("table %s: column %s: %d bytes for %d rows", t.Name, c.Name, len(c.data), t.Rows)
		}
	}
	return nil
}

// decode sets a field of all rows.
func (f *Field[T]) decode(file *File, c *Column, rows []T) error {
	x := cursor{c: c, d: c.data}
	limit := f.Max
	if limit == 0 {
		limit = math.MaxUint64
	}
	limit = min(limit, c.limit(file))
	for i := range rows {
		switch r := &rows[i]; f.Kind {
		case Up:
			f.Set(r, uint64(i)-x.upTo(uint64(i)))
		case List, Strings:
			f.SetNumbers(r, x.list(limit))
		case Bytes:
			f.SetBytes(r, x.bytes())
		default:
			f.Set(r, x.upTo(limit))
		}
		if x.err != nil {
			return fmt.Errorf("row %d: %w", i, x.err)
		}
	}
	if len(x.d) > 0 {
		return fmt.Errorf("%d bytes too many behind %d rows", len(x.d), len(rows))
	}
	return nil
}

// limit returns the largest value that a column may have.
func (c *Column) limit(f *File) uint64 {
	switch c.Kind {
	case Index:
		return 1<<31 - 1
	case Word:
		return uint64(len(c.Words)) - 1
	case Flags:
		return 1<<len(c.Words) - 1
	case Time:
		return 1<<63 - 1
	case String, Strings:
		return uint64(len(f.Strings)) - 1
	}
	return math.MaxUint64
}

// A cursor reads the values of a column one after another.
type cursor struct {
	c   *Column
	d   []byte
	err error
}

func (x *cursor) fail(format string, args ...any) {
	if x.err == nil {
		x.err = fmt.Errorf(format, args...)
	}
	x.d = nil
}

// upTo reads a number that is at most max. After an error it is 0.
func (x *cursor) upTo(max uint64) uint64 {
	v, n := binary.Uvarint(x.d)
	if n <= 0 {
		x.fail("cut off in a number")
		return 0
	}
	x.d = x.d[n:]
	if v > max {
		x.fail("have %d, want at most %d", v, max)
		return 0
	}
	return v
}

// list reads numbers that are at most max. There are no more of them than bytes.
func (x *cursor) list(max uint64) []uint64 {
	n := x.upTo(uint64(len(x.d)))
	if n == 0 {
		return nil
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = x.upTo(max)
	}
	return list
}

// bytes reads bytes, which alias the column.
func (x *cursor) bytes() []byte {
	n := int(x.upTo(uint64(len(x.d))))
	if n > len(x.d) {
		x.fail("%d bytes, but %d follow", n, len(x.d))
		return nil
	}
	b := x.d[:n:n]
	x.d = x.d[n:]
	return b
}

// Split returns the parts of rows that belong to each row of a parent, which counts them.
// It is an error if they are not all counted.
func Split[T any](rows []T, counts []int) ([][]T, error) {
	parts := make([][]T, len(counts))
	for i, n := range counts {
		if n > len(rows) {
			return nil, fmt.Errorf("row %d has %d rows of its own, but %d are left", i, n, len(rows))
		}
		parts[i], rows = slices.Clip(rows[:n]), rows[n:]
	}
	if len(rows) > 0 {
		return nil, fmt.Errorf("%d rows that belong to none", len(rows))
	}
	return parts, nil
}
