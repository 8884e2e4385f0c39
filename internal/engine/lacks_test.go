package engine

import (
	"slices"
	"testing"
)

// TestLacks looks for names that no engine and no metric has.
func TestLacks(t *testing.T) {
	known := MetricNames()
	for _, e := range List {
		known = append(known, e.Name)
	}
	for arch, names := range lacks {
		for _, name := range names {
			if !slices.Contains(known, name) {
				t.Errorf("%s: no engine or metric is called %s", arch, name)
			}
		}
		if Lacks(arch, Default().Name) {
			t.Errorf("%s lacks the default engine", arch)
		}
	}
}
