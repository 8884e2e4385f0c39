package stemmaotel

import (
	"testing"

	"github.com/stemma-go/stemma/internal/testing/loggertest"
)

// TestDecoded builds the program in internal/spans. The ID of each span decodes to the function that starts it, without
// those of OpenTelemetry, and there is a fingerprint.
func TestDecoded(t *testing.T) {
	have := loggertest.Decoded(t, "./internal/spans", "dacce")
	for _, want := range []string{
		`(?m)^paid Unset stemma\.id="main\.pay main\.go:57 ← main\.serve main\.go:51 ← main\.main\.func1 main\.go:39 ` +
			`←go main\.main main\.go:39 ← \[main\]" stemma\.fingerprint=[0-9a-z]+$`,
		`(?m)^serve Ok stemma\.id="main\.serve main\.go:49 ← main\.main\.func1 main\.go:39 ←go main\.main main\.go:39 ` +
			`← \[main\]" stemma\.fingerprint=[0-9a-z]+$`,
	} {
		loggertest.Matches(t, "spans", have, want)
	}
}
