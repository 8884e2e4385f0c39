package sealed

import "fmt"

// Content is what the tables of a file are of.
type Content uint64

// The contents, as files have them.
const (
	Tree Content = iota // a calling context tree
	IDs                 // what context IDs are decoded with
)

// First is the name of the first table of a file, which has one row: what a look at its beginning tells.
const First = "record"

type firstRow struct {
	content Content
	run     uint64 // of a record of one run; 0 else
}

func firstSchema() Schema[firstRow] {
	return Schema[firstRow]{
		{Name: "kind", Kind: Word, Words: []string{"tree", "ids"},
			Get: func(r *firstRow) uint64 { return uint64(r.content) },
			Set: func(r *firstRow, v uint64) { r.content = Content(v) }},
		{Name: "run", Kind: Hex, Get: func(r *firstRow) uint64 { return r.run },
			Set: func(r *firstRow, v uint64) { r.run = v }},
	}
}

// DescribeFirst returns the first table, without its row.
func DescribeFirst() *Table { return firstSchema().Describe(First) }

// AddFirst adds the first table. run is that of a record of one run, 0 for others.
func AddFirst(f *File, content Content, run uint64) {
	firstSchema().Add(f, First, []firstRow{{content, run}})
}

// ContentOf returns what the tables are of, and the run if it is one.
func ContentOf(f *File) (content Content, run uint64, err error) {
	rows, err := firstSchema().Rows(f, First)
	if err != nil || len(rows) != 1 {
		return 0, 0, fmt.Errorf("table %s: have %d rows, want 1 (%w)", First, len(rows), err)
	}
	return rows[0].content, rows[0].run, nil
}

// A Handle is a file that a public package can pass on without showing what it is: a type of its own with this one
// below it.
type Handle struct{ file *File }

// NewHandle returns a handle of f.
func NewHandle(f *File) *Handle { return &Handle{f} }

// File returns the file.
func (h *Handle) File() *File { return h.file }
