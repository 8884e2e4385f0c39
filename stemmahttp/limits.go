package stemmahttp

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"
)

// accept parses the query of a request, and answers one that is not understood. The body is not looked at: parameters
// there would be parsed at any size, into files.
func accept(w http.ResponseWriter, r *http.Request, parse func(url.Values) error) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, fmt.Sprintf("method: have %.20q, want GET", r.Method), http.StatusMethodNotAllowed)
		return false
	}
	err := fmt.Errorf("query: have %d bytes, want at most %d", len(r.URL.RawQuery), maxQuery)
	if len(r.URL.RawQuery) <= maxQuery {
		err = parse(r.URL.Query())
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

// seconds returns the parameter of that name, or what is usual.
func seconds(values url.Values, usual float64) (float64, error) {
	s := values.Get("seconds")
	if s == "" {
		return usual, nil
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n >= 0 && n <= maxSeconds) {
		return 0, fmt.Errorf("seconds: have %q, want a number from 0 to %d", s, maxSeconds)
	}
	return n, nil
}

// enter counts a request that is being answered, and refuses one that is more than most. It returns whether the request
// may go on; then the count must be taken back.
func enter(w http.ResponseWriter, requests *atomic.Int32, most int32, seconds float64) bool {
	if requests.Add(1) <= most {
		return true
	}
	requests.Add(-1)
	w.Header().Set("Retry-After", strconv.Itoa(int(seconds)+1))
	http.Error(w, fmt.Sprintf("%d requests are being answered, and no more are at a time; try again later",
		most), http.StatusServiceUnavailable)
	return false
}

// extend gives an answer that comes after some seconds the time to be written that the server gives others.
func extend(w http.ResponseWriter, r *http.Request, seconds float64) {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if ok && server.WriteTimeout > 0 {
		// If it fails, the server does not let handlers do it; the answer may be cut.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(server.WriteTimeout + duration(seconds)))
	}
}

// wait waits for some seconds, or until the client has gone.
func wait(r *http.Request, seconds float64) {
	gone := r.Context().Done()
	t := time.NewTimer(duration(seconds))
	defer t.Stop()
	select {
	case <-gone:
	case <-t.C:
	}
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// attach answers with a file.
func attach(w http.ResponseWriter, name string, data []byte) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
	w.Write(data) // an error is that of a client that has gone
}
