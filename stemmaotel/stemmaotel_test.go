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

// TestLogs builds the program in internal/logs. The ID of each log record decodes to the function that logs, without
// those of OpenTelemetry. The attributes of the semantic conventions say the same, decoded in the program.
func TestLogs(t *testing.T) {
	have := loggertest.Decoded(t, "./internal/logs", "dacce")
	const above = ` ← main\.main\.func1 main\.go:\d+ ←go main\.main main\.go:\d+ ← \[main\]" ` +
		`stemma\.fingerprint=[0-9a-f]{16} `
	for _, want := range []string{
		`(?m)^paid stemma\.id="main\.pay main\.go:(\d+) ← main\.serve main\.go:\d+` + above +
			`code\.function\.name=main\.pay code\.file\.path=/\S+/logs/main\.go code\.line\.number=\d+ ` +
			`code\.stacktrace=main\.pay\|\t/\S+/main\.go:\d+\|main\.serve\|.*\|started by\|main\.main\|.*\[main\]\|$`,
		`(?m)^served stemma\.id="main\.serve main\.go:(\d+)` + above +
			`code\.function\.name=main\.serve code\.file\.path=/\S+/logs/main\.go code\.line\.number=\d+ ` +
			`code\.stacktrace=main\.serve\|\t/\S+/main\.go:\d+\|main\.main\.func1\|.*\[main\]\|$`,
	} {
		loggertest.Matches(t, "logs", have, want)
	}
}
