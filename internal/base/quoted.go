package base

import (
	"fmt"
	"strings"
)

// SplitQuoted splits a string into words as the go command splits GOFLAGS and
// -toolexec: at white space, with words in single or double quotes and no
// escapes.
// A quote in the middle of a word is a character like any other.
func SplitQuoted(s string) ([]string, error) {
	var words []string
	for {
		s = strings.TrimLeft(s, " \t\n\r")
		if s == "" {
			return words, nil
		}
		if q := s[0]; q == '\'' || q == '"' {
			end := strings.IndexByte(s[1:], q)
			if end < 0 {
				return nil, fmt.Errorf("unterminated %c in %q", q, s)
			}
			words, s = append(words, s[1:1+end]), s[end+2:]
			continue
		}
		end := strings.IndexAny(s, " \t\n\r")
		if end < 0 {
			end = len(s)
		}
		words, s = append(words, s[:end]), s[end:]
	}
}

// JoinQuoted is the inverse of SplitQuoted.
// The go command knows no escapes, so a word with both quotes is an error.
func JoinQuoted(words []string) (string, error) {
	quoted := make([]string, len(words))
	for i, w := range words {
		switch {
		case w != "" && !strings.ContainsAny(w, " \t\n\r'\""):
			quoted[i] = w
		case !strings.Contains(w, "'"):
			quoted[i] = "'" + w + "'"
		case !strings.Contains(w, `"`):
			quoted[i] = `"` + w + `"`
		default:
			return "", fmt.Errorf("%s: contains both kinds of quotes, which the go command cannot take in a flag", w)
		}
	}
	return strings.Join(quoted, " "), nil
}
