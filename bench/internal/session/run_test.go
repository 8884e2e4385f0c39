package session

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
)

func TestMissingEngineIsOneProblem(t *testing.T) {
	s := &Session{missing: make(map[string]bool)}
	v := EngineVariant("pcce")
	err := errors.New("build: stemma build: exit status 2\n\tstemma: -engine=pcce: not available in this " +
		"version; it has cct")
	for range 3 {
		if s.Available(v) && s.isAvailable(v, err) {
			t.Error("the engine counts as available")
		}
	}
	if len(s.Problems) != 1 || !strings.HasPrefix(s.Problems[0], "pcce: not measured") {
		t.Errorf("problems %q, want one", s.Problems)
	}
	if !s.isAvailable(EngineVariant("cct"), errors.New("exit status 1")) || !s.isAvailable(measure.Plain, err) {
		t.Error("another failure counts as a missing engine")
	}
}

func TestOtherChecksumIsAProblem(t *testing.T) {
	s := &Session{Checksums: make(map[string]string)}
	p := &program.Program{Name: "demo"}
	for _, sum := range []string{"a", "a", "b"} {
		s.CheckSum(p, EngineVariant("dacce"), sum)
	}
	if len(s.Problems) != 1 || !strings.Contains(s.Problems[0], `checksum "b", want "a"`) {
		t.Errorf("problems %q", s.Problems)
	}
}

// TestBuildsTime leaves out what the table of overhead has built, if that is made.
func TestBuildsTime(t *testing.T) {
	pcce, lucce := EngineVariant("pcce"), EngineVariant("lucce", "-verify")
	for _, c := range []struct {
		only []string
		want int
	}{{nil, 1}, {[]string{"overhead", "trees"}, 1}, {[]string{"trees"}, 3}} {
		s := &Session{Options: &Options{Only: c.only, Variants: []measure.Variant{pcce}}}
		if have := s.BuildsTime(measure.Plain, pcce, lucce); have != time.Duration(c.want)*s.BuildTime() {
			t.Errorf("-only=%v: have %v, want %d builds", c.only, have, c.want)
		}
	}
}

// TestLandmarks chooses the programs for builds that are there for comparison.
func TestLandmarks(t *testing.T) {
	for _, c := range []struct{ programs, want string }{
		{"crypto gopherlua site", "gopherlua site"}, {"other another", "other"}, {"nats", "nats"},
	} {
		s := new(Session)
		var have []string
		for name := range strings.FieldsSeq(c.programs) {
			s.Programs = append(s.Programs, &program.Program{Name: name})
		}
		for _, p := range s.Programs {
			if s.Landmarks(p) {
				have = append(have, p.Name)
			}
		}
		if got := strings.Join(have, " "); got != c.want {
			t.Errorf("of %s: have %s, want %s", c.programs, got, c.want)
		}
	}
}
