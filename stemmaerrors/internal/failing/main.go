// Command failing makes an error and prints what others make of it, for a test.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	cockroach "github.com/cockroachdb/errors"
	"github.com/getsentry/sentry-go"
	pkgerrors "github.com/pkg/errors"

	"github.com/stemma-go/stemma"
	"github.com/stemma-go/stemma/stemmaerrors"
)

func main() {
	done := make(chan error)
	go func() { done <- serve(0) }()
	err := <-done
	fmt.Println("paid?", err)
	stacked := stemmaerrors.WithStack(err)
	if os.Getenv("PRINT") == "new" {
		fmt.Printf("%+v\n", stemmaerrors.WithStack(io.EOF))
		return
	}
	switch os.Getenv("PRINT") {
	case "sentry", "sentry stacked":
		if os.Getenv("PRINT") == "sentry" {
			stacked = err
		}
		// The error of the package is the one that serve wraps.
		for e := stacked; e != nil; e = errors.Unwrap(e) {
			if s := sentry.ExtractStacktrace(e); s != nil {
				for _, f := range s.Frames {
					fmt.Printf("%s.%s:%d\n", f.Module, f.Function, f.Lineno)
				}
				return
			}
		}
	case "pkg/errors":
		fmt.Printf("%+v\n", pkgerrors.WithMessage(stacked, "served"))
	case "cockroachdb/errors":
		fmt.Printf("%+v\n", cockroach.WithMessage(stacked, "served"))
		fmt.Println(cockroach.GetReportableStackTrace(stacked) != nil)
	}
}

//go:noinline
func serve(items int) error {
	if err := pay(items); err != nil {
		return fmt.Errorf("not served: %w", err)
	}
	return nil
}

// pay is inlined into serve.
func pay(items int) error {
	return stemma.WrapError(errors.New("no items"))
}
