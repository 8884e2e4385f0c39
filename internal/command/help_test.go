package command

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// TestPlaceholders looks at the value that help shows for each flag: a word in capitals, or
// all that the flag takes.
func TestPlaceholders(t *testing.T) {
	good := regexp.MustCompile(`^(|[A-Z]+|[a-z-]+(\|[a-z-]+(:[A-Z]+)?)+)$`)
	for _, c := range commands() {
		var out bytes.Buffer
		commandHelp(&out, c)
		_, flags, _ := strings.Cut(out.String(), "\nflags:\n")
		for line := range strings.Lines(flags) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if only := name == "-record" && value == "calls"; strings.HasPrefix(line, "  -") && !only &&
				!good.MatchString(value) {
				t.Errorf("stemma help %s: %s %s: want NAME or this|that", c.Name, name, value)
			}
		}
	}
}
