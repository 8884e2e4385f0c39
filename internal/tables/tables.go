// Package tables lets the other parts of stemma reach the tables that package profile makes of a
// profile. The public API has files, and does not show what they are made of.
package tables

import (
	"fmt"

	"github.com/stemma-go/stemma/internal/sealed"
)

// A Codec is what profile.Codec returns. It is made when somebody asks: a program that only gives context IDs links
// none of it.
type Codec struct {
	// Of returns the tables of a *profile.Profile, for a record of a kind. It is an error if the profile is not valid.
	Of func(p any, kind Kind) (*sealed.File, error)

	// Tree returns the *profile.Profile of the tables of a record of any kind.
	Tree func(f *sealed.File) (p any, err error)

	// Descriptions returns the tables of a profile, without rows.
	Descriptions func() []*sealed.Table

	// TextRow is what [sealed.ParseText] calls after each row of a profile: a value is a column of the nodes.
	TextRow func(f *sealed.File, t *sealed.Table) error
}

// A Kind is what a record is of.
type Kind uint64

// Kinds of records, as files have them.
const (
	Calls Kind = iota // a calling context tree
	IDs               // what context IDs are decoded with
)

// First is the name of the first table of a file, which has one row: what a look at its beginning tells.
const First = "record"

type firstRow struct {
	kind Kind
	run  uint64 // of a record of one run; 0 else
}

func firstSchema() sealed.Schema[firstRow] {
	return sealed.Schema[firstRow]{
		{Name: "kind", Kind: sealed.Word, Words: []string{"tree", "ids"},
			Get: func(r *firstRow) uint64 { return uint64(r.kind) },
			Set: func(r *firstRow, v uint64) { r.kind = Kind(v) }},
		{Name: "run", Kind: sealed.Hex, Get: func(r *firstRow) uint64 { return r.run },
			Set: func(r *firstRow, v uint64) { r.run = v }},
	}
}

// DescribeFirst returns the first table, without its row.
func DescribeFirst() *sealed.Table { return firstSchema().Describe(First) }

// AddFirst adds the first table. run is that of a record of one run, 0 for others.
func AddFirst(f *sealed.File, kind Kind, run uint64) {
	firstSchema().Add(f, First, []firstRow{{kind, run}})
}

// KindOf returns what kind of record the tables are of, and the run if it is one.
func KindOf(f *sealed.File) (kind Kind, run uint64, err error) {
	rows, err := firstSchema().Rows(f, First)
	if err != nil || len(rows) != 1 {
		return 0, 0, fmt.Errorf("table %s: have %d rows, want 1 (%w)", First, len(rows), err)
	}
	return rows[0].kind, rows[0].run, nil
}
