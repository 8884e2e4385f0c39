package decode

import "bytes"

// A logLine knows where in a line of a log the text is that has passed: a stack has spaces, and
// where an ID is the value of a key, as in key=ID, it must be quoted to stay the value.
// Where it is in quotes already, as all of JSON is, it may not be.
type logLine struct {
	quoted      bool
	backslashes int     // how many the text ends with
	last        [2]byte // what the text ends with
}

// pass reads on.
func (l *logLine) pass(b []byte) {
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		*l = logLine{}
		b = b[i+1:]
	}
	switch n := len(b); {
	case n == 1:
		l.last = [2]byte{l.last[1], b[0]}
	case n > 1:
		l.last = [2]byte(b[n-2:])
	}
	for {
		i := bytes.IndexByte(b, '"')
		if i < 0 {
			break
		}
		if l.count(b[:i]); !l.quoted || l.backslashes%2 == 0 {
			l.quoted = !l.quoted
		}
		l.backslashes = 0
		b = b[i+1:]
	}
	l.count(b)
}

// count counts the backslashes at the end.
func (l *logLine) count(b []byte) {
	rest := bytes.TrimRight(b, `\`)
	if len(rest) > 0 {
		l.backslashes = 0
	}
	l.backslashes += len(b) - len(rest)
}

// isValue reports whether what comes now, followed by next, is all of the value of a key,
// without quotes.
func (l *logLine) isValue(next []byte) bool {
	key := l.last[0] > ' ' && l.last[0] != '"' && l.last[0] != '='
	return !l.quoted && l.last[1] == '=' && key && (len(next) == 0 || next[0] <= ' ')
}
