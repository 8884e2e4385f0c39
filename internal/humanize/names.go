package humanize

import (
	"fmt"
	"strings"

	"github.com/stemma-go/stemma/profile"
)

// DidYouMean returns ` (did you mean NAME?)` with the one of names that have is most like, ""
// if it is like none. prefix stands in front of the name.
func DidYouMean(prefix, have string, names []string) string {
	if name := Nearest(have, names); name != "" {
		return fmt.Sprintf(" (did you mean %s%s?)", prefix, profile.Printable(name))
	}
	return ""
}

// Nearest returns the one of names that have is a slip of the finger away from: one letter in
// three is wrong, missing, more, or changed places with its neighbour. It is "" if there is
// none, or if have is one of names.
func Nearest(have string, names []string) string {
	best, least := "", len(have)/3+1
	for _, name := range names {
		if name == have {
			return ""
		}
		if n := len(name) - len(have); n >= least || -n >= least {
			continue
		}
		if d := distance(have, name); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance returns how many letters to change, add, take away or swap with the next one make
// a into b: the Damerau-Levenshtein distance, in which no letter changes twice.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			d := last[j-1]
			if a[i-1] != b[j-1] {
				d++
			}
			d = min(d, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// LikeFunction suggests one of names for a regular expression that matches none: for one
// that is a name, or the end of one behind a dot or slash.
func LikeFunction(pattern string, names []string) string {
	have := strings.NewReplacer(`\`, "", "^", "", "$", "").Replace(pattern)
	ends := make(map[string]string)
	var all []string
	for _, name := range names {
		for i := 0; i < len(name); i++ {
			if i == 0 || name[i-1] == '.' || name[i-1] == '/' {
				if end := name[i:]; ends[end] == "" {
					ends[end] = name
					all = append(all, end)
				}
			}
		}
	}
	if end := Nearest(have, all); end != "" {
		return " (did you mean " + ends[end] + "?)"
	}
	return ""
}
