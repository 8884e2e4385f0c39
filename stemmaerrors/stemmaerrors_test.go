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
	sentry := "main.main:20\nmain.func1:20\nmain.serve:52\nmain.pay:60\n" // Sentry shortens names
	stack := `\nmain.pay\n\t\S*/main.go:60\nmain.serve\n\t\S*/main.go:52\nmain.main.func1\n\t\S*/main.go:20\n` +
		`main.main\n\t\S*/main.go:20\n`
	for readers, want := range map[string]string{
		"sentry":         sentry + "$",
		"sentry stacked": sentry + "$",
		"new":            `^paid\? .*\nEOF \[stm[\w-]+\]\nmain.main\n\t\S*/main.go:25\n$`,
		"pkg/errors":     `not served: no items` + stack + "served\n$",
		"cockroachdb/errors": `(?s)` + `served\n.*main.pay\n[^\n]*main.go:60\n[^\n]*main.serve\n[^\n]*main.go:52\n.*` +
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
