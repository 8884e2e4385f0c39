// Package stemmapprof labels work with its context, for other profilers.
package stemmapprof

import (
	"context"
	"runtime/pprof"

	"github.com/stemma-go/stemma"
)

// Key is the key of the label. It is short enough for profilers that read labels in the kernel.
const Key = "stemma_id"

// Do calls f with the label [Key], whose value is the ID of the context that calls Do, beside the labels that ctx has.
// Goroutines that f starts have the label as well. Each sample of a profiler then has an ID, which the command stemma
// decode turns into the stack of the call of Do, also in the text of a profile.
//
// A label has one value for each context, and profilers keep each value: call Do where work begins, as for a request or
// a job, and not in a loop. In a normal build Do calls f with ctx as it is.
func Do(ctx context.Context, f func(context.Context)) {
	id := stemma.Here()
	if id.IsZero() {
		f(ctx)
		return
	}
	pprof.Do(ctx, pprof.Labels(Key, id.String()), f)
}

// Labels returns the label for [pprof.Do] and [pprof.WithLabels]: none in a normal build.
func Labels() pprof.LabelSet {
	id := stemma.Here()
	if id.IsZero() {
		return pprof.Labels()
	}
	return pprof.Labels(Key, id.String())
}
