// Package level says how long tests may take. With -more they do what there is no time for while one works, with -full
// they take the minutes in which they find what happens seldom.
package level

import (
	"flag"
	"testing"
)

var (
	more = flag.Bool("more", false, "run also what there is no time for while one works: engines, programs, rounds")
	full = flag.Bool("full", false, "as -more, and take the minutes that a test needs to find what happens seldom")
)

// More reports whether tests may take longer than people like to wait. Who names tests wants those.
func More() bool { return *more || *full || flag.Lookup("test.run").Value.String() != "" }

// NeedMore skips tests that people do not wait for while they work.
func NeedMore(t *testing.T) {
	t.Helper()
	if !More() {
		t.Skip("takes a while; run with -more, or name it with -run")
	}
}

// Full reports whether tests may take minutes.
func Full() bool { return *full }

// NeedFull skips tests for which the standard library is built once more, or that run long.
func NeedFull(t *testing.T) {
	t.Helper()
	if !*full {
		t.Skip("takes minutes, or has the standard library built once more; run with -full")
	}
}

// Rounds returns how often a test does something at random: a few times, with -more all.
func Rounds[N int | uint64](few, all N) N {
	if More() {
		return all
	}
	return few
}
