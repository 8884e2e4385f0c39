// Command spans prints the spans of a program, for a test.
package main

import (
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/stemma-go/stemma/stemmaotel"
)

var provider = trace.NewTracerProvider(
	trace.WithSpanProcessor(stemmaotel.SpanProcessor(stemmaotel.WithFingerprint())),
	trace.WithSyncer(printer{}))

var tracer = provider.Tracer("spans")

// A printer exports spans as lines.
type printer struct{}

func (printer) ExportSpans(_ context.Context, spans []trace.ReadOnlySpan) error {
	for _, s := range spans {
		fmt.Print(s.Name(), " ", s.Status().Code)
		for _, a := range s.Attributes() {
			fmt.Printf(" %s=%s", a.Key, a.Value.String())
		}
		fmt.Println()
	}
	return nil
}

func (printer) Shutdown(context.Context) error { return nil }

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
	ctx, span := tracer.Start(ctx, "serve")
	defer span.End()
	pay(ctx)
	span.SetStatus(codes.Ok, "")
}

//go:noinline
func pay(ctx context.Context) {
	_, span := tracer.Start(ctx, "paid")
	span.End()
}
