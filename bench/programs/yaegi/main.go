// Yaegi interprets Go programs: a tree of closures, reflection at each call,
// panics that cross interpreted frames, and calls from the host into the
// interpreted program and back.
package main

import (
	"crypto/sha256"
	_ "embed"
	"flag"
	"fmt"
	"hash"
	"io"
	"os"
	"reflect"

	"github.com/traefik/yaegi/interp"
	"github.com/traefik/yaegi/stdlib"
)

// The program has another extension than .go, so that the go command does not
// take it for a part of this one.
//
//go:embed guest.go.txt
var guest string

func main() {
	n := flag.Int("n", 10, "interpreters, one after another")
	size := flag.Int("size", 30, "size of the problems")
	flag.Parse()
	sum := sha256.New()
	for i := range *n {
		if err := interpret(sum, *size+i%3); err != nil {
			fmt.Fprintln(os.Stderr, "yaegi:", err)
			os.Exit(1)
		}
	}
	fmt.Printf("checksum yaegi %x\n", sum.Sum(nil)[:12])
}

// interpret runs the guest's Main and adds what it returns and what it passes
// to the host to sum.
func interpret(sum hash.Hash, size int) error {
	// Yaegi reports each panic there, also those that are recovered.
	in := interp.New(interp.Options{Stdout: sum, Stderr: io.Discard})
	if err := in.Use(stdlib.Symbols); err != nil {
		return err
	}
	if err := in.Use(host(sum)); err != nil {
		return err
	}
	if _, err := in.Eval(guest); err != nil {
		return err
	}
	v, err := in.Eval("guest.Main")
	if err != nil {
		return err
	}
	results := v.Call([]reflect.Value{reflect.ValueOf(size)})
	fmt.Fprintln(sum, results[0].Interface())
	return nil
}

// host returns the package host of the guest.
func host(sum hash.Hash) interp.Exports {
	return interp.Exports{"host/host": {
		"Each": reflect.ValueOf(func(n int, f func(int) (int, error)) (total int, failed int) {
			for i := range n {
				v, err := f(i)
				if err != nil {
					failed++
				}
				total += v
			}
			return total, failed
		}),
		"Emit": reflect.ValueOf(func(v ...any) { fmt.Fprintln(sum, v...) }),
	}}
}
