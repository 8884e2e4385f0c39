package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/profile"
)

// TestComparedContexts reads what stemma verify prints, which exits 1 where contexts differ.
func TestComparedContexts(t *testing.T) {
	for printed, want := range map[string]compared{
		"echo 'checked 12345 contexts, 0 mismatches'":                                        {12345, 0},
		"echo 'warning: of 3 calls'; echo 'checked 5 contexts, 2 mismatches'; exit 1":        {5, 2},
		"echo 'stemma: no records of the checker' >&2; exit 1":                               {},
		"echo 'checked 5 contexts, 2 mismatches of 99999999999999999999 contexts'; exit 1":   {},
		"echo 'checked 99999999999999999999 contexts, 0 mismatches'; echo 'that is a lot'\n": {},
	} {
		s := &session.Session{Options: &session.Options{Timeout: time.Minute},
			Bench: &measure.Bench{Stemma: filepath.Join(t.TempDir(), "stemma")}}
		if err := os.WriteFile(s.Bench.Stemma, []byte("#!/bin/sh\n"+printed+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		got, err := comparedContexts(s, t.TempDir())
		if got.contexts != want.contexts && want != (compared{}) || got.mismatches != want.mismatches ||
			(err != nil) != (want == compared{}) {
			t.Errorf("%s: %+v, %v; want %+v", printed, got, err, want)
		}
		if kept := strings.Join(s.Problems, "\n"); strings.Contains(kept, "2 mismatches") != (want.mismatches > 0) {
			t.Errorf("%s: kept %q", printed, kept)
		}
	}
}

func TestComparedCells(t *testing.T) {
	got := strings.Join(comparedCells("all", []compared{{10, 0}, {}, {20, 3}}), "|")
	if want := "all|10||20|3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	sampling := &profile.Sampling{Stats: []profile.Loss{{Kind: "checked", Count: 9}, {Kind: "mismatches", Count: 1},
		{Kind: "dead", Count: 2}}}
	if got, want := samplesOf(sampling), (compared{9, 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestChosen verifies the engines of -variant only, with all that is done with them.
func TestChosen(t *testing.T) {
	names := func(o *session.Options) string {
		list, err := chosen(o)
		if err != nil {
			return err.Error()
		}
		var s []string
		for _, p := range list {
			s = append(s, p.name)
		}
		return strings.Join(s, "; ")
	}
	all := []measure.Variant{{Flags: []string{"-engine=dacce", "-inlined=off"}}, {Flags: []string{"-engine=pcc"}}}
	for want, o := range map[string]*session.Options{
		"cct; dacce; dacce, forced; pcce; lucce; sample": {Variants: all},
		"dacce; dacce, forced":                           {Variants: all, Chosen: true},
		"-variant: engines pcc have no contexts to compare; want cct, dacce, pcce, lucce or sample": {
			Variants: all[1:], Chosen: true},
	} {
		if have := names(o); have != want {
			t.Errorf("have %q, want %q", have, want)
		}
	}
}
