package fold_test

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
	"github.com/stemma-go/stemma/internal/testing/foldtest"
)

// letters is a path of package foldtest, which ends at its last place.
type letters string

func (l letters) Func(n uint32) byte              { return l[n] }
func (l letters) Kind(n uint32) fold.Kind         { return foldtest.Kind(l[n]) }
func (l letters) Up(n uint32) (up uint32, _ bool) { return n - 1, n > 0 }

// folded folds a path as Home says.
func folded(path string) string {
	p := path[:1]
	for i := 1; i < len(path); i++ {
		c := path[i]
		if kind := foldtest.Kind(c); kind != fold.None {
			if home, ok := fold.Home(letters(p), uint32(len(p)-1), c, kind); ok {
				p = p[:home]
			}
		}
		p += string(c)
	}
	return p
}

// TestHome folds all short paths, and compares them with the rule on texts. Contexts are what they would be without
// wrappers, and no path is longer than the comment of Home says.
func TestHome(t *testing.T) {
	for path := range foldtest.Paths("FGabw!", 6) {
		have := folded(path)
		if want := foldtest.Folded(path); have != want {
			t.Fatalf("%s: have %s, want %s", path, have, want)
		}
		if have, want := foldtest.Shown(have), foldtest.Folded(foldtest.Shown(path)); have != want {
			t.Fatalf("%s: contexts show %s, without wrappers %s", path, have, want)
		}
	}
}

// TestBound goes on with what makes a path longest, of an ordinary function, two adapters and a wrapper.
func TestBound(t *testing.T) {
	const functions, adapters = 3, 2
	longest := map[string]bool{"": true}
	for len(longest) > 0 {
		longer := map[string]bool{}
		for path := range longest {
			for _, c := range "Fabw" {
				if foldtest.Home(path, byte(c)) < len(path) {
					continue // leads back
				}
				longer[path+string(c)] = true
			}
		}
		for path := range longer {
			shown, wrappers := len(foldtest.Shown(path)), strings.Count(path, "w")
			if most := functions * (adapters + 1); shown > most || wrappers > shown+1 {
				t.Fatalf("%s: %d places that contexts show, want at most %d; and %d wrappers", path, shown,
					most, wrappers)
			}
		}
		longest = longer
	}
}

// TestMiddlewares has what the rule is for: each of several middlewares in its place.
func TestMiddlewares(t *testing.T) {
	for path, want := range map[string]string{
		"FaFaFaG":   "FaG",     // recursion of F through an adapter
		"FaaaG":     "FaG",     // recursion of an adapter
		"FabacaG":   "FabacaG", // three middlewares that only pass calls on, a between them
		"FabaGacaF": "F",       // recursion of F through all that
		"FababacaG": "FabacaG",
		"FwawawG":   "FwawG",
	} {
		if have := folded(path); have != want {
			t.Errorf("%s: have %s, want %s", path, have, want)
		}
	}
}
