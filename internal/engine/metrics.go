package engine

import (
	"slices"
	"strings"
)

// A Metric is what -metrics can name: something that exact trees have beside calls. It stands for one or several
// metrics of a record, and is also taken by the name of one of these.
type Metric struct {
	Name    string
	Gives   []string // the metrics that a record has then, as package profile calls them; none for Name itself
	Help    string   // what is counted, in the help of -metrics
	Needs   string   // another metric that is counted with it
	Code    bool     // the compiler is told, since it makes other code
	Runtime bool     // the runtime is told
	Sampled bool     // the sampler takes it
}

// Metrics has all of them.
var Metrics = []Metric{
	{Name: "calls", Help: "always"},
	{Name: "alloc", Gives: []string{"alloc_space", "alloc_objects"}, Code: true, Runtime: true,
		Help: "each allocation with its type and bytes"},
	{Name: "inuse", Gives: []string{"inuse_space", "inuse_objects"}, Needs: "alloc", Runtime: true,
		Help: "also which of these objects are reachable at the end"},
	{Name: "cpu", Help: "the time on CPU, sampled", Runtime: true, Sampled: true},
	{Name: "wait", Gives: []string{"wait", "waits", "delay", "contentions", "run", "goroutines"}, Code: true,
		Runtime: true, Help: "the time that goroutines do not run, with its reason"},
	{Name: "existing", Gives: []string{"existing", "idle"}, Needs: "wait", Runtime: true,
		Help: "also which goroutines exist, and what each waits for"},
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

// MetricFor returns what -metrics must name for a record to have a metric, nil if there is nothing.
func MetricFor(name string) *Metric {
	for i := range Metrics {
		if m := &Metrics[i]; m.Name == name || slices.Contains(m.Gives, name) {
			return m
		}
	}
	return nil
}

// Flag returns the flag that asks for m, with what it needs.
func (m *Metric) Flag() string {
	flag := "-metrics=" + Metrics[0].Name + ","
	if m.Needs != "" {
		flag += m.Needs + ","
	}
	return flag + m.Name
}

// AskedMetrics returns what a list of names with commas between asks for beside calls, with what that needs, in the
// order of Metrics. Names that mean nothing are left out.
func AskedMetrics(list string) (asked []Metric) {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		if m := MetricFor(name); m != nil {
			names = append(names, m.Name)
		}
	}
	for i := len(Metrics) - 1; i > 0; i-- { // what is needed comes before what needs it
		if m := Metrics[i]; slices.Contains(names, m.Name) {
			names = append(names, m.Needs)
			asked = append(asked, m)
		}
	}
	slices.Reverse(asked)
	return asked
}
