package report

import "fmt"

// Colours of reports, as terminals have them.
const (
	bold   = "1"  // heads of columns, and what a block of lines is about
	yellow = "33" // warnings
)

// paint returns s in a colour, if there are to be any.
func (r *reporter) paint(colour, s string) string {
	if r.o == nil || !r.o.Colour {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[m"
}

// head prints the heads of columns.
func (r *reporter) head(format string, args ...any) {
	r.printf("%s\n", r.paint(bold, fmt.Sprintf(format, args...)))
}
