package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/level"
	"github.com/stemma-go/stemma/profile"
)

// What a record may call a function, to be more than a name on a page.
const evil = "main.</script><img src=x onerror=alert(1)>\x1b]0;x\a\u202e<!--{{.}}"

// rename gives all functions of a profile other names.
func rename(p *profile.Profile, name func(old string) string) {
	for i, f := range p.Funcs {
		if i > 0 {
			p.Strings = append(p.Strings, name(p.Strings[f.Name]))
			p.Funcs[i].Name = uint32(len(p.Strings) - 1)
		}
	}
}

// get returns an answer of the server.
func get(v *View, path, host, site string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	r.Host = host
	if site != "" {
		r.Header.Set("Sec-Fetch-Site", site)
	}
	w := httptest.NewRecorder()
	v.Handler("box.example").ServeHTTP(w, r)
	return w
}

// Only requests that come from the page itself are answered, and the page may run no script but its
// own file.
func TestServerGuards(t *testing.T) {
	v := viewOf(t, random(t, 100, 7), nil)
	for _, c := range []struct {
		path, host, site string
		want             int
	}{
		{"/", "127.0.0.1:7001", "", 200},
		{"/", "localhost:7001", "", 200},
		{"/", "[::1]:7001", "", 200},
		{"/", "BOX.example:7001", "", 200},
		{"/", "evil.example:7001", "", 403},
		{"/", "127.0.0.1.evil.example", "", 403},
		{"/ask/info", "evil.example", "same-origin", 403},
		{"/ask/info", "127.0.0.1:7001", "same-origin", 200},
		{"/ask/info", "127.0.0.1:7001", "cross-site", 403},
		{"/ask/info", "127.0.0.1:7001", "same-site", 403},
		{"/", "127.0.0.1:7001", "cross-site", 200},
		{"/ask/nothing", "localhost", "", 422},
		{"/assets/view.js", "localhost", "", 404},
	} {
		w := get(v, c.path, c.host, c.site)
		if w.Code != c.want {
			t.Errorf("%s of %s from %q: %d, want %d", c.path, c.host, c.site, w.Code, c.want)
		}
		csp := w.Header().Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'; script-src 'self';") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", c.path, csp)
		}
	}
	more := regexp.MustCompile(`(?i)\son\w+=|style=|https?://`)
	if page := get(v, "/", "localhost", "").Body.String(); strings.Count(page, "<script") != 1 ||
		more.MatchString(page) {
		t.Errorf("the page has more than its one script:\n%s", page)
	}
}

// The script makes nodes; it does not parse text as HTML or as code.
func TestScriptParsesNothing(t *testing.T) {
	js := string(script())
	for _, word := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
		"new Function", "DOMParser", "createContextualFragment", "srcdoc", "http://", "https://"} {
		if strings.Contains(js, word) {
			t.Errorf("view.js has %s", word)
		}
	}
}

// No name ends the element that a page in a file has its data in, nor gets anywhere unescaped.
func TestHostilePage(t *testing.T) {
	p := random(t, 300, 7)
	rename(p, func(old string) string { return evil + old })
	p.Processes[0].Args, p.Processes[0].Notes = []string{evil}, []string{evil}
	v := viewOf(t, p, nil)
	v.m.data.Title, v.m.data.Warnings = evil, []string{evil}
	var b bytes.Buffer
	if err := v.Write(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if n := strings.Count(page, "<script"); n != 2 {
		t.Errorf("%d scripts, want the data and ours", n)
	}
	for _, bad := range []string{"<img", "\x1b", "\u202e", "<!--"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if answers := answersIn(t, page); len(answers) < 10 {
		t.Fatalf("%d answers in the page", len(answers))
	}
	csp := regexp.MustCompile(`script-src '(sha256-[^']+)'`).FindStringSubmatch(page)
	script := regexp.MustCompile(`(?s)<script>(.*)</script>\n</body>`).FindStringSubmatch(page)
	if csp == nil || script == nil || digest([]byte(script[1])) != csp[1] {
		t.Error("the policy does not name the script that is there")
	}
	if strings.Contains(page, "src=\"view") || strings.Contains(page, "href=\"view") {
		t.Error("the page needs other files")
	}
}

// answersIn returns the answers that are in a page.
func answersIn(t *testing.T, page string) (answers map[string]json.RawMessage) {
	t.Helper()
	data := regexp.MustCompile(`id="answers">([A-Za-z0-9+/=]*)</script>`).FindStringSubmatch(page)
	if data == nil {
		t.Fatal("no answers in the page")
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data[1])))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&answers); err != nil {
		t.Fatal(err)
	}
	return answers
}

// A name of 1 MB reaches no page in full, and the function is found anyway.
func TestLongName(t *testing.T) {
	p := random(t, 300, 7)
	rename(p, func(old string) string { return strings.Repeat("é", 1<<19) + old })
	v := viewOf(t, p, nil)
	rows := answer[*functionsAnswer](t, v, "functions").Rows
	for _, path := range []string{"/ask/flame", "/ask/functions", "/ask/flame?kind=callers&func=" + rows[0].Key,
		"/ask/source?func=" + rows[1].Key, "/ask/info"} {
		w := get(v, path, "localhost", "")
		if w.Code != 200 || w.Body.Len() > 1<<20 {
			t.Errorf("%s: %d with %d bytes", path, w.Code, w.Body.Len())
		}
	}
	if rows[0].Key == rows[1].Key || len([]rune(rows[0].Name)) != maxName {
		t.Errorf("names of %d characters, keys %s and %s", len([]rune(rows[0].Name)), rows[0].Key, rows[1].Key)
	}
}

// wide returns a profile with as many callees of one root as nodes, each of its own function.
func wide(t testing.TB, n int) *profile.Profile {
	p := profile.New(profile.Calls)
	p.Processes = []profile.Process{{Args: []string{"wide"}, Run: 1, GoVersion: "go1.26.8", Engine: "cct"}}
	p.Strings = append(p.Strings, "main.go")
	counts := []uint64{0}
	for i := range uint32(n) {
		p.Strings = append(p.Strings, fmt.Sprint("main.f", i))
		p.Funcs = append(p.Funcs, profile.Func{Name: i + 2, File: 1, Line: i + 1, Counters: 1})
		p.Nodes = append(p.Nodes, profile.Node{Func: i + 1, First: i + 1})
		counts = append(counts, 1)
	}
	p.Columns[0].Values = counts
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return p
}

// Where all boxes are too small to be seen the first are drawn out of scale, and the rest can be
// gone through: a million roots are no blank page, and no answer without bounds.
func TestMillionRoots(t *testing.T) {
	n := level.Rounds(50_000, 1_000_000)
	v := viewOf(t, wide(t, n), nil)
	a := answer[*flameAnswer](t, v, "flame")
	root := a.Boxes[1].ID // [main]
	seen, skip := 0, "0"
	for range 5 {
		a = answer[*flameAnswer](t, v, "flame", "root", root, "skip", skip)
		f := a.Boxes[0].Rest
		if len(a.Boxes) < 10 || len(a.Boxes) > maxBoxes || a.Scaled || f == nil {
			t.Fatalf("%d boxes, to scale %v", len(a.Boxes), a.Scaled)
		}
		before := uint64(seen)
		seen += len(a.Boxes) - 1
		if a.Boxes[0].Total+before != uint64(n) || f.Contexts+uint64(seen) != uint64(n) || f.Skip != seen {
			t.Fatalf("behind %d: %d in all, %d in the rest, of %d", seen, a.Boxes[0].Total, f.Contexts, n)
		}
		for _, b := range a.Boxes[1:] {
			if share := float64(b.Width) / float64(a.Span); share < 0.001 {
				t.Fatalf("a box has %g of the width", share)
			}
		}
		skip = fmt.Sprint(f.Skip)
	}
	if w := get(v, "/ask/functions", "localhost", ""); w.Body.Len() > 1<<20 {
		t.Errorf("a table of %d bytes", w.Body.Len())
	}
}
