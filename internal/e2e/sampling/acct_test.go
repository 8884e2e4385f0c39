package sampling

import (
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/e2e"
	"github.com/stemma-go/stemma/internal/similarity"
)

// TestAccumulator compares the approximate tree with the exact one of the same
// run, for each trigger and both strategies.
func TestAccumulator(t *testing.T) {
	for _, tt := range []struct {
		trigger, weights string
		least, most      float64 // degree of overlap
	}{
		{"calls:1", "last-edge", 0.99, 1.001},
		{"calls:59", "last-edge", 0.97, 1.001},
		{"calls:307", "last-edge", 0.95, 1.001},
		{"calls:1559", "last-edge", 0.95, 1.001},
		{"calls:59", "all-new-edges", 0.3, 0.8},
		{"calls:307", "all-new-edges", 0.2, 0.7},
		// A counter for each function makes c and b as likely as each other only while it
		// decays; the hottest context is found all the same.
		{"func:1000", "last-edge", 0.5, 1.001},
		{"time:100us", "last-edge", 0.5, 1.001},
	} {
		t.Run(tt.trigger+"/"+tt.weights, func(t *testing.T) {
			exe := e2e.Build(t, "accumulate", "-engine=cct,acct", "-recursion=full", "-trigger="+tt.trigger,
				"-weights="+tt.weights)
			r := e2e.Run(t, exe)
			r.OK(t)
			p := r.Read(t)
			s := sampling(t, p)
			if s.Stat("samples") == 0 || s.Stat("dead")+s.Stat("failed")+s.Stat("lost") != 0 {
				t.Errorf("%v", s.Stats)
			}
			samples, err := cct.Of(p, "samples")
			if err != nil {
				t.Fatal(err)
			}
			exact, approximate := similarity.Entries(cct.New(p)), similarity.Entries(samples)
			overlap := similarity.Overlap(exact, approximate)
			if overlap < tt.least || overlap > tt.most {
				t.Errorf("overlap %.3f, want %v to %v; %v", overlap, tt.least, tt.most, s.Stats)
			}
			t.Logf("overlap %.3f, hot-edge coverage %.3f, %d samples", overlap,
				similarity.HotEdgeCoverage(exact, approximate, 0.1), s.Stat("samples"))
		})
	}
}
