// Package stemmahttp serves what a program records of itself over HTTP, like net/http/pprof.
//
//	http.Handle("/debug/stemma/", stemmahttp.Handler())
//
// Then a browser shows /debug/stemma/, and
//
//	go tool pprof 'http://localhost:8080/debug/stemma/pprof?metric=alloc_space&seconds=10'
//
// what the program allocates in ten seconds, exactly. In a normal build the answers say how to build the program.
package stemmahttp

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/stemma-go/stemma"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/export"
	"github.com/stemma-go/stemma/internal/onoff"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/profile"
)

// What a request may ask for is bounded: whoever reaches the address shall not be able to
// make the program slow, or hold its memory.
const (
	maxSeconds  = 600              // of sampling
	minEvery    = time.Millisecond // interval
	maxRequests = 4                // at a time: each holds a profile
	maxQuery    = 4096             // bytes of parameters
)

// Samples returns a handler that answers with the samples of some seconds. Its
// parameters are
//
//	seconds  how long, 30 by default, at most 600; 0 for all samples since the program began
//	every    the interval, at least 1ms, if this request starts the sampling
//	format   pprof (default), stemma for a sealed profile, folded or speedscope
//	metric   cpu (default), wait, samples or waits: what folded and speedscope show
//	request  instead of all this, at once: the stacks of the samples that the program has
//	         asked for by stemma.Sample under this identifier
//
// A program that does not sample already samples for as long as the request takes.
// Four requests are answered at a time; others get status 503, Service Unavailable. Parameters come in the query of a
// GET request; bodies are not read.
//
// The answer names functions and files, and the command line. As with net/http/pprof, do
// not serve it to everybody.
func Samples() http.Handler { return new(handler) }

// A handler keeps count of its requests.
type handler struct {
	requests atomic.Int32 // being answered
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := request{seconds: 30, format: "pprof", metric: "cpu"}
	if !accept(w, r, q.parse) || !enter(w, &h.requests, maxRequests, q.seconds) {
		return
	}
	defer h.requests.Add(-1)
	extend(w, r, q.seconds)
	p, err := h.sample(r, &q)
	if r.Context().Err() != nil {
		return // the client has gone
	}
	if errors.Is(err, errNone) {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var b bytes.Buffer
	if err := q.write(&b, p); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	attach(w, "samples."+q.format, b.Bytes())
}

// A request is what the parameters say.
type request struct {
	seconds        float64
	every          time.Duration
	format, metric string
	id             *uint64 // of samples that the program asked for
}

// parse reads the query.
func (q *request) parse(values url.Values) (err error) {
	if q.seconds, err = seconds(values, q.seconds); err != nil {
		return err
	}
	if s := values.Get("every"); s != "" {
		if q.every, err = time.ParseDuration(s); err != nil || q.every < minEvery {
			return fmt.Errorf("every: have %q, want a duration of at least %v", s, minEvery)
		}
	}
	if s := values.Get("format"); s != "" {
		q.format = s
	}
	if s := values.Get("metric"); s != "" {
		q.metric = s
	}
	if s := values.Get("request"); s != "" {
		id, err := strconv.ParseUint(s, 0, 64)
		if err != nil {
			return fmt.Errorf("request: have %q, want a number", s)
		}
		q.id, q.metric = &id, ""
	}
	return nil
}

// write writes p in the format that was asked for.
func (q *request) write(b *bytes.Buffer, p *profile.Profile) error {
	if q.format == "stemma" {
		p, err := profile.Merge(p) // for its canonical order
		if err != nil {
			return err
		}
		return p.Write(b)
	}
	t, err := cct.Of(p, q.metric)
	if err != nil {
		return err
	}
	return export.Write(b, q.format, p, t)
}

// sample samples for a while, or until the client goes, and returns what was
// sampled in that time.
func (h *handler) sample(r *http.Request, q *request) (*profile.Profile, error) {
	if stemma.SamplingDir() == "" {
		return nil, stemma.ErrNotSampled
	}
	if q.id != nil {
		return requested(*q.id)
	}
	if q.seconds == 0 {
		return read()
	}
	before, err := read()
	if err != nil {
		return nil, err
	}
	number := onoff.Shared.Begin(q.every)
	wait(r, q.seconds)
	onoff.Shared.End(number)
	after, err := read()
	if err != nil {
		return nil, err
	}
	return after, after.Subtract(before)
}

// requested returns the samples that the program has asked for under an identifier.
func requested(id uint64) (*profile.Profile, error) {
	p, err := read()
	if err != nil {
		return nil, err
	}
	list := p.RequestsOf(id)
	if len(list) == 0 {
		return nil, fmt.Errorf("request: no sample with identifier %d among %d: %w", id, len(p.Requests), errNone)
	}
	return p.OfRequests(list), nil
}

// errNone is an error of the client's, who asks for what is not there.
var errNone = errors.New("not found")

// read returns all samples since the program began.
func read() (*profile.Profile, error) {
	stemma.RetrieveSamples()
	dir, err := livedir.Open(os.DirFS(stemma.SamplingDir()))
	if err != nil {
		return nil, err
	}
	return dir.Profile, nil
}
