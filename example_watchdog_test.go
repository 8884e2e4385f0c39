package stemma_test

import (
	"context"
	"net/http"
	"runtime/pprof"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/stemma-go/stemma"
)

// A watchdog samples the goroutines of each request that takes longer than a second, while it still runs: stemma report
// -requests lists these requests.
func ExampleSampleLabeled() {
	var last atomic.Uint64
	watched := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := last.Add(1)
			text := strconv.FormatUint(id, 10)
			pprof.Do(r.Context(), pprof.Labels("request", text), func(ctx context.Context) {
				watchdog := time.AfterFunc(time.Second, func() { stemma.SampleLabeled(id, "request", text) })
				defer watchdog.Stop()
				h.ServeHTTP(w, r.WithContext(ctx))
			})
		})
	}
	http.Handle("/orders", watched(http.NotFoundHandler()))
	// Output:
}
