// Package stemmaotel adds context IDs to the spans and logs of OpenTelemetry.
//
// It is a module of its own: so stemma requires nothing for it.
package stemmaotel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/stemma-go/stemma"
)

// The attributes that spans and logs get.
const (
	ID          = attribute.Key("stemma.id")          // text that stemma decode turns into a stack
	Fingerprint = attribute.Key("stemma.fingerprint") // the same in every process and build
)

// The attributes that they get by [WithCode], of OpenTelemetry's semantic conventions.
const (
	function   = attribute.Key("code.function.name")
	file       = attribute.Key("code.file.path")
	line       = attribute.Key("code.line.number")
	stacktrace = attribute.Key("code.stacktrace")
)

// An Option changes what [SpanProcessor] and [LogProcessor] add.
type Option func(*options)

// WithFingerprint adds an attribute stemma.fingerprint. A context that comes for the first time is decoded in the
// process: see stemma.FingerprintOf.
func WithFingerprint() Option { return func(o *options) { o.fingerprint = stemma.FingerprintOf } }

// WithCode adds the attributes code.function.name, code.file.path and code.line.number, of the function that starts the
// span or logs, and code.stacktrace, the stack with what started its goroutine. Each context is decoded in the process,
// which takes microseconds, and milliseconds for the first: see stemma.Decode. One that cannot be decoded has its ID
// alone. Attributes of these names that are there already are replaced.
func WithCode() Option { return func(o *options) { o.decode = stemma.Decode } }

// options say what is added.
type options struct {
	fingerprint func(stemma.ID) stemma.Fingerprint    // nil if it is not asked for
	decode      func(stemma.ID) (stemma.Stack, error) // nil if it is not asked for
}

func newOptions(opts []Option) (o options) {
	for _, f := range opts {
		f(&o)
	}
	return o
}

// attributes returns what is added for a context, nothing for the zero ID.
func (o *options) attributes(id stemma.ID) (list []attribute.KeyValue) {
	if id.IsZero() {
		return nil
	}
	list = append(list, ID.String(id.String()))
	if o.fingerprint != nil {
		if f := o.fingerprint(id).String(); f != "" {
			list = append(list, Fingerprint.String(f))
		}
	}
	if o.decode == nil {
		return list
	}
	stack, err := o.decode(id)
	if err != nil {
		return list
	}
	if len(stack.Sections) > 0 && len(stack.Sections[0]) > 0 {
		f := stack.Sections[0][0]
		list = append(list, function.String(f.Func), file.String(f.File))
		if f.Line > 0 {
			list = append(list, line.Int(f.Line))
		}
	}
	return append(list, stacktrace.String(stack.String()))
}

// SpanProcessor returns a processor that gives each recording span an attribute stemma.id: the ID of the context that
// starts it. The functions of OpenTelemetry in between are left out when it is decoded.
//
//	provider := trace.NewTracerProvider(
//		trace.WithSpanProcessor(stemmaotel.SpanProcessor()),
//		trace.WithBatcher(exporter))
//
// In a normal build it adds nothing.
func SpanProcessor(opts ...Option) trace.SpanProcessor { return &processor{newOptions(opts)} }

// A processor adds contexts to spans.
type processor struct{ options }

// OnStart implements trace.SpanProcessor. The SDK calls it in the goroutine that starts the span.
func (p *processor) OnStart(_ context.Context, span trace.ReadWriteSpan) {
	if list := p.attributes(stemma.Here()); list != nil {
		span.SetAttributes(list...)
	}
}

// OnEnd implements trace.SpanProcessor.
func (*processor) OnEnd(trace.ReadOnlySpan) {}

// Shutdown implements trace.SpanProcessor.
func (*processor) Shutdown(context.Context) error { return nil }

// ForceFlush implements trace.SpanProcessor.
func (*processor) ForceFlush(context.Context) error { return nil }

// LogProcessor returns a processor that gives each log record an attribute stemma.id: the ID of the context that logs
// it. The functions of OpenTelemetry, and of the logger before a bridge to it, are left out when it is decoded. It
// stands before what exports, which would not see what it adds.
//
//	provider := log.NewLoggerProvider(
//		log.WithProcessor(stemmaotel.LogProcessor()),
//		log.WithProcessor(log.NewBatchProcessor(exporter)))
//
// In a normal build it adds nothing.
func LogProcessor(opts ...Option) log.Processor { return &logProcessor{newOptions(opts)} }

// A logProcessor adds contexts to log records.
type logProcessor struct{ options }

// Enabled implements log.Processor. Whether a record is worth it is for those to say that export.
func (*logProcessor) Enabled(context.Context, log.EnabledParameters) bool { return false }

// OnEmit implements log.Processor. The SDK calls it in the goroutine that logs.
func (p *logProcessor) OnEmit(_ context.Context, record *log.Record) error {
	if list := p.attributes(stemma.Here()); list != nil {
		record.AddAttributes(list...)
	}
	return nil
}

// Shutdown implements log.Processor.
func (*logProcessor) Shutdown(context.Context) error { return nil }

// ForceFlush implements log.Processor.
func (*logProcessor) ForceFlush(context.Context) error { return nil }
