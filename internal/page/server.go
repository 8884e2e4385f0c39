package page

import (
	"embed"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
)

// # What a page may do
//
// Names in a record may be anything, and any page in the same browser can send requests to this
// server. So the page makes elements and text nodes and never parses HTML, its policy
// allows no script but the one file, and requests are answered only under a name that no other
// site can have: an address, localhost, or the name that the user gave (else a name that
// someone points here would let their page read the answers).

//go:embed assets
var assets embed.FS

func asset(name string) []byte {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // it is in the binary
	}
	return b
}

// policy is the Content-Security-Policy of all answers.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the page and its questions. host is a name under which it may be reached, beside
// addresses and localhost, or "".
func (v *View) Handler(host string) http.Handler {
	mux := http.NewServeMux()
	for path, a := range map[string]struct {
		text []byte
		kind string
	}{
		"/{$}":      {asset("view.html"), "text/html; charset=utf-8"},
		"/view.js":  {script(), "text/javascript; charset=utf-8"},
		"/view.css": {asset("view.css"), "text/css; charset=utf-8"},
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", a.kind)
			_, _ = w.Write(a.text) // whoever does not listen any more gets nothing
		})
	}
	mux.HandleFunc("GET /ask/{question}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, err := v.Answer(r.PathValue("question"), Args(r.URL.Query()))
		if err != nil {
			w.WriteHeader(http.StatusUnprocessableEntity)
			answer = map[string]string{"error": cut(err.Error())}
		}
		_ = json.NewEncoder(w).Encode(answer) // as above
	})
	return guard(host, mux)
}

// guard refuses requests that another site may have made, and tells the browser what the
// page may do.
func guard(host string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		site := r.Header.Get("Sec-Fetch-Site") // a link elsewhere may open the page, but not more
		foreign := !slices.Contains([]string{"", "same-origin", "none"}, site) && r.URL.Path != "/"
		if !ownHost(r.Host, host) || foreign {
			http.Error(w, "this server answers only its own page, under its address or as localhost",
				http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownHost reports whether a Host header is one that only this server can have.
func ownHost(header, own string) bool {
	name := header
	if h, _, err := net.SplitHostPort(header); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	return net.ParseIP(name) != nil || name == "localhost" || own != "" && name == strings.ToLower(own)
}
