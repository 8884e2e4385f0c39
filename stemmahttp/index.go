package stemmahttp

import (
	"bytes"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync/atomic"

	"github.com/stemma-go/stemma"
	"github.com/stemma-go/stemma/profile"
)

// Handler returns a handler for the path /debug/stemma/, or any other one that ends with a slash. It answers below it
// with
//
//	pprof    [Pprof]
//	samples  [Samples]
//
// and for the path itself with a page that links to them, beside that of net/http/pprof. Two requests of the page are
// answered at a time; others get status 503, Service Unavailable.
func Handler() http.Handler {
	return &tree{map[string]http.Handler{"": new(index), "pprof": Pprof(), "samples": Samples()}}
}

// maxIndexes is how many requests for the page are answered at a time.
const maxIndexes = 2

// A tree has the handlers of the paths below its own.
type tree struct{ handlers map[string]http.Handler }

func (t *tree) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, name := path.Split(r.URL.Path)
	h, ok := t.handlers[name]
	if !ok {
		http.Error(w, fmt.Sprintf("no page %.40q; want pprof or samples", name), http.StatusNotFound)
		return
	}
	h.ServeHTTP(w, r)
}

// An index shows what there is to ask for, and keeps count of its requests: each holds a snapshot.
type index struct {
	requests atomic.Int32
}

func (h *index) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	none := func(url.Values) error { return nil } // it has no parameters
	if !accept(w, r, none) || !enter(w, &h.requests, maxIndexes, 0) {
		return
	}
	defer h.requests.Add(-1)
	stemma.Bypass(func() {
		var b bytes.Buffer
		b.WriteString(head)
		p, err := stemma.Snapshot()
		if err != nil {
			fmt.Fprintf(&b, "<p>%s</p>\n", html.EscapeString(err.Error()))
		} else {
			list(&b, p)
		}
		b.WriteString("<p><a href=\"../pprof/\">Go's own profiles</a>, if the program imports net/http/pprof.</p>\n")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Write(b.Bytes()) // an error is that of a client that has gone
	})
}

const head = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>/debug/stemma/</title>
<style>
body { font-family: sans-serif; margin: 2em; max-width: 50em }
td, th { padding: .2em 1em .2em 0; text-align: left }
</style>
<h1>/debug/stemma/</h1>
`

// list writes a row for each metric of p.
func list(b *bytes.Buffer, p *profile.Profile) {
	for _, proc := range p.Processes {
		fmt.Fprintf(b, "<p><code>%s</code>, engine %s, %d nodes of contexts</p>\n",
			html.EscapeString(profile.Printable(strings.Join(proc.Args, " "))), html.EscapeString(proc.Engine),
			len(p.Nodes))
	}
	b.WriteString("<table>\n<tr><th>metric<th>all of it is<th>as text<th>for pprof\n")
	for _, c := range p.Columns {
		how := "exact"
		if c.Sampled || c.Metric == profile.ContextCPU {
			how = "sampled"
		}
		fmt.Fprintf(b, "<tr><td>%[1]s<td>%[2]s, %[3]s"+
			"<td><a href=\"pprof?debug=1&amp;metric=%[1]s\">all</a>, "+
			"<a href=\"pprof?debug=1&amp;seconds=5&amp;metric=%[1]s\">5 s</a>"+
			"<td><a href=\"pprof?metric=%[1]s\">all</a>, <a href=\"pprof?seconds=30&amp;metric=%[1]s\">30 s</a>\n",
			html.EscapeString(c.Name), html.EscapeString(c.About), how)
	}
	b.WriteString("</table>\n")
	b.WriteString("<p><code>go tool pprof</code> reads the addresses of the last column.</p>\n")
	if stemma.SamplingDir() != "" {
		b.WriteString("<p><a href=\"samples?seconds=5\">Samples of 5 s</a></p>\n")
	}
}
