package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/patience"
)

// TestSilent has a server that takes a request and does not answer, and one that ends in the middle of an answer: the
// request is given up.
func TestSilent(t *testing.T) {
	for _, begins := range []bool{false, true} {
		ended := make(chan struct{})
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if begins {
				_, _ = io.WriteString(w, "half of")
				_ = http.NewResponseController(w).Flush()
			}
			<-ended
		}))
		s, err := New(h.URL)
		if err != nil {
			t.Fatal(err)
		}
		s.Patience = 50 * time.Millisecond
		text, err := s.Post(context.Background(), "/", "text/plain", strings.NewReader("?"), 100)
		if !errors.Is(err, patience.ErrSilent) || strings.Contains(err.Error(), "context") {
			t.Errorf("begins %v: %q, %v", begins, text, err)
		}
		close(ended)
		h.Close()
	}
}

// TestNew has addresses that are wrong, where what stands before the @ is a password: no message has it.
func TestNew(t *testing.T) {
	for _, address := range []string{"http://me:1?secret@x", "http://me:1#secret@x", "http://me:1/secret@x",
		"http://me:secret?@x", "http://me:secret@x?y", "http://me:secret@x:y", "me:secret@x", "http://me:%secret@x"} {
		if s, err := New(address); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %+v, %v", address, s, err)
		}
	}
	if s, err := New("http://me:secret@x:1/p/"); err != nil || s.Name != "http://x:1/p/" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestPage has a page where somebody is to sign in, with a code of success: it is no answer.
func TestPage(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "<!doctype html><p>Sign in")
	}))
	defer web.Close()
	s, err := New(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.Post(context.Background(), "/", "text/plain", nil, 100)
	if answer := new(Error); !errors.As(err, &answer) || !strings.Contains(err.Error(), "Sign in") || answer.Busy() ||
		answer.Refusal() || answer.CannotTell() {
		t.Errorf("%q, %v", text, err)
	}
}
