package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReport fills the form for an issue on a machine whose environment has secrets in it.
func TestReport(t *testing.T) {
	const secret = "hunter2"
	home := t.TempDir()
	cache := filepath.Join(home, "deep [below]* "+secret, "cache") // Glob would take it for a pattern
	for i := range 2 {
		used := filepath.Join(cache, fmt.Sprint("key", i), "used")
		if err := os.MkdirAll(filepath.Dir(used), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(used, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"HOME": home, "STEMMA_CACHE": cache, "GOFLAGS": "-mod=mod -ldflags=-X=main.key=" + secret + " -race",
		"STEMMA_OUT": "/srv/" + secret + "/records", "STEMMA_SAMPLING": "every=5ms",
		"STEMMA_PAGER": "env KEY=" + secret + " less",
		"GOPROXY":      "https://user:" + secret + "@proxy.example.com", "CC": "/opt/" + secret + "/cc",
	} {
		t.Setenv(name, value)
	}
	NoteError("report", errors.New(home+"/clients/"+secret+"/app.stemma: offset 7: cut off; see /home/somebody"),
		time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC))
	var out bytes.Buffer
	Report(&out, "v0.1.0")
	text := out.String()
	for _, want := range []string{"stemma     v0.1.0, supports go1.", "\ngo         go1.",
		"\nGOFLAGS    -mod=mod -ldflags=… -race\n",
		"\nkernel     linux ", "\nCPU        ", "STEMMA_SAMPLING=every=5ms", "STEMMA_OUT=…",
		"\ncompiler   not built yet, ",
		"\ncache      $CACHE, 2 compilers · ",
		"\nlast error 2026-11-25 03:00:00: stemma report: ~/…/app.stemma: offset 7: cut off; see …\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, not := range []string{secret, home, "somebody", "\nok "} {
		if strings.Contains(text, not) {
			t.Errorf("%q is in\n%s", not, text)
		}
	}
}

// TestNoteError keeps nothing where there is no cache, and makes none.
func TestNoteError(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "none")
	t.Setenv("STEMMA_CACHE", cache)
	NoteError("run", errors.New("x"), time.Now())
	if _, err := os.Stat(cache); err == nil || lastError() != "" {
		t.Errorf("there is a cache now, with %q", lastError())
	}
}

// TestShorten checks what is left of paths.
func TestShorten(t *testing.T) {
	s := &shortener{known: [][2]string{{"/home/me/.cache/stemma", "$CACHE"}, {"/home/me", "~"}}}
	for text, want := range map[string]string{
		"/home/me/.cache/stemma/0123/compile: denied": "$CACHE/…/compile: denied",
		"/home/me":                          "~",
		"/home/menu/x":                      "…/x",
		"open /data/a/b.go:12: x":           "open …/b.go:12: x",
		"/home/you and '/Users/you'":        "… and '…'",
		"/dev/null, /proc/self/exe, /tmp":   "/dev/null, /proc/self/exe, /tmp",
		"1/2 of a/b.go in example.com/m/p":  "1/2 of a/b.go in example.com/m/p",
		"dir=/mnt/secret/x,other=/mnt/a/b/": "dir=…/x,other=…/b",
	} {
		if have := s.shorten(text); have != want {
			t.Errorf("%q is %q, want %q", text, have, want)
		}
	}
}
