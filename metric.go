package stemma

import (
	"runtime"
	"strconv"
	"sync"
	_ "unsafe" // for go:linkname

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// # Metrics of one's own

// A Metric is a number that the program adds to, in whatever context it does: bytes written, statements sent, rows
// read. The record has the sum of each context, under the metric's name. Reports, comparisons and exports take it as
// any other metric:
//
//	var written = stemma.NewMetric("written", "bytes")
//
//	func (w *Writer) Write(p []byte) (int, error) {
//		n, err := w.next.Write(p)
//		written.Add(int64(n))
//		return n, err
//	}
//
//	$ stemma report -metric=written
//
// In a normal build, and with engines that count no calls, a Metric does nothing, and the compiler leaves out the calls
// of Add.
type Metric struct {
	id uint64 // 0 if it is not recorded; package runtime reads it
}

// A metricsAPI is what the runtime of a program provides that counts metrics.
type metricsAPI struct {
	New func(name, unit string) (id uint64)
}

// metricsRuntime is nil in a program that does not count metrics, for the reason that runtimeAPI gives.
//
//go:linkname metricsRuntime runtime.stemmaMetricsAPI1
var metricsRuntime *metricsAPI

// NewMetric returns the metric of that name. Everywhere in a program one name is one metric, whoever makes it first. A
// name has letters, digits and underscores, and begins with a letter. The unit is one word, for people and other tools:
// bytes and nanoseconds are written as such, any other is a count, as rows.
//
// A program has at most 64 metrics. The report says how many more it has made; they do nothing.
//
// Where metrics are recorded, NewMetric panics if the name is no name, if it is that of a metric that stemma has
// itself, or if it was made with another unit.
func NewMetric(name, unit string) *Metric {
	if metricsRuntime == nil {
		return new(Metric)
	}
	_, file, line, _ := runtime.Caller(1)
	return metrics.metric(name, unit, file+":"+strconv.Itoa(line), metricsRuntime.New)
}

// Add adds n to the metric, in the context of the function that calls Add. It is exact, takes a few nanoseconds, and
// may be called at any time, from any goroutine. A metric only grows: if n is less than 0, nothing is added, and the
// report says how often that was so. If m is nil, Add does nothing.
func (m *Metric) Add(n int64) { add1(m, n) }

// add1 does nothing. Where metrics are recorded, the extended compiler calls the runtime instead. So it must know
// the name, with the version of Metric.
func add1(m *Metric, n int64) {}

// programMetrics are the metrics that the program has made. A program that makes none has nothing of this in it, nor
// has one that is built normally: so what is below does without package fmt.
type programMetrics struct {
	lock sync.Mutex
	made map[string]madeMetric
}

var metrics programMetrics

// A madeMetric is a metric with where it was made first.
type madeMetric struct {
	*Metric
	unit, place string
}

// metric returns a metric, which create makes if there is none of that name.
func (p *programMetrics) metric(name, unit, place string, create func(name, unit string) uint64) *Metric {
	if problem := metricProblem(name, unit); problem != "" {
		panic("stemma: " + place + ": " + problem)
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	m, ok := p.made[name]
	if !ok {
		if p.made == nil {
			p.made = make(map[string]madeMetric)
		}
		m = madeMetric{&Metric{create(name, unit)}, unit, place}
		p.made[name] = m
	}
	if m.unit != unit {
		panic("stemma: " + place + ": metric " + name + " has the unit " + unit + " here, and " + m.unit + " at " +
			m.place + "; choose one of them, or another name")
	}
	return m.Metric
}

// metricProblem returns what is wrong with a metric's name or unit, or "".
func metricProblem(name, unit string) string {
	const form = " has up to 64 letters, digits and underscores, and begins with a letter"
	switch {
	case !layout.IsMetricWord(name):
		return "metric " + strconv.Quote(name) + ": a name" + form
	case !layout.IsMetricWord(unit):
		return "metric " + name + ": unit " + strconv.Quote(unit) + ": a unit" + form
	case layout.IsReservedMetric(name):
		return "metric " + name + ": stemma has this name itself; choose another one"
	}
	return ""
}
