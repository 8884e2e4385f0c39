package similarity

import (
	"math"
	"testing"
)

// TestBias has numbers worked out by hand: of 1,000 calls 100 are sampled, so the rate is a tenth. Of f 60 samples are
// to be expected and 70 there, z² = 100/54; of g 36 and 30, z² = 36/32.4. Of h too few are to be expected.
func TestBias(t *testing.T) {
	exact := Weights{"\nf": 400, "\nm\x00m.go\x001\nf\x00m.go\x003": 200, "\ng": 360, "\nh": 40}.ByCallee()
	if exact["f"] != 600 {
		t.Fatalf("have %v, want 600 of f", exact)
	}
	b := BiasOf(exact, Weights{"f": 70, "g": 30})
	zf, zg := 100/54., 36/32.4
	if b.Functions != 2 || b.Function != "f" || math.Abs(b.Mean-(zf+zg)/2) > 1e-9 || math.Abs(b.Worst-zf) > 1e-9 {
		t.Errorf("have %+v, want %v and %v", b, zf, zg)
	}
}
