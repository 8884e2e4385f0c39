package stemma

import (
	"errors"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/onoff"
)

// TestSamplingNormalBuild checks that nothing happens in a program that is not built for
// sampling.
func TestSamplingNormalBuild(t *testing.T) {
	if onoff.InRuntime != nil {
		t.Skip("the test itself is sampled; run it with go test")
	}
	if err := StartSampling(SamplingOptions{}); !errors.Is(err, ErrNotSampled) {
		t.Errorf("have error %v", err)
	}
	StopSampling()
	RetrieveSamples()
	Sample(1)
	if n := SampleLabeled(1, "a", "b"); n != 0 {
		t.Errorf("SampleLabeled: %d goroutines", n)
	}
	if n := testing.AllocsPerRun(100, func() { Sample(1) }); n != 0 {
		t.Errorf("Sample allocates %v times", n)
	}
	if every, active := Sampling(); active || every != 0 || SamplingDir() != "" {
		t.Errorf("sampling %v every %v into %q", active, every, SamplingDir())
	}
}

// TestSamplingCalls checks what reaches the runtime.
func TestSamplingCalls(t *testing.T) {
	if onoff.InRuntime != nil {
		t.Skip("the test itself is sampled; run it with go test")
	}
	var interval int64
	stops, retrieved := 0, 0
	var requested []uint64
	onoff.InRuntime = &onoff.API{
		Version:  onoff.Version,
		Start:    func(i int64) { interval = i },
		Stop:     func() { interval = 0; stops++ },
		Retrieve: func() { retrieved++ },
		State:    func() (bool, int64) { return interval != 0, interval },
		Dir:      func() string { return "dir" },
		Sample:   func(id uint64) { requested = append(requested, id) },
		Labeled:  func(id uint64, key, value string) int { return int(id) + len(key+value) },
	}
	requestSample = findSample()
	defer func() { onoff.InRuntime, requestSample = nil, nil }()
	if n := SampleLabeled(7, "a", "b"); n != 9 {
		t.Errorf("SampleLabeled: %d", n)
	}
	if Sample(7); len(requested) != 1 || requested[0] != 7 {
		t.Errorf("requested %v", requested)
	}
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
	onoff.InRuntime.Version++
	if findSample() != nil {
		t.Error("of another version: there is a function that takes samples")
	}
	if err := StartSampling(SamplingOptions{}); !errors.Is(err, ErrNotSampled) {
		t.Errorf("of another version: have error %v", err)
	}
}
