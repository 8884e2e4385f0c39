// Command modules writes a list that it asks a database for. It knows nothing of metrics: io.module counts the bytes
// that it writes, and the statements that it sends, in package os and package database/sql.
//
//	stemma run -module examples/modules/io.module ./examples/modules
//	stemma report -metric=bytes_written -contexts
//	stemma report -metric=sql_statements -contexts
package main

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
)

// names asks for each name alone, and all for all of them at once.
func names(db *sql.DB, ids ...string) {
	for _, id := range ids {
		var name string
		if err := db.QueryRow("name " + id).Scan(&name); err != nil {
			log.Fatal(err)
		}
		fmt.Fprintln(os.Stdout, id, name)
	}
}

func all(db *sql.DB) {
	var names string
	if err := db.QueryRow("names").Scan(&names); err != nil {
		log.Fatal(err)
	}
	os.Stdout.WriteString(names + "\n")
}

func main() {
	sql.Register("people", people{"ada": "Lovelace", "alan": "Turing", "grace": "Hopper"})
	db, err := sql.Open("people", "")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	names(db, "ada", "alan", "grace")
	all(db)
}

// People stands for a database. It is a driver, a connection to it, and a statement.
type people map[string]string

func (p people) Open(string) (driver.Conn, error)          { return p, nil }
func (p people) Prepare(query string) (driver.Stmt, error) { return statement{p, query}, nil }
func (p people) Begin() (driver.Tx, error)                 { return nil, driver.ErrSkip }
func (p people) Close() error                              { return nil }

type statement struct {
	people
	query string
}

func (s statement) NumInput() int                              { return 0 }
func (s statement) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }

func (s statement) Query([]driver.Value) (driver.Rows, error) {
	if _, id, ok := strings.Cut(s.query, " "); ok {
		return &rows{[]string{s.people[id]}}, nil
	}
	return &rows{[]string{"Lovelace, Turing, Hopper"}}, nil
}

// Rows are those of one column that are left.
type rows struct{ left []string }

func (r *rows) Columns() []string { return []string{"name"} }
func (r *rows) Close() error      { return nil }

func (r *rows) Next(dest []driver.Value) error {
	if len(r.left) == 0 {
		return io.EOF
	}
	dest[0], r.left = r.left[0], r.left[1:]
	return nil
}
