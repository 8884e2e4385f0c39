// Metrics of the program's own, counted in the context that adds to them.

package runtime

import (
	"internal/runtime/stemma/layout"
	"unsafe"
)

// A stemmaMetric is the beginning of a Metric of package stemma: the function ID of the metric, or 0 if it is not
// recorded.
type stemmaMetric struct{ id uint64 }

// A stemmaMetricsProgram is what package stemma of the program finds in stemmaMetricsAPI1. Its type there is another
// one of the same layout, with the version in its name.
type stemmaMetricsProgram struct {
	// new makes a metric and returns its function ID, or 0 if it is not recorded.
	new func(name, unit string) uint64
}

// stemmaMetricsAPI1 is nil in a program that does not count metrics of its own.
//
//go:linkname stemmaMetricsAPI1
var stemmaMetricsAPI1 *stemmaMetricsProgram

var stemmaMetricsAPIs = stemmaMetricsProgram{stemmaNewMetric}

// stemmaNewMetric makes a metric, or returns that of a module. It runs on a goroutine with a P, and may grow the stack.
func stemmaNewMetric(name, unit string) (id uint64) {
	if id, ok := stemmaModuleMetric(name, unit); ok {
		return id
	}
	systemstack(func() {
		lock(&stemma.lock)
		id = stemma.tree.NewMetric(name, unit)
		unlock(&stemma.lock)
	})
	return id
}

// stemmaAdd adds n to m in the context of the call. Compiled code calls it instead of [layout.AddFunc], and has left
// a cell in g. It runs where stemmaAddTo does.
func stemmaAdd(m *stemmaMetric, n int64) {
	if m != nil {
		stemmaAddTo(m.id, n)
	}
}

// stemmaAddTo adds n to the metric with a function ID, none if that is 0. The cell is in g. It runs on a goroutine with
// a P, or on g0 below a timer, also during a collection, never in a signal handler, and may grow the stack. Functions
// of the runtime are preempted at calls only: there is none between the load of the shard and the increment.
func stemmaAddTo(id uint64, n int64) {
	if id == 0 || n <= 0 {
		if n < 0 && id != 0 {
			stemma.record.Lost(layout.LostNegative)
		}
		return
	}
	gp := getg()
	cell := gp.stemma.Ctx
	node := uintptr(*(*uint32)(unsafe.Pointer(layout.Base + cell)))
	if *(*uint64)(unsafe.Pointer(layout.Base + node)) != id {
		node = stemmaMetricNode(uint32(cell), id)
	}
	*(*uint64)(unsafe.Pointer(layout.Base + node + gp.m.p.ptr().stemma.shard)) += uint64(n)
}

// stemmaMetricNode finds or makes the node of a metric that the cell does not lead to directly: the first to which this
// call adds, or one of several. Tables can be read without the lock. It runs where stemmaAddTo does.
func stemmaMetricNode(cell uint32, id uint64) uintptr {
	node := stemma.tree.Lookup(cell, id)
	if node == 0 {
		systemstack(func() {
			lock(&stemma.lock)
			node = stemma.tree.EnterMetric(cell, id)
			unlock(&stemma.lock)
		})
	}
	return uintptr(node)
}
