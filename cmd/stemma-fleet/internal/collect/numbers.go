package collect

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
)

// Numbers count what an agent has done. They serve themselves as Prometheus reads them.
type Numbers struct {
	sealed, uploaded, there, bytes atomic.Int64
	unreadable, lost, removed      atomic.Int64
	unmarked, kept, unseen         atomic.Int64
	notUploaded, notVerified       atomic.Int64
	grown, cluttered               atomic.Int64
	found, backlog, oldest         atomic.Int64 // oldest in nanoseconds since 1970, 0 if nothing waits

	seen  map[string]bool // paths that are counted in found
	sinks []*destination
}

// fail counts a failure of the store.
func (n *Numbers) fail(err error) {
	if e := new(bucket.Error); errors.As(err, &e) && e.Step == "verify" {
		n.notVerified.Add(1)
		return
	}
	n.notUploaded.Add(1)
}

// count notes what waits, and what was found for the first time.
func (a *Agent) count(items []item) {
	n := &a.Numbers
	waiting := make(map[string]bool)
	var oldest time.Time
	seen := make(map[string]bool, len(items))
	for _, it := range items {
		if seen[it.path] = true; !n.seen[it.path] {
			n.found.Add(1)
		}
		if a.isDone(it) {
			continue
		}
		waiting[it.path] = true
		if oldest.IsZero() || it.changed.Before(oldest) {
			oldest = it.changed
		}
	}
	n.seen, a.waiting = seen, waiting
	n.backlog.Store(int64(len(waiting)))
	for _, d := range n.sinks {
		left := int64(0)
		for _, it := range items {
			if waiting[it.path] && !d.isDone(it.path) {
				left++
			}
		}
		d.backlog.Store(left)
	}
	n.oldest.Store(0)
	if !oldest.IsZero() {
		n.oldest.Store(oldest.UnixNano())
	}
}

// ServeHTTP writes the numbers in the text form of Prometheus.
func (n *Numbers) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	line := func(name, kind, help string, value any) {
		if help != "" {
			fmt.Fprintf(w, "# HELP stemma_collect_%s %s\n# TYPE stemma_collect_%s %s\n", name, help, name, kind)
		}
		fmt.Fprintf(w, "stemma_collect_%s %v\n", name, value)
	}
	line("found_total", "counter", "Records that were found.", n.found.Load())
	line("sealed_total", "counter", "Records that were sealed.", n.sealed.Load())
	line("uploaded_total", "counter", "Records that were uploaded.", n.uploaded.Load())
	line("uploaded_bytes_total", "counter", "Bytes of the records that were uploaded.", n.bytes.Load())
	line("grown_total", "counter", "Uploads of records of context IDs whose programs run.", n.grown.Load())
	line("there_total", "counter", "Records that were in the store already.", n.there.Load())
	line("removed_total", "counter", "Records that were removed here, since they are in the store.", n.removed.Load())
	line("lost_total", "counter", "Records that others removed before they were uploaded.", n.lost.Load())
	fmt.Fprintf(w, "# HELP stemma_collect_failures_total What failed, by step.\n"+
		"# TYPE stemma_collect_failures_total counter\n")
	for _, f := range []struct {
		step string
		n    *atomic.Int64
	}{{"look", &n.unseen}, {"seal", &n.unreadable}, {"upload", &n.notUploaded}, {"verify", &n.notVerified},
		{"mark", &n.unmarked}, {"remove", &n.kept},
		{"clear", &n.cluttered}} {
		fmt.Fprintf(w, "stemma_collect_failures_total{step=%q} %d\n", f.step, f.n.Load())
	}
	line("backlog", "gauge", "Records that wait to be uploaded.", n.backlog.Load())
	age := 0.0
	if oldest := n.oldest.Load(); oldest != 0 {
		age = max(0, time.Since(time.Unix(0, oldest)).Seconds())
	}
	line("oldest_seconds", "gauge", "Age of the oldest record that waits, 0 if none does.", age)
	for _, f := range []struct {
		name, kind, help string
		n                func(d *destination) *atomic.Int64
	}{
		{"pushed_total", "counter", "Records that a sink has taken, or parts of them.",
			func(d *destination) *atomic.Int64 { return &d.pushed }},
		{"pushed_parts_total", "counter", "Profiles that a sink has taken.",
			func(d *destination) *atomic.Int64 { return &d.parts }},
		{"refused_parts_total", "counter", "Profiles that a sink has refused, and will not get again.",
			func(d *destination) *atomic.Int64 { return &d.refused }},
		{"push_failures_total", "counter", "Pushes that failed, and are tried again.",
			func(d *destination) *atomic.Int64 { return &d.notPushed }},
		{"push_backlog", "gauge", "Records that wait to be pushed to a sink.",
			func(d *destination) *atomic.Int64 { return &d.backlog }},
	} {
		for i, d := range n.sinks {
			if i == 0 {
				fmt.Fprintf(w, "# HELP stemma_collect_%s %s\n# TYPE stemma_collect_%s %s\n", f.name, f.help,
					f.name, f.kind)
			}
			fmt.Fprintf(w, "stemma_collect_%s{to=%q} %d\n", f.name, d.name, f.n(d).Load())
		}
	}
}
