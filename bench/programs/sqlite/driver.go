package main

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// counts is how often C has called Go.
type counts struct {
	labels, updates, commits, rollbacks, comparisons int
}

// median is an aggregate.
type median struct{ values []int64 }

func (m *median) Step(v int64) { m.values = append(m.values, v) }

func (m *median) Done() int64 {
	slices.Sort(m.values)
	return m.values[len(m.values)/2]
}

// newDriver returns a driver whose connections call back into Go and count
// it in c.
func newDriver(c *counts) *sqlite3.SQLiteDriver {
	return &sqlite3.SQLiteDriver{ConnectHook: func(conn *sqlite3.SQLiteConn) error {
		conn.RegisterUpdateHook(func(int, string, string, int64) { c.updates++ })
		conn.RegisterCommitHook(func() int { c.commits++; return 0 })
		conn.RegisterRollbackHook(func() { c.rollbacks++ })
		return errors.Join(
			conn.RegisterFunc("label", c.label, true),
			conn.RegisterFunc("collatz", collatz, true),
			conn.RegisterFunc("picky", picky, true),
			conn.RegisterFunc("spent", func(city int64) (int64, error) { return spent(conn, city) }, false),
			conn.RegisterAggregator("median", func() *median { return new(median) }, true),
			conn.RegisterCollation("folded", func(a, b string) int {
				c.comparisons++
				return strings.Compare(strings.ToLower(a), strings.ToLower(b))
			}),
		)
	}}
}

// label takes any number of numbers after a text.
func (c *counts) label(text string, numbers ...int64) string {
	c.labels++
	return fmt.Sprint(strings.ToUpper(text), len(numbers), numbers)
}

// collatz returns how many steps take n to 1.
func collatz(n int64) int64 {
	if n <= 1 {
		return 0
	}
	if n%2 == 0 {
		return 1 + collatz(n/2)
	}
	return 1 + collatz(3*n+1)
}

func picky(n int64) (int64, error) {
	if n == 1234 {
		return 0, errors.New("not this one")
	}
	return n, nil
}

// spent runs a query on the connection that is just running the one which
// called it.
func spent(conn *sqlite3.SQLiteConn, city int64) (int64, error) {
	rows, err := conn.Query("select cents, collatz(cents) from purchase where customer in (select id from customer where city = ?)",
		[]driver.Value{city})
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	total, row := int64(0), make([]driver.Value, 2)
	for {
		err := rows.Next(row)
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return 0, err
		}
		total += row[0].(int64) * row[1].(int64)
	}
}
