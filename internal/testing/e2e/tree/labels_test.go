package tree

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// labelledWork is how often program labels works, by all labels that it has at the time.
func labelledWork() map[string]uint64 {
	want := map[string]uint64{
		"endpoint=fails": 1,
		// set("raw"), and the goroutine; what pprof.Do adds is added to a context without labels.
		"endpoint=raw": 3 * 2, "tenant=inner": 3,
		"endpoint=outer tenant=inner": 2 * 2, "endpoint=swapped": 2, "endpoint=outer": 2,
		"":                5 + 3*2 + 2 + 1, // main, raw, and the first of again
		"endpoint=again0": 10, "endpoint=again1": 10,
		"user=…": 10_000 - 1000,
	}
	for n := uint64(1); n <= 5; n++ {
		want[fmt.Sprint("endpoint=/", n)] = 8 * 50 * n
		want[fmt.Sprintf("endpoint=/%d tenant=t%d", n, n%2)] = 8 * 50 * n
	}
	for i := range 1000 {
		want[fmt.Sprint("user=u", i)] = 1
	}
	return want
}

// TestLabels compares the calls and the allocations with each set of labels with those that the program makes, under
// load, in goroutines, through panics, and with more values than are kept.
func TestLabels(t *testing.T) {
	exe := e2e.Build(t, "labels", "-metrics=calls,alloc", "-labels=endpoint,tenant,user")
	for _, procs := range []int{1, 4} {
		r := e2e.Run(t, exe, fmt.Sprint("GOMAXPROCS=", procs))
		r.OK(t)
		p := r.Read(t)
		if lost := p.Lost(); len(lost) != 1 || lost[0] != (profile.Loss{Kind: profile.LossLabels, Count: 9000}) {
			t.Errorf("lost %v, want 9000 values of a label", lost)
		}
		for function, metric := range map[string]profile.Metric{"main.work": profile.Calls,
			"new(main.object)": profile.AllocObjects} {
			tree, err := cct.Of(p, metric.Name)
			if err != nil {
				t.Fatal(err)
			}
			have := make(map[string]uint64)
			for i, n := range tree.Nodes {
				if tree.Funcs[n.Func].Name == function && n.Count > 0 {
					have[labelText(tree.LabelsOf(uint32(i)))] += n.Count
				}
			}
			if want := labelledWork(); !maps.Equal(have, want) {
				t.Errorf("%d Ps: %s: %s", procs, function, differences(have, want))
			}
		}
		checkLabelGroups(t, p)
	}
}

// checkLabelGroups compares the sums by the values of a label with those of the contexts, and looks at how often labels
// were set.
func checkLabelGroups(t *testing.T, p *profile.Profile) {
	t.Helper()
	tree, err := cct.Of(p, profile.Calls.Name)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := tree.By("label:endpoint")
	if err != nil {
		t.Fatal(err)
	}
	sums, all := make(map[string]uint64), uint64(0)
	for i, n := range tree.Nodes {
		name := "[no endpoint]"
		if value := tree.LabelsOf(uint32(i))["endpoint"]; value != "" {
			name = "[endpoint=" + value + "]"
		}
		sums[name] += n.Count
	}
	for _, g := range groups {
		if all += g.Self; g.Self != sums[g.Name] {
			t.Errorf("%s: %d calls, want %d", g.Name, g.Self, sums[g.Name])
		}
	}
	if total := tree.Totals().Calls; all != total {
		t.Errorf("%d calls in all groups, want %d", all, total)
	}
	set := make(map[string]uint64)
	for _, n := range tree.Nodes {
		if l := tree.Funcs[n.Func].Label; l.Key != "" {
			set[l.Key+"="+l.Value] += n.Count
		}
	}
	for name, want := range map[string]uint64{"endpoint=/1": 400, "endpoint=/5": 400, "tenant=t0": 800,
		"tenant=t1": 1200, "user=…": 9000, "user=u999": 1} {
		if set[name] != want {
			t.Errorf("label %s was set %d times, want %d", name, set[name], want)
		}
	}
}

// labelText spells labels in the order of their keys.
func labelText(labels map[string]string) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		list = append(list, key+"="+labels[key])
	}
	return strings.Join(list, " ")
}

// differences lists where two counts differ.
func differences(have, want map[string]uint64) string {
	var list []string
	for _, m := range []map[string]uint64{have, want} {
		for key := range m {
			if line := fmt.Sprintf("%q %d, want %d", key, have[key], want[key]); have[key] != want[key] &&
				!slices.Contains(list, line) {
				list = append(list, line)
			}
		}
	}
	slices.Sort(list)
	return strings.Join(list[:min(len(list), 20)], "; ")
}
