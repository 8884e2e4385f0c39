// Command logs prints the log records of a program, for a test.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	api "go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/log"

	"github.com/stemma-go/stemma/stemmaotel"
)

var provider = log.NewLoggerProvider(
	log.WithProcessor(stemmaotel.LogProcessor(stemmaotel.WithFingerprint(), stemmaotel.WithCode())),
	log.WithProcessor(log.NewSimpleProcessor(printer{})))

// A printer exports log records as lines.
type printer struct{}

func (printer) Export(_ context.Context, records []log.Record) error {
	for _, r := range records {
		fmt.Print(r.Body().AsString())
		r.WalkAttributes(func(a attribute.KeyValue) bool {
			fmt.Printf(" %s=%s", a.Key, strings.ReplaceAll(a.Value.String(), "\n", "|"))
			return true
		})
		fmt.Println()
	}
	return nil
}

func (printer) Shutdown(context.Context) error   { return nil }
func (printer) ForceFlush(context.Context) error { return nil }

func main() {
	done := make(chan bool)
	go func() { serve(context.Background()); close(done) }()
	<-done
	if err := provider.Shutdown(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

//go:noinline
func serve(ctx context.Context) {
	pay(ctx)
	provider.Logger("logs").Emit(ctx, record("served"))
}

//go:noinline
func pay(ctx context.Context) {
	provider.Logger("logs").Emit(ctx, record("paid"))
}

func record(text string) (r api.Record) {
	r.SetBody(attribute.StringValue(text))
	return r
}
