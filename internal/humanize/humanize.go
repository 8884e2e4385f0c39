// Package humanize writes numbers, amounts and names for people to read.
package humanize

import "fmt"

// Commas writes n with a comma after each three digits.
func Commas(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// A counter is what numbers of things come as.
type counter interface {
	int | int64 | uint32 | uint64
}

// Plural returns a number that is not negative, for people to read, with the right one of two nouns. The plural
// of most nouns has an s more, and need not be given.
func Plural[N counter](n N, one string, many ...string) string {
	return Commas(uint64(n)) + " " + Noun(n, one, many...)
}

// Noun returns the right one of two nouns, or verbs.
func Noun[N counter](n N, one string, many ...string) string {
	switch {
	case n == 1:
		return one
	case len(many) > 0:
		return many[0]
	}
	return one + "s"
}
