package session

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

func TestParseFigures(t *testing.T) {
	got, err := parseFigures("here/depth=0 1.25 ns\nslog/plain 300 ns\n")
	if err != nil || len(got) != 2 || got["here/depth=0"] != 1.25 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, s := range []string{"here 1\n", "here one ns\n", "panic: no\n"} {
		if got, err := parseFigures(s); err == nil {
			t.Errorf("%q gives %v, want an error", s, got)
		}
	}
}

func TestCommandTellsWhy(t *testing.T) {
	s := &Session{Options: &Options{Timeout: time.Minute}}
	var out bytes.Buffer
	var u Usage
	// On a busy machine a command may have ended before its memory is looked at.
	for wait := 10 * time.Millisecond; u.Peak == 0 && wait < 10*time.Second; wait *= 2 {
		out.Reset()
		var err error
		u, err = s.Command(&out, &slowly{"in", wait}, []string{"A=b"}, "sh", "-c", "cat; echo $A")
		if err != nil || out.String() != "inb\n" {
			t.Fatalf("got %q, %+v, %v", out.String(), u, err)
		}
	}
	if u.Peak == 0 {
		t.Errorf("got %+v, want a peak", u)
	}
	if _, err := s.Command(&out, nil, nil, "sh", "-c", "echo why >&2; exit 2"); err == nil ||
		!strings.Contains(err.Error(), "why") {
		t.Errorf("got %v", err)
	}
	s.Options.Timeout = 20 * time.Millisecond
	if _, err := s.Command(&out, nil, nil, "sleep", "5"); err == nil ||
		!strings.Contains(err.Error(), "stopped after") {
		t.Errorf("got %v", err)
	}
}

// slowly is an input that ends after a while.
type slowly struct {
	text string
	wait time.Duration
}

func (s *slowly) Read(b []byte) (int, error) {
	n := copy(b, s.text)
	s.text = s.text[n:]
	if n == 0 {
		time.Sleep(s.wait)
		return 0, io.EOF
	}
	return n, nil
}

func TestMicroIsNotBuiltTwiceInVain(t *testing.T) {
	s := &Session{missing: map[string]bool{"lucce": true}}
	if m := s.BuildMicro("events", EngineVariant("lucce")); m != nil || len(s.Problems) > 0 {
		t.Errorf("got %v, problems %q", m, s.Problems)
	}
}
