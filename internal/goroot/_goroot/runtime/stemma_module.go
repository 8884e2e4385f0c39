// Metrics of a file of -module: functions that it names add to them, and know nothing of that.

package runtime

import (
	"internal/runtime/stemma/layout"
	"internal/stringslite"
)

// stemmaModuleIDs are the function IDs of these metrics, in the order of the file. Those that there is no room for
// have 0.
var stemmaModuleIDs [layout.MaxMetrics]uint64

// stemmaModuleInit makes the metrics. It runs on g0 when the program starts, with the one P.
func stemmaModuleInit() {
	i := 0
	for list := stemmaOption("module"); list != "" && i < len(stemmaModuleIDs); i++ {
		var metric string
		metric, list, _ = stringslite.Cut(list, "+")
		name, unit, _ := stringslite.Cut(metric, ":")
		stemmaModuleIDs[i] = stemma.tree.NewMetric(name, unit)
	}
}

// stemmaModuleMetric returns the function ID of a metric that a module has defined, which the program makes as well. It
// runs on a goroutine with a P, and may grow the stack.
func stemmaModuleMetric(name, unit string) (id uint64, ok bool) {
	i := 0
	for list := stemmaOption("module"); list != ""; i++ {
		var metric string
		metric, list, _ = stringslite.Cut(list, "+")
		other, itsUnit, _ := stringslite.Cut(metric, ":")
		switch {
		case other != name:
		case itsUnit != unit:
			panic("stemma: metric " + name + " has the unit " + unit + " in the program, and " + itsUnit +
				" in the file of -module; choose one of them, or another name")
		default:
			return stemmaModuleIDs[i], true
		}
	}
	return 0, false
}

// stemmaModuleAdd adds n to a metric of a module, by its index, in the context of the call. Compiled code calls it, as
// [layout.ModuleAddFunc], and has left a cell in g. It runs where stemmaAddTo does.
func stemmaModuleAdd(metric, n int64) {
	stemmaAddTo(stemmaModuleIDs[metric], n)
}
