package export_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/export"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// large returns the profile of a program with many contexts, and with bytes beside its calls.
func large(t *testing.T) *profile.Profile {
	t.Helper()
	r, err := record.Open(recordtest.Random(1, 3000, rand.New(rand.NewPCG(1, 1))).FS())
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Profile.AddColumn(profile.AllocSpace)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Values {
		c.Values[i] = uint64(i) << (i % 40)
	}
	return r.Profile
}

// TestParts splits profiles at limits of all kinds. The parts keep them, are profiles, and add up by the innermost
// function; a stack keeps both of its ends.
func TestParts(t *testing.T) {
	for name, p := range map[string]*profile.Profile{"shapes": shapes(t), "large": large(t)} {
		v := cct.ValuesOf(p, false)
		want := make(map[string]int64)
		contexts := 0
		for i, n := range v.Nodes {
			has := false
			for k, m := range v.Types {
				want[v.Funcs[n.Func].Name+" "+m.Name] += int64(v.Counts[k][i])
				has = has || v.Counts[k][i] != 0
			}
			if has {
				contexts++
			}
		}
		for _, l := range []export.Limits{{Samples: 1 << 20, Bytes: 1 << 30, Depth: 1000}, {Samples: 7, Bytes: 1 << 30,
			Depth: 1000}, {Samples: 1 << 20, Bytes: 2000, Depth: 3}, {Samples: 1 << 20, Bytes: 5000, Depth: 4}} {
			have := make(map[string]int64)
			samples, parts, deep := 0, 0, false
			for part := range export.Parts(p, false, l) {
				parts++
				samples += len(part.Sample)
				deep = check(t, part, l, have) || deep
			}
			if samples != contexts || parts < min(contexts/l.Samples, 2) || deep != (l.Depth < 1000) {
				t.Errorf("%s, %+v: %d parts with %d samples, want %d; too deep is %v", name, l, parts, samples,
					contexts, deep)
			}
			for key, n := range want {
				if have[key] != n {
					t.Errorf("%s, %+v: %s is %d, want %d", name, l, key, have[key], n)
				}
			}
		}
	}
}

// check adds what a part has, and reports whether a stack was too deep.
func check(t *testing.T, part *pprof.Profile, l export.Limits, have map[string]int64) (deep bool) {
	t.Helper()
	var b bytes.Buffer
	if err := part.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	const oneSample = 2000
	if len(part.Sample) > l.Samples || b.Len() > l.Bytes+oneSample {
		t.Errorf("a part has %d samples in %d bytes, want %d and %d", len(part.Sample), b.Len(), l.Samples, l.Bytes)
	}
	read, err := pprof.ParseUncompressed(b.Bytes())
	if err == nil {
		err = read.CheckValid()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range read.Sample {
		if len(s.Location) > l.Depth || len(s.Label) > 0 {
			t.Errorf("a stack of %d frames with %d labels", len(s.Location), len(s.Label))
		}
		for _, at := range s.Location {
			deep = deep || at.Line[0].Function.Name == export.TooDeep
		}
		root := s.Location[len(s.Location)-1].Line
		if name := root[len(root)-1].Function.Name; name[0] != '[' && name != "main.main" {
			t.Errorf("a stack begins with %s", name)
		}
		for k, value := range s.Value {
			have[s.Location[0].Line[0].Function.Name+" "+read.SampleType[k].Type] += value
		}
	}
	return deep
}
