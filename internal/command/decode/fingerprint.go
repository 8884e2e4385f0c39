package decode

import (
	"fmt"
	"io"
	"strings"

	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/fingerprint"
	"github.com/stemma-go/stemma/internal/humanize"
)

// append appends a context in any format of decode. In FormatStack it is several lines with the prefix, and in
// formatCounted a line with its end.
func (s *Set) append(b []byte, format Format, stack decode.Stack, prefix string) []byte {
	if format != FormatFingerprint && format != formatCounted {
		return format.Append(b, stack, prefix)
	}
	sum := s.fingerprints.Of(stack)
	s.seen.Add(sum)
	b = append(b, sum.Functions.String()...)
	if format == FormatFingerprint {
		return b
	}
	return append(append(append(b, ' '), FingerprintLine(s.fingerprints.Text(stack))...), '\n')
}

// FingerprintLine returns the text of a fingerprint in one line, innermost function first, as stacks are.
func FingerprintLine(text string) string {
	lines := strings.Split(text, "\n")
	var b strings.Builder
	for i := len(lines) - 1; i >= 0; i-- {
		name, started := strings.CutPrefix(lines[i], "go ")
		b.WriteString(name)
		switch {
		case i == 0:
		case started:
			b.WriteString(decode.GoArrow)
		default:
			b.WriteString(decode.Arrow)
		}
	}
	return b.String()
}

// Collided says that fingerprints do not tell all contexts apart.
func Collided(seen *fingerprint.Set) string {
	return fmt.Sprintf("%s, first %s: tell them apart by their stacks",
		humanize.Plural(seen.N, "fingerprint stands for several contexts", "fingerprints stand for several contexts"),
		seen.Value)
}

// reportCollisions warns of collisions in what was decoded.
func (s *Set) reportCollisions(w io.Writer) {
	if s.seen.N > 0 {
		fmt.Fprintf(w, "stemma: %s\n", Collided(&s.seen))
	}
}
