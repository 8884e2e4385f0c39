package stemma

import (
	"errors"
	"testing"
	"time"
)

// TestSamplingNormalBuild checks that nothing happens in a program that is not built for
// sampling.
func TestSamplingNormalBuild(t *testing.T) {
	if samplingRuntime != nil {
		t.Skip("the test itself is sampled; run it with go test")
	}
	if err := StartSampling(SamplingOptions{}); !errors.Is(err, ErrNotSampled) {
		t.Errorf("have error %v", err)
	}
	StopSampling()
	RetrieveSamples()
	if every, active := Sampling(); active || every != 0 || SamplingDir() != "" {
		t.Errorf("sampling %v every %v into %q", active, every, SamplingDir())
	}
}

// TestSamplingCalls checks what reaches the runtime.
func TestSamplingCalls(t *testing.T) {
	if samplingRuntime != nil {
		t.Skip("the test itself is sampled; run it with go test")
	}
	var interval int64
	stops, retrieved := 0, 0
	samplingRuntime = &samplingAPI{
		Version:  samplingVersion,
		Start:    func(i int64) { interval = i },
		Stop:     func() { interval = 0; stops++ },
		Retrieve: func() { retrieved++ },
		State:    func() (bool, int64) { return interval != 0, interval },
		Dir:      func() string { return "dir" },
	}
	defer func() { samplingRuntime = nil }()
	if err := StartSampling(SamplingOptions{Every: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if every, active := Sampling(); !active || every != time.Millisecond || SamplingDir() != "dir" {
		t.Errorf("sampling %v every %v into %q", active, every, SamplingDir())
	}
	RetrieveSamples()
	StopSampling()
	if _, active := Sampling(); active || stops != 1 || retrieved != 1 {
		t.Errorf("active %v after %d stops, %d retrieved", active, stops, retrieved)
	}
	samplingRuntime.Version++
	if err := StartSampling(SamplingOptions{}); !errors.Is(err, ErrNotSampled) {
		t.Errorf("of another version: have error %v", err)
	}
}
