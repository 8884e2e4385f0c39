package stemmahttp

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestTooMany checks that there is a bound of requests at a time, and that each makes
// room for another one when it has been answered.
func TestTooMany(t *testing.T) {
	h := new(handler)
	get := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?seconds=7", nil))
		return w
	}
	for range 2 * maxRequests { // one after the other
		if w := get(); w.Code == http.StatusServiceUnavailable {
			t.Fatalf("have %d %q", w.Code, w.Body)
		}
	}
	h.requests.Store(maxRequests)
	if w := get(); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "8" {
		t.Errorf("have %d, retry after %q; want 503 and 8", w.Code, w.Header().Get("Retry-After"))
	}
	if n := h.requests.Load(); n != maxRequests {
		t.Errorf("%d requests, want %d", n, maxRequests)
	}
}
