// Command metrics adds to two metrics of its own: the bytes that it writes, and the statements that it sends to a
// database. The record has the sums of each context.
//
//	stemma run ./examples/metrics
//	stemma report -metric=written -contexts
//	stemma report -metric=statements -contexts
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/stemma-go/stemma"
)

var (
	written    = stemma.NewMetric("written", "bytes")
	statements = stemma.NewMetric("statements", "statements")
)

// A counted writer counts what it writes in the context that asks it to write.
type counted struct{ to io.Writer }

func (w counted) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	written.Add(int64(n))
	return n, err
}

// A database stands for a *sql.DB: Query is the place where all statements pass.
type database map[string]string

func (db database) Query(statement string) string {
	statements.Add(1)
	return db[strings.Fields(statement)[1]]
}

// list asks for the names one by one, and all for all of them at once.
func list(db database, w io.Writer, names []string) {
	for _, name := range names {
		fmt.Fprintln(w, name, db.Query("name "+name))
	}
}

func all(db database, w io.Writer) { fmt.Fprintln(w, db.Query("name *")) }

func main() {
	db := database{"ada": "Lovelace", "alan": "Turing", "grace": "Hopper", "*": "Hopper, Lovelace, Turing"}
	out := counted{os.Stdout}
	list(db, out, []string{"ada", "alan", "grace"})
	all(db, out)
}
