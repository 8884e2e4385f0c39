package e2e

import (
	"slices"
	"testing"
)

// TestLibrary tells builds apart by the standard library that they need.
func TestLibrary(t *testing.T) {
	for _, test := range []struct {
		flags []string
		known bool
	}{
		{nil, true},
		{[]string{"-o", "x", "-engine=sample"}, true}, // it ends at x
		{[]string{"-recursion=full", "-nodes=5", "-labels=a", "-race"}, true},
		{[]string{"-engine=sample", "-every=20us", "-walk=marker", "-start=off"}, false},
		{[]string{"-engine=pcce", "-verify"}, true}, // as dacce
		{[]string{"-engine=dacce", "-verify", "-events=go,panic", "-event-log"}, true},
		{[]string{"-engine=dacce", "-events=alloc"}, false},
		{[]string{"-engine=lucce"}, false},
		{[]string{"-record=calls"}, false},
		{[]string{"-inlined=off"}, false},
		{[]string{"-metrics=calls,wait"}, false},
		{[]string{"-metrics=calls,alloc,wait,ops,cpu"}, false},
		{[]string{"-metrics=calls,alloc,wait,ops", "-verify"}, false},
	} {
		l := library(test.flags...)
		if have := slices.Contains(libraries, l); have != test.known {
			t.Errorf("%q: %s is among the libraries: %t, want %t", test.flags, l, have, test.known)
		}
	}
}

// TestCovers tries each case of both lists at least once, and few pairs.
func TestCovers(t *testing.T) {
	for n := range 7 {
		for m := range 7 {
			rows, columns, pairs := map[int]bool{}, map[int]bool{}, 0
			for i := range n {
				for j := range m {
					if Covers(i, n, j, m) {
						rows[i], columns[j] = true, true
						pairs++
					}
				}
			}
			if n*m > 0 && (len(rows) != n || len(columns) != m || pairs != max(n, m)) && !Full() {
				t.Errorf("%d and %d: %d pairs of %d and %d cases", n, m, pairs, len(rows), len(columns))
			}
		}
	}
}

// TestShareable adds metrics to flags that name one for which the library is compiled once more, unless all
// combinations are tried.
func TestShareable(t *testing.T) {
	for _, test := range []struct {
		flag string
		full bool
		want string
	}{
		{"-metrics=calls,alloc", false, "-metrics=calls,alloc,wait,ops"},
		{"-metrics=calls,inuse", false, "-metrics=calls,inuse,alloc,wait,ops"},
		{"-metrics=calls,wait,cpu", false, "-metrics=calls,wait,cpu,alloc,ops"},
		{"-metrics=calls,alloc", true, "-metrics=calls,alloc"},
		{"-metrics=calls,cpu", false, "-metrics=calls,cpu,alloc,wait,ops"},
		{"-metrics=calls,cpu", true, "-metrics=calls,cpu"},
		{"-metrics=calls", false, "-metrics=calls"},
		{"-engine=cct", false, "-engine=cct"},
	} {
		given := []string{"-x", test.flag}
		if have := shareable(given, test.full); have[1] != test.want || given[1] != test.flag || have[0] != "-x" {
			t.Errorf("%s, full %t: have %q, want %s", test.flag, test.full, have, test.want)
		}
	}
}
