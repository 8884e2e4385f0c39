package stemmahttp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/stemmahttp"
)

// TestRequests checks the answers of a program that is not built for sampling, and to
// parameters that make no sense. The rest is tested in internal/e2e.
func TestRequests(t *testing.T) {
	for query, want := range map[string]string{
		"":                      "not built with -engine=sample",
		"seconds=x":             "seconds: have",
		"seconds=-1":            "seconds: have",
		"seconds=NaN":           "seconds: have",
		"seconds=1e9":           "seconds: have",
		"seconds=601":           "seconds: have \"601\", want a number from 0 to 600",
		"seconds=1&every=1ns":   "every: have",
		"seconds=1&every=999us": "every: have \"999us\", want a duration of at least 1ms",
		"seconds=1&every=never": "every: have",
	} {
		w := httptest.NewRecorder()
		stemmahttp.Samples().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?"+query, nil))
		if w.Code == http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q: have %d %q, want %q", query, w.Code, w.Body, want)
		}
	}
}
