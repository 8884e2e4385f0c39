package verify

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/profile"
)

// TestSamples has what a program that samples has compared itself: that is all there is to verify of one.
func TestSamples(t *testing.T) {
	for want, stats := range map[string][]profile.Loss{
		"checked 9 contexts, 0 mismatches\n\tcompared the traces of 9 samples\n": {{Kind: "checked", Count: 9}},
		"checked 9 contexts, 3 mismatches\n\tcompared the traces of 9 samples\n\ttrace      3\n": {
			{Kind: "checked", Count: 9}, {Kind: "mismatches", Count: 2}, {Kind: "dead", Count: 1}},
		"checked 0 contexts, 0 mismatches\n": {{Kind: "samples", Count: 9}},
	} {
		var out bytes.Buffer
		v := &verifier{w: &out, o: &Options{Built: true}, kinds: map[string]uint64{}}
		v.samples(&profile.Profile{Processes: []profile.Process{{}, {Sampling: &profile.Sampling{Stats: stats}}}})
		err := v.result()
		if out.String() != want || (err == nil) != strings.Contains(want, " 9 contexts, 0 ") {
			t.Errorf("have %q and error %v, want %q", out.String(), err, want)
		}
		if strings.Contains(want, "checked 0") && !strings.Contains(err.Error(), "took no sample") {
			t.Errorf("the error is %v", err)
		}
	}
}
