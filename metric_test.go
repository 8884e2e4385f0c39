package stemma

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/profile"
)

// TestMetricNames makes metrics of one name in several places, and such whose name or unit cannot be.
func TestMetricNames(t *testing.T) {
	var p programMetrics
	made := uint64(0)
	create := func(name, unit string) uint64 { made++; return made }
	try := func(name, unit, place string) (m *Metric, problem string) {
		defer func() {
			if r := recover(); r != nil {
				problem = fmt.Sprint(r)
			}
		}()
		return p.metric(name, unit, place, create), ""
	}
	first, _ := try("written", "bytes", "a.go:1")
	again, problem := try("written", "bytes", "b.go:2")
	if first == nil || again != first || made != 1 {
		t.Errorf("two of one name and unit are %p and %p, %d were made (%s), want one", first, again, made, problem)
	}
	if _, problem := try("written", "rows", "c.go:3"); problem != "stemma: c.go:3: metric written has the unit rows "+
		"here, and bytes at a.go:1; choose one of them, or another name" {
		t.Errorf("another unit: %q", problem)
	}
	for _, c := range [][2]string{{"", "b"}, {"a b", "b"}, {"a.varies", "b"}, {"é", "b"}, {"_a", "b"}, {"1", "b"},
		{"a", ""}, {"a", "a,b"}, {"a@b", "b"}, {"a", "b`"}, {"a[", "b"}, {strings.Repeat("a", 65), "b"}} {
		if _, problem := try(c[0], c[1], "d.go:4"); !strings.HasPrefix(problem, "stemma: d.go:4: metric ") {
			t.Errorf("name %q, unit %q: %q, want a panic that begins with the place", c[0], c[1], problem)
		}
	}
	for _, name := range []string{"a", "Z", "z_9", strings.Repeat("a", 64)} {
		if _, problem := try(name, "z9", "e.go:5"); problem != "" {
			t.Errorf("name %q: %s", name, problem)
		}
	}
	// A record with a metric of one of these names could not be read.
	reserved := map[string]bool{profile.Requested.Name: true}
	for _, other := range []string{"func", "parent", "cell", "encoding"} {
		reserved[other] = true
	}
	for _, m := range profile.Metrics {
		reserved[m.Name] = true
	}
	for _, m := range engine.Metrics {
		if len(m.Gives) == 0 {
			reserved[m.Name] = true
		}
	}
	for _, former := range strings.Fields(layout.ReservedMetrics) {
		if profile.CurrentName(former) != former {
			reserved[former] = true
		}
	}
	have, want := strings.Fields(layout.ReservedMetrics), slices.Collect(maps.Keys(reserved))
	if len(have) != len(want) {
		t.Errorf("%d names are reserved, want %d: %q", len(have), len(want), want)
	}
	for name := range reserved {
		if _, problem := try(name, "count", "f.go:6"); !strings.Contains(problem, "stemma has this name itself") {
			t.Errorf("name %s: %q", name, problem)
		}
	}
}
