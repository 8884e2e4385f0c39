package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/stemma-go/stemma/internal/toolchain"
)

// commas writes n with a comma after each three digits.
func commas(n uint64) string {
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

// plural returns a number that is not negative, for people to read, with the right one of two nouns. The plural
// of most nouns has an s more, and need not be given.
func plural[N counter](n N, one string, many ...string) string {
	return commas(uint64(n)) + " " + noun(n, one, many...)
}

// noun returns the right one of two nouns, or verbs.
func noun[N counter](n N, one string, many ...string) string {
	switch {
	case n == 1:
		return one
	case len(many) > 0:
		return many[0]
	}
	return one + "s"
}

// refuseTerminal returns an error if w is a terminal, which binary data would spoil.
func refuseTerminal(w io.Writer, what string) error {
	if f, ok := w.(*os.File); ok && toolchain.IsTerminal(f) {
		return usageError("%s is binary, and standard output is a terminal; name a file with -o, or redirect standard output", what)
	}
	return nil
}
