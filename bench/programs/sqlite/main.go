// Sqlite runs SQL in memory with mattn/go-sqlite3: calls from Go to C, from C
// back to Go in functions, aggregates, collations and hooks, and from there
// once more into C.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"sync"
)

func main() {
	n := flag.Int("n", 6, "databases")
	rows := flag.Int("rows", 12000, "rows of each database")
	workers := flag.Int("workers", 2, "databases in use at once")
	flag.Parse()
	results, errs := make([]string, *n), make([]error, *n)
	work := make(chan int)
	var wg sync.WaitGroup
	for range *workers {
		wg.Go(func() {
			for i := range work {
				results[i], errs[i] = shop(i, *rows)
			}
		})
	}
	for i := range *n {
		work <- i
	}
	close(work)
	wg.Wait()
	sum := sha256.New()
	for i, r := range results {
		if errs[i] != nil {
			fmt.Fprintf(os.Stderr, "sqlite: database %d: %v\n", i, errs[i])
			os.Exit(1)
		}
		sum.Write([]byte(r))
	}
	fmt.Printf("checksum sqlite %x\n", sum.Sum(nil)[:12])
}
