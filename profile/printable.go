package profile

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Printable returns s with escapes, as in Go source, for everything that is neither
// printable nor a space. A profile may come from anywhere: its names of functions and files
// must not move the cursor of a terminal, end a line of a log, or hide in it. Names of real
// programs are unchanged.
func Printable(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf-1 {
			return escape(s)
		}
	}
	return s
}

// escape is Printable where there may be something to escape.
func escape(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if strconv.IsPrint(r) && (r != utf8.RuneError || n > 1) {
			b.WriteString(s[:n])
		} else {
			quoted := strconv.Quote(s[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[n:]
	}
	return b.String()
}
