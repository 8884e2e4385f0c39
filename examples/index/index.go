// Package index finds words in a sorted list. Its test asserts how many comparisons a search makes.
//
//	stemma test ./examples/index
package index

import "sort"

// An Index has words, in order.
type Index struct{ words []string }

// New returns an index of words.
func New(words []string) *Index {
	x := &Index{words: append([]string(nil), words...)}
	sort.Strings(x.words)
	return x
}

// Has reports whether the index has a word.
func (x *Index) Has(word string) bool {
	lo, hi := 0, len(x.words)
	for lo < hi {
		middle := (lo + hi) / 2
		if less(x.words[middle], word) {
			lo = middle + 1
		} else {
			hi = middle
		}
	}
	return lo < len(x.words) && x.words[lo] == word
}

// less is a function of its own, so that the comparisons are calls.
func less(a, b string) bool { return a < b }
