package session

import (
	"bytes"
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
	u, err := s.Command(&out, strings.NewReader("in"), []string{"A=b"}, "sh", "-c", "cat; echo $A")
	if err != nil || out.String() != "inb\n" || u.Peak == 0 {
		t.Errorf("got %q, %+v, %v", out.String(), u, err)
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

func TestMicroIsNotBuiltTwiceInVain(t *testing.T) {
	s := &Session{missing: map[string]bool{"lucce": true}}
	if m := s.BuildMicro("events", EngineVariant("lucce")); m != nil || len(s.Problems) > 0 {
		t.Errorf("got %v, problems %q", m, s.Problems)
	}
}
