package stemmaerrors

import (
	"errors"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/loggertest"
)

// TestReaders builds a program that makes an error two goroutines deep, and hands it to what reads stacks. Each sees
// the function where the error arose, though that is inlined, with the line of the call, and the goroutine that
// started the one that failed.
func TestReaders(t *testing.T) {
	run := loggertest.Build(t, "./internal/failing", "dacce")
	sentry := "main.main:19\nmain.func1:19\nmain.serve:47\nmain.pay:55\n" // Sentry shortens names
	stack := `\nmain.pay\n\t\S*/main.go:55\nmain.serve\n\t\S*/main.go:47\nmain.main.func1\n\t\S*/main.go:19\n` +
		`main.main\n\t\S*/main.go:19\n`
	for readers, want := range map[string]string{
		"sentry":         sentry + "$",
		"sentry stacked": sentry + "$",
		"pkg/errors":     `not served: no items` + stack + "served\n$",
		"cockroachdb/errors": `(?s)` + `served\n.*main.pay\n[^\n]*main.go:55\n[^\n]*main.serve\n[^\n]*main.go:47\n.*` +
			`\ntrue\n$`,
	} {
		loggertest.Matches(t, readers, run("PRINT="+readers), want)
	}
}

// TestPlain checks that an error without a context is left as it is.
func TestPlain(t *testing.T) {
	err := errors.New("no items")
	if have := WithStack(err); have != err || StackTrace(err) != nil || WithStack(nil) != nil {
		t.Errorf("have %v with %v, want the error itself and no stack", have, StackTrace(err))
	}
}
