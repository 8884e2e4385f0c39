package main

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
)

const schema = `
create table customer(id integer primary key, name text collate folded, city integer);
create table purchase(id integer primary key, customer integer references customer, cents integer, note text);
create index by_city on customer(city);
create index by_name on customer(name);
create index by_customer on purchase(customer);`

var queries = []string{
	"select customer, median(cents), count(*) from purchase group by customer order by customer limit 400",
	"select id, label(name, city, id % 3) from customer where city < 20",
	"select label(note) from purchase where id % 5 = 0",
	"select name, id from customer order by name collate folded desc, id limit 700",
	"select city, spent(city) from customer group by city",
	"select count(*) from purchase a join purchase b using (customer) where collatz(a.cents) > collatz(b.cents) and a.id < 900",
	"select picky(id) from customer", // fails half-way
	"with recursive k(i) as (select 1 union all select i + 1 from k where i < 3000) select sum(collatz(i)) from k",
	"select group_concat(name, '/') from (select name from customer order by name, id limit 50)",
}

// shop fills database i, queries and changes it, and returns all results.
func shop(i, rows int) (string, error) {
	calls := new(counts)
	name := fmt.Sprintf("shop%d", i)
	sql.Register(name, newDriver(calls))
	db, err := sql.Open(name, ":memory:")
	if err != nil {
		return "", err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection has a database of its own
	if _, err := db.Exec(schema); err != nil {
		return "", err
	}
	if err := fill(db, rand.New(rand.NewPCG(uint64(i), 1)), rows); err != nil {
		return "", err
	}
	var out strings.Builder
	for _, q := range queries {
		// An error is a result like any other: picky makes one.
		k, err := rowsOf(db, q, &out)
		fmt.Fprintln(&out, k, err)
	}
	if err := change(db); err != nil {
		return "", err
	}
	if _, err := rowsOf(db, "select count(*), sum(cents), min(note), max(note) from purchase", &out); err != nil {
		return "", err
	}
	fmt.Fprintln(&out, *calls)
	return out.String(), nil
}

func fill(db *sql.DB, rng *rand.Rand, rows int) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	// After Commit this does nothing.
	defer tx.Rollback()
	customer, err := tx.Prepare("insert into customer(name, city) values (?, ?)")
	if err != nil {
		return err
	}
	purchase, err := tx.Prepare("insert into purchase(customer, cents, note) values (?, ?, ?)")
	if err != nil {
		return err
	}
	for k := range rows {
		if k%6 == 0 {
			if _, err := customer.Exec(fmt.Sprintf("Name%05d", rng.IntN(20000)), rng.IntN(60)); err != nil {
				return err
			}
		}
		if _, err := purchase.Exec(1+rng.IntN(k/6+1), 1+rng.IntN(5000), strings.Repeat("n", k%30)); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// rowsOf writes the rows that a query has, and returns their number.
func rowsOf(db *sql.DB, query string, out *strings.Builder) (n int, err error) {
	rows, err := db.Query(query)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for ; rows.Next(); n++ {
		if err := rows.Scan(targets...); err != nil {
			return n, err
		}
		fmt.Fprintln(out, values...)
	}
	return n, rows.Err()
}

// change updates and deletes rows, which the update hook sees, and takes some
// of it back.
func change(db *sql.DB) error {
	for _, q := range []string{
		"update purchase set cents = cents + 7 where id % 3 = 0",
		"delete from purchase where note = ''",
		"begin; update customer set city = -1; rollback",
		"update customer set name = lower(name) where city > 30",
	} {
		if _, err := db.Exec(q); err != nil {
			return err
		}
	}
	return nil
}
