package profile

import "strings"

// formerNames are the names of metrics before they were those of Go's own profiles. Older records, baselines and
// command lines have them. Nothing writes them.
var formerNames = map[string]string{
	"alloc":   AllocSpace.Name,
	"allocs":  AllocObjects.Name,
	"live":    InuseSpace.Name,
	"objects": InuseObjects.Name,
	"held":    Delay.Name,
	"holds":   Contentions.Name,
}

// CurrentName returns the name that a metric has now: of a former name, such as alloc, the one that has replaced
// it, and any other name itself.
func CurrentName(name string) string {
	of, varies := strings.CutSuffix(name, variesSuffix)
	now, ok := formerNames[of]
	switch {
	case !ok:
		return name
	case varies:
		return now + variesSuffix
	}
	return now
}

// formerEngines are names that engines had. Older records and baselines have them.
var formerEngines = map[string]string{"cct,acct": "cct+acct"}

// CurrentEngine returns the name that an engine has now: of a former name the one that has replaced it, and any other
// name itself.
func CurrentEngine(name string) string { return current(formerEngines, name) }

// formerPlaces are values that Sampling.At had.
var formerPlaces = map[string]string{"guard": AtPrologue}

// current returns what has replaced a name, or the name.
func current(former map[string]string, name string) string {
	if now, ok := former[name]; ok {
		return now
	}
	return name
}

// Former names, for one release.
//
// Deprecated: values of Sampling.At are called At, and what a report says of them PrologueBias.
const (
	AskSignal = AtSignal
	AskGuard  = AtPrologue
	GuardBias = PrologueBias
)

// Former names, for one release.
//
// Deprecated: they are called as the metrics are.
var (
	Alloc   = AllocSpace
	Allocs  = AllocObjects
	Live    = InuseSpace
	Objects = InuseObjects
	Held    = Delay
	Holds   = Contentions

	ValueTypes = Metrics
)

// ValueType is the former name of [Metric], for one release.
//
// Deprecated: use Metric.
type ValueType = Metric
