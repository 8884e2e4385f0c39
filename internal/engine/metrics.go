package engine

import (
	"slices"
	"strings"
)

// A Metric is what -metrics can name: something that exact trees have beside calls.
type Metric struct {
	Name    string
	Help    string // what is counted, in the help of -metrics
	Needs   string // another metric that is counted with it
	Code    bool   // the compiler is told, since it makes other code
	Runtime bool   // the runtime is told
	Sampled bool   // the sampler takes it
}

// Metrics has all of them.
var Metrics = []Metric{
	{Name: "calls", Help: "always"},
	{Name: "alloc", Help: "each allocation with its type and bytes", Code: true, Runtime: true},
	{Name: "live", Help: "also which of these objects are reachable at the end", Needs: "alloc", Runtime: true},
	{Name: "cpu", Help: "the time on CPU, sampled", Runtime: true, Sampled: true},
	{Name: "wait", Help: "the time that goroutines do not run, with its reason", Code: true, Runtime: true},
	{Name: "ops", Help: "executed operations", Code: true},
}

// MetricNames returns the names of all metrics.
func MetricNames() (names []string) {
	for _, m := range Metrics {
		names = append(names, m.Name)
	}
	return names
}

// MetricsHelp returns what each metric is, for the help of -metrics.
func MetricsHelp() string {
	var list []string
	for _, m := range Metrics {
		list = append(list, m.Name+", "+m.Help)
	}
	return strings.Join(list, "; ")
}

// AskedMetrics returns what a list of names with commas between asks for beside calls, with what that needs, in the
// order of Metrics.
func AskedMetrics(list string) (asked []Metric) {
	names := strings.Split(list, ",")
	for i := len(Metrics) - 1; i > 0; i-- { // what is needed comes before what needs it
		if m := Metrics[i]; slices.Contains(names, m.Name) {
			names = append(names, m.Needs)
			asked = append(asked, m)
		}
	}
	slices.Reverse(asked)
	return asked
}
