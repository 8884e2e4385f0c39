package display

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/profile"
)

// What a function's name tries in a browser.
const evil = `main.<img src=x onerror="document.title='owned'">`

// hostileRecord writes a record whose functions have such names.
func hostileRecord(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../profile/testdata/shapes.txt")
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseText(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range p.Strings {
		p.Strings[i] = strings.Replace(s, "main.", evil, 1)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hostile.stemma")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// In a real browser each view comes up, from the server and from a file, and a hostile name is
// text there.
func TestBrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium; run it where there is one (Debian: apt-get install chromium)")
	}
	if testing.Short() {
		t.Skip("starts a browser; run without -short")
	}
	v, _, err := Open([]string{hostileRecord(t)}, "")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(v.Handler(""))
	defer s.Close()
	page := filepath.Join(t.TempDir(), "page.html")
	var b bytes.Buffer
	if err := v.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ url, want string }{
		{s.URL + "/#view=flame", "<canvas"},
		{s.URL + "/#view=functions", "main.&lt;img src=x"},
		{s.URL + "/#view=sandwich", "↑ callers · "},
		{s.URL + "/#view=goroutines", "[root]"},
		{"file://" + page + "#view=functions", "main.&lt;img src=x"},
		{"file://" + page + "#view=source", "main.&lt;img src=x"},
	} {
		dom := domOf(t, browser, c.url)
		i := strings.Index(dom, "<main")
		if i < 0 || !strings.Contains(dom[i:], c.want) && !strings.Contains(dom[:i], c.want) {
			t.Errorf("%s: no %q in\n%.3000s", c.url, c.want, dom)
		}
		if strings.Contains(dom, "<img") || strings.Contains(dom, "<title>owned") {
			t.Errorf("%s: a name became an element", c.url)
		}
	}
}

// domOf returns what a browser has made of a page when all is still.
func domOf(t *testing.T, browser, url string) string {
	t.Helper()
	args := []string{"--headless", "--disable-gpu", "--user-data-dir=" + t.TempDir(),
		"--virtual-time-budget=5000", "--dump-dom", url}
	if os.Getuid() == 0 {
		args = append([]string{"--no-sandbox"}, args...) // it refuses to run otherwise
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, browser, args...).Output()
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return string(out)
}
