package stemmahttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/stemmahttp"
)

// TestRequests checks the answers of a program that is not built for sampling, and to
// parameters that make no sense. The rest is tested in internal/testing/e2e.
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

// A body is one that must not be read.
type body struct {
	io.Reader
	read int
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read += n
	return n, err
}

// TestBodies sends bodies with parameters, which others may make as large as they like.
func TestBodies(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	const head = "--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n"
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, "ODD"} {
		for _, kind := range []string{"multipart/form-data; boundary=x", "application/x-www-form-urlencoded"} {
			b := &body{Reader: io.MultiReader(strings.NewReader(head),
				strings.NewReader(strings.Repeat("seconds=0&", 1<<20)), strings.NewReader("\r\n--x--\r\n"))}
			r := httptest.NewRequest(method, "/?seconds=0", b)
			r.Header.Set("Content-Type", kind)
			w := httptest.NewRecorder()
			stemmahttp.Samples().ServeHTTP(w, r)
			if refused := w.Code == http.StatusMethodNotAllowed; refused != (method != "GET" && method != "HEAD") {
				t.Errorf("%s: have %d", method, w.Code)
			}
			if b.read > 0 || r.MultipartForm != nil {
				t.Errorf("%s %s: %d bytes of the body were read", method, kind, b.read)
			}
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/?format="+strings.Repeat("x", 1<<20), nil)
	w := httptest.NewRecorder()
	if stemmahttp.Samples().ServeHTTP(w, r); w.Code != http.StatusBadRequest || w.Body.Len() > 1000 {
		t.Errorf("a long query: have %d and %d bytes", w.Code, w.Body.Len())
	}
}
