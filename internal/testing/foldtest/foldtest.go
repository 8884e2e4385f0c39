// Package foldtest has paths of calls.
//
// It also has what folding leaves of them: the rule of package fold on texts. A path is a text with a letter for each
// call, outermost first. F and G are ordinary functions, a, b and c adapters, v and w wrappers, and ! is no function: a
// fault.
package foldtest

import (
	"iter"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
)

// Kind returns what a letter stands for.
func Kind(c byte) fold.Kind {
	switch c {
	case 'F', 'G':
		return fold.Ordinary
	case 'a', 'b', 'c':
		return fold.Adapter
	case 'v', 'w':
		return fold.Wrapper
	}
	return fold.None
}

// Paths yields all paths of up to n calls that have these letters.
func Paths(letters string, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for paths := []string{""}; n > 0; n-- {
			var longer []string
			for _, path := range paths {
				for _, c := range letters {
					longer = append(longer, path+string(c))
					if !yield(path + string(c)) {
						return
					}
				}
			}
			paths = longer
		}
	}
}

// Folded returns a path after each call that leads back has cut it.
func Folded(path string) (folded string) {
	for i := range len(path) {
		folded = folded[:Home(folded, path[i])] + path[i:i+1]
	}
	return folded
}

// Home returns where in a path, which has been folded, a call leads: to its end unless it leads back.
func Home(path string, call byte) int { return HomeOf([]byte(path), call, Kind) }

// HomeOf is Home for paths of anything.
func HomeOf[F comparable](path []F, call F, kindOf func(F) fold.Kind) int {
	kind := kindOf(call)
	home := len(path) - 1
	for home >= 0 && path[home] != call {
		home--
	}
	if home < 0 || kind == fold.None {
		return len(path)
	}
	for i, at := range path[home+1:] {
		first := !slices.Contains(path[:home+1+i], at)
		switch k := kindOf(at); {
		case kind == fold.Ordinary:
		case k == fold.Ordinary, k == fold.Adapter && (first || kind == fold.Wrapper):
			return len(path)
		}
	}
	return home
}

// Shown returns a path without what contexts do not show.
func Shown(path string) string {
	return strings.Map(func(r rune) rune {
		if k := Kind(byte(r)); k == fold.Wrapper || k == fold.None {
			return -1
		}
		return r
	}, path)
}
