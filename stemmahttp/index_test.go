package stemmahttp

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestEachPageIsBounded asks for each page while as many requests as it answers are being answered, and by methods that
// have nothing to get.
func TestEachPageIsBounded(t *testing.T) {
	for name, h := range Handler().(*tree).handlers {
		if w := ask(h, http.MethodPost, name); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST %q: have %d, want %d", name, w.Code, http.StatusMethodNotAllowed)
		}
		busy(t, h)
		if w := ask(h, http.MethodGet, name); w.Code != http.StatusServiceUnavailable {
			t.Errorf("%q with all its requests: have %d, want %d", name, w.Code, http.StatusServiceUnavailable)
		}
	}
}

func ask(h http.Handler, method, name string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, "/debug/stemma/"+name, nil))
	return w
}

// busy makes a handler answer as many requests as it does.
func busy(t *testing.T, h http.Handler) {
	t.Helper()
	switch h := h.(type) {
	case *index:
		h.requests.Store(maxIndexes)
	case *pprofHandler:
		h.requests.Store(maxReadings)
	case *handler:
		h.requests.Store(maxRequests)
	default:
		t.Errorf("%T: a handler whose requests nobody counts", h)
	}
}
