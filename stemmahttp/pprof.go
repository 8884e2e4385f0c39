package stemmahttp

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stemma-go/stemma"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/export"
	"github.com/stemma-go/stemma/internal/onoff"
	"github.com/stemma-go/stemma/profile"
)

const (
	maxContexts = 1000 // that are shown as text
	maxReadings = 8    // requests at a time: each holds one or two snapshots
)

// Pprof returns a handler that answers with any metric of the program as a pprof profile. Its parameters are
//
//	metric   what is counted, as stemma report -metric names it: calls, alloc_space, delay; several with commas
//	         between; all that the program records by default
//	seconds  what has come in so many seconds, at most 600; 0, the default, for all since the program began
//	debug    1 for text: the contexts with the largest numbers
//	gc       1 to count the objects that are reachable now, where inuse_space is recorded: see [stemma.CountInuse]
//
// The answer has the sample types that Go's own profile of the metric has: with alloc_space it has alloc_objects as
// well. The metric that was asked for first is the usual one.
//
// What has come in some seconds is the exact difference of two snapshots ([stemma.Snapshot]). Nothing is reset: any
// number of clients may ask at the same time, and each gets what there is. The program is not stopped; what the handler
// does is not recorded ([stemma.Bypass]). Eight requests are answered at a time; others get status 503, Service
// Unavailable.
//
// In a program that samples ([Samples]), the metrics are cpu, samples, wait and waits. If it does not sample already,
// it does so for the seconds that are asked for.
//
// The answer names functions and files, and the command line. As with net/http/pprof, do not serve it to everybody.
func Pprof() http.Handler { return new(pprofHandler) }

// A pprofHandler keeps count of its requests.
type pprofHandler struct {
	requests atomic.Int32
}

// ServeHTTP answers outside of the record: who looks shall see the program, and not the looking.
func (h *pprofHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	stemma.Bypass(func() { h.serve(w, r) })
}

func (h *pprofHandler) serve(w http.ResponseWriter, r *http.Request) {
	var q query
	if !accept(w, r, q.parse) || !enter(w, &h.requests, maxReadings, q.seconds) {
		return
	}
	defer h.requests.Add(-1)
	extend(w, r, q.seconds)
	if err := q.answer(w, r); err != nil && r.Context().Err() == nil {
		status := http.StatusInternalServerError
		if errors.As(err, new(badRequest)) {
			status = http.StatusBadRequest
		}
		http.Error(w, err.Error(), status)
	}
}

// A badRequest is an error of the client's.
type badRequest struct{ error }

// A query is what the parameters of a request for a pprof profile say.
type query struct {
	metrics  []string // nil for all
	seconds  float64
	text, gc bool
}

func (q *query) parse(values url.Values) (err error) {
	if s := strings.Join(values["metric"], ","); s != "" { // several, in either way of writing lists
		q.metrics = strings.Split(s, ",")
	}
	for _, b := range []struct {
		name string
		to   *bool
	}{{"debug", &q.text}, {"gc", &q.gc}} {
		s := values.Get(b.name)
		if n, err := strconv.Atoi(s); err == nil || s == "" {
			*b.to = n > 0
			continue
		}
		return fmt.Errorf("%s: have %q, want 0 or 1", b.name, s)
	}
	q.seconds, err = seconds(values, 0)
	return err
}

// A reading is what is recorded at some moment.
type reading struct {
	*profile.Profile
	at time.Time
}

// read takes a snapshot. Counts are those of some moment between its beginning and its end; at is the beginning.
func (q *query) read() (reading, error) {
	at := time.Now()
	if q.gc {
		if err := stemma.CountInuse(); err != nil {
			return reading{}, badRequest{fmt.Errorf("gc: %w", err)}
		}
	}
	p, err := stemma.Snapshot()
	return reading{p, at}, err
}

// answer writes the profile.
func (q *query) answer(w http.ResponseWriter, r *http.Request) error {
	last, err := q.read()
	if err != nil {
		return err
	}
	metrics, usual, err := chosen(last.Profile, q.metrics)
	if err != nil {
		return badRequest{err}
	}
	var first *profile.Profile
	span := export.Span{End: last.at}
	if q.seconds > 0 {
		before := last
		if last, err = q.later(r, last.Column(usual).Sampled); err != nil {
			return err
		}
		if first, last.Profile, err = profile.Align(before.Profile, last.Profile); err != nil {
			return err
		}
		span = export.Span{End: last.at, Length: last.at.Sub(before.at)}
	}
	v := cct.Growth(first, last.Profile, metrics)
	var b bytes.Buffer
	if q.text {
		if err := export.Text(&b, v, maxContexts, span); err != nil {
			return err
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Write(b.Bytes()) // an error is that of a client that has gone
		return nil
	}
	if err := export.Values(&b, difference(first, last.Profile), v, usual, span); err != nil {
		return err
	}
	attach(w, usual+".pb.gz", b.Bytes())
	return nil
}

// later takes a snapshot when the seconds are over, for which a program that can be sampled is.
func (q *query) later(r *http.Request, sampled bool) (reading, error) {
	if sampled {
		defer onoff.Shared.End(onoff.Shared.Begin(0))
	}
	wait(r, q.seconds)
	return q.read()
}

// difference returns p with its sampled values less those of an earlier reading that is aligned with it, which may be
// nil.
func difference(earlier, p *profile.Profile) *profile.Profile {
	if earlier == nil {
		return p
	}
	d := *p
	d.Columns = slices.Clone(p.Columns)
	for k := range d.Columns {
		c := &d.Columns[k]
		if !c.Sampled {
			continue
		}
		c.Values = slices.Clone(c.Values)
		for i, n := range earlier.Columns[k].Values {
			c.Values[i] -= n
		}
	}
	return &d
}

// families are the metrics that one profile of Go's has together, in its order.
var families = [][]profile.Metric{
	{profile.AllocObjects, profile.AllocSpace},
	{profile.InuseObjects, profile.InuseSpace},
	{profile.Contentions, profile.Delay},
	{profile.Samples, profile.CPU},
	{profile.Waits, profile.Wait},
	{profile.Goroutines, profile.Run},
}

// chosen returns the metrics of an answer, all exact or all sampled, and the usual one.
func chosen(p *profile.Profile, asked []string) (metrics []string, usual string, err error) {
	if asked == nil {
		first, err := cct.Column(p, "")
		if err != nil {
			return nil, "", err
		}
		asked = []string{first.Name}
		for _, c := range p.Columns {
			if c.Sampled == first.Sampled && c.Name != first.Name {
				asked = append(asked, c.Name)
			}
		}
	}
	var sampled bool
	for _, name := range asked {
		c, err := cct.Column(p, name)
		if err != nil {
			return nil, "", err
		}
		if usual == "" {
			usual, sampled = c.Name, c.Sampled
		}
		if c.Sampled != sampled {
			return nil, "", fmt.Errorf("metric: of %s and %s one is exact, and the other sampled; "+
				"ask for one at a time", usual, c.Name)
		}
		for _, name := range family(p, c) {
			if !slices.Contains(metrics, name) {
				metrics = append(metrics, name)
			}
		}
	}
	return metrics, usual, nil
}

// family returns the names of the metrics of p that Go shows together with that of a column, and its own.
func family(p *profile.Profile, c *profile.Column) (names []string) {
	for _, list := range families {
		if !slices.ContainsFunc(list, func(m profile.Metric) bool { return m.Name == c.Name }) {
			continue
		}
		for _, m := range list {
			if other := p.Column(m.Name); other != nil && other.Sampled == c.Sampled {
				names = append(names, m.Name)
			}
		}
		return names
	}
	return []string{c.Name}
}
