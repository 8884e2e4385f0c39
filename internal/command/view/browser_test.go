package view

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stemma-go/stemma/internal/page"
	"github.com/stemma-go/stemma/internal/testing/browser"
	"github.com/stemma-go/stemma/profile"
)

// What a function's name tries in a browser.
const evil = `main.<img src=x onerror="document.title='owned'">`

// sealed seals a profile of testdata, with a change, and returns the path of the file.
func sealed(t *testing.T, name string, change func(*profile.Profile)) string {
	t.Helper()
	text, err := os.ReadFile("../../../profile/testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseText(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	change(p)
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name+".stemma")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// hostileRecord seals a profile whose functions have such names.
func hostileRecord(t *testing.T) string {
	t.Helper()
	return sealed(t, "shapes", func(p *profile.Profile) {
		for i, s := range p.Strings {
			p.Strings[i] = strings.Replace(s, "main.", evil, 1)
		}
	})
}

// chromium is the browser of all tests, which is started for the first, and where it writes.
var chromium struct {
	sync.Mutex
	b   *browser.Browser
	dir string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if chromium.b != nil {
		_ = chromium.b.Close()
		_ = os.RemoveAll(chromium.dir)
	}
	os.Exit(code)
}

// started returns the browser.
func started(path string) (*browser.Browser, error) {
	chromium.Lock()
	defer chromium.Unlock()
	if chromium.b != nil {
		return chromium.b, nil
	}
	var err error
	if chromium.dir, err = os.MkdirTemp("", "stemma-display"); err != nil {
		return nil, err
	}
	chromium.b, err = browser.Start(path, chromium.dir)
	return chromium.b, err
}

// tab returns an empty tab of the browser, which is closed when the test ends.
func tab(t *testing.T) *browser.Page {
	t.Helper()
	path, err := browser.Find()
	if err != nil {
		t.Skip(err)
	}
	if testing.Short() {
		t.Skip("starts a browser; run without -short")
	}
	b, err := started(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.Open(1280, 800)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Call("Page.close", nil, nil) })
	return p
}

// serve serves the page of a record and returns its address.
func serve(t *testing.T, path, base string) (v *page.View, url string) {
	t.Helper()
	v, _, err := Open([]string{path}, base)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(v.Handler(""))
	t.Cleanup(s.Close)
	return v, s.URL + "/"
}

// In a real browser each view comes up, from the server and from a file, and a hostile name is
// text there.
func TestBrowser(t *testing.T) {
	p := tab(t)
	v, url := serve(t, hostileRecord(t), "")
	page := filepath.Join(t.TempDir(), "page.html")
	var b bytes.Buffer
	if err := v.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ url, want string }{
		{url + "#view=flame", "<canvas"},
		{url + "#view=icicle", "<canvas"},
		{url + "#view=functions", "main.&lt;img src=x"},
		{url + "#view=source", "main.&lt;img src=x"},
		{url + "#view=sandwich", "↑ callers · "},
		{url + "#view=goroutines", "[root]"},
		{"file://" + page + "#view=functions", "main.&lt;img src=x"},
		{"file://" + page + "#view=source", "main.&lt;img src=x"},
	} {
		var dom string
		for _, err := range []error{
			p.Go("about:blank"), p.Wait("!window.painted"), // else a new link is no new page
			p.Go(c.url), p.Wait("window.painted"), p.Eval("document.documentElement.outerHTML", &dom),
		} {
			if err != nil {
				t.Fatalf("%s: %v", c.url, err)
			}
		}
		i := strings.Index(dom, "<main")
		if i < 0 || !strings.Contains(dom[i:], c.want) && !strings.Contains(dom[:i], c.want) {
			t.Errorf("%s: no %q in\n%.3000s", c.url, c.want, dom)
		}
		if strings.Contains(dom, "<img") || strings.Contains(dom, "<title>owned") {
			t.Errorf("%s: a name became an element", c.url)
		}
	}
	if said := p.Said(); len(said) > 0 {
		t.Errorf("the browser has something to say: %s", said)
	}
}
