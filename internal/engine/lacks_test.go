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
	for _, l := range lacks {
		for _, name := range l.names {
			if !slices.Contains(known, name) {
				t.Errorf("%s: no engine or metric is called %s", l.arch, name)
			}
			if !Lacks(l.arch, name) || Lacks("amd64", name) {
				t.Errorf("%s is not lacked by %s alone", name, l.arch)
			}
		}
		if Lacks(l.arch, Default().Name) {
			t.Errorf("%s lacks the default engine", l.arch)
		}
	}
}
