package stemmazap

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/loggertest"
)

// TestDecoded builds the program in internal/logs. Each line that it logs decodes to the function that logs, without
// the logger's own, and the error to the one where it arose.
func TestDecoded(t *testing.T) {
	have := loggertest.Decoded(t, "./internal/logs", "dacce")
	for _, want := range []string{
		`"ctx":"main.serve main.go:31 ← main.main.func1 main.go:21 ←go main.main main.go:21 ← [main]"`,
		`"ctx":"main.serve main.go:28 ← main.main.func1 main.go:21 ←go main.main main.go:21 ← [main]"`,
		`"error.ctx":"main.pay main.go:37 ← main.serve main.go:27 ← main.main.func1 main.go:21 ←go `,
	} {
		if strings.Count(have, want) != 1 {
			t.Errorf("%s is there %d times, want once, in\n%s", want, strings.Count(have, want), have)
		}
	}
}
