package stemma

import (
	"errors"
	"time"

	"github.com/stemma-go/stemma/internal/onoff"
)

// # Sampling
//
// A program that is built with
//
//	stemma build -engine=sample
//
// can take samples of its own goroutines, of those that run and of those that wait.
// It samples from the start, unless it is built with -start=off. The functions below
// start and stop sampling at any time. In a build with -metrics=calls,cpu they do that for the time on CPU. In other
// builds they do nothing.

// ErrNotSampled is returned in a program that is not built for sampling.
var ErrNotSampled = errors.New("stemma: the program is not built with -engine=sample or -metrics=calls,cpu")

// SamplingOptions are the settings of [StartSampling].
type SamplingOptions struct {
	// Every is the time between samples, at least 10 µs. Zero stands for the
	// interval that the program was built with.
	Every time.Duration
}

// sampling returns the API, nil if there is none that this package knows.
func sampling() *onoff.API { return onoff.Runtime() }

// StartSampling begins to take samples, or changes the interval between them.
// Samples are added to the program's record.
func StartSampling(o SamplingOptions) error {
	s := sampling()
	if s == nil {
		return ErrNotSampled
	}
	onoff.Shared.ByProgram(func() { s.Start(int64(o.Every)) })
	return nil
}

// StopSampling ends sampling. When it returns, all samples are on record, and the program
// runs as if it had never been sampled; where the return address is in a register, once functions that
// were running have returned. It stops the world for as long as it takes to complete pending samples.
func StopSampling() {
	if s := sampling(); s != nil {
		onoff.Shared.ByProgram(s.Stop)
	}
}

// Sample puts the calling goroutine's stack on record under an identifier of the program's own, such as
// that of a slow request. An identifier may be used any number of times. stemma report -requests lists
// the identifiers, and stemma report -request=ID shows the stacks.
//
// With the default sampler, and without the race detector, Sample takes a fraction of a microsecond however deep the
// stack is: each frame is looked at once, when its function returns, or a tenth of a second later. Sampling need not
// have started. A program keeps its newest 262,142 such samples.
func Sample(id uint64) {
	if requestSample != nil {
		requestSample(id)
	}
}

// requestSample is nil in a program that is not built for sampling. It is looked up once, so that the
// compiler inlines Sample: then the innermost frame is that of who asks.
var requestSample = findSample()

func findSample() func(id uint64) {
	if s := sampling(); s != nil {
		return s.Sample
	}
	return nil
}

// SampleLabeled does the same for all other goroutines that have a label, as [runtime/pprof.Do] sets it, and returns
// the number of goroutines. So a watchdog sees what a request waits for that has not ended. Each goroutine is stopped
// where the garbage collector would stop it, while its whole stack is walked.
func SampleLabeled(id uint64, key, value string) int {
	if s := sampling(); s != nil {
		return s.Labeled(id, key, value)
	}
	return 0
}

// Sampling reports whether samples are being taken, and how often.
func Sampling() (every time.Duration, active bool) {
	s := sampling()
	if s == nil {
		return 0, false
	}
	active, interval := s.State()
	return time.Duration(interval), active
}

// RetrieveSamples makes the record complete while sampling goes on, for a
// reader of [SamplingDir]. Otherwise the record is up to a tenth of a second behind.
func RetrieveSamples() {
	if s := sampling(); s != nil {
		s.Retrieve()
	}
}

// SamplingDir returns the live directory with the samples, "" if there is none.
// stemma report reads it at any time.
func SamplingDir() string {
	if s := sampling(); s != nil {
		return s.Dir()
	}
	return ""
}
