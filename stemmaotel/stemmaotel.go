// Package stemmaotel adds context IDs to the spans of OpenTelemetry.
//
// It is a module of its own: so stemma requires nothing for it.
package stemmaotel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/stemma-go/stemma"
)

// The attributes that spans get.
const (
	ID          = attribute.Key("stemma.id")          // text that stemma decode turns into a stack
	Fingerprint = attribute.Key("stemma.fingerprint") // the same in every process and build
)

// An Option changes what [SpanProcessor] adds.
type Option func(*processor)

// WithFingerprint adds an attribute stemma.fingerprint. A context that comes for the first time is decoded in the
// process: see stemma.FingerprintOf.
func WithFingerprint() Option { return func(p *processor) { p.fingerprint = stemma.FingerprintOf } }

// SpanProcessor returns a processor that gives each recording span an attribute stemma.id: the ID of the context that
// starts it. The functions of OpenTelemetry in between are left out when it is decoded.
//
//	provider := trace.NewTracerProvider(
//		trace.WithSpanProcessor(stemmaotel.SpanProcessor()),
//		trace.WithBatcher(exporter))
//
// In a normal build it adds nothing.
func SpanProcessor(opts ...Option) trace.SpanProcessor {
	p := new(processor)
	for _, o := range opts {
		o(p)
	}
	return p
}

// A processor adds contexts.
type processor struct {
	fingerprint func(stemma.ID) stemma.Fingerprint // nil if it is not asked for
}

// OnStart implements trace.SpanProcessor. The SDK calls it in the goroutine that starts the span.
func (p *processor) OnStart(_ context.Context, span trace.ReadWriteSpan) {
	id := stemma.Here()
	if id.IsZero() {
		return
	}
	span.SetAttributes(ID.String(id.String()))
	if p.fingerprint == nil {
		return
	}
	if f := p.fingerprint(id).String(); f != "" {
		span.SetAttributes(Fingerprint.String(f))
	}
}

// OnEnd implements trace.SpanProcessor.
func (*processor) OnEnd(trace.ReadOnlySpan) {}

// Shutdown implements trace.SpanProcessor.
func (*processor) Shutdown(context.Context) error { return nil }

// ForceFlush implements trace.SpanProcessor.
func (*processor) ForceFlush(context.Context) error { return nil }
