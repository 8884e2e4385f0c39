package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/session"
)

func TestParseFlags(t *testing.T) {
	for _, c := range []struct {
		args     string
		rounds   int
		variants string
	}{
		{"", 6, "cct, dacce, lucce, sample -every=1ms, sample -every=10ms, none, pcce, acct, sample -every=100us, " +
			"cct -inlined=off, pcc, cct+acct, " +
			"sample -sampler=jvmti -every=10ms, sample -sampler=sps -every=10ms, " +
			"sample -sampler=jvmti -every=1ms, sample -sampler=sps -every=1ms, " +
			"sample -sampler=jvmti -every=100us, sample -sampler=sps -every=100us, " +
			"pprof, fgprof, memprofile, race"},
		{"-quick", 3, "cct, dacce, sample -every=1ms"},
		{"-quick -rounds=5", 5, "cct, dacce, sample -every=1ms"},
		{"-variant=pcc -rounds=9", 9, "pcc"},
	} {
		o, err := parseFlags(strings.Fields(c.args))
		if err != nil {
			t.Errorf("%q: %v", c.args, err)
			continue
		}
		var names []string
		for _, v := range o.Variants {
			names = append(names, v.Name)
		}
		if got := strings.Join(names, ", "); got != c.variants || o.Rounds != c.rounds {
			t.Errorf("%q: %d rounds of %s, want %d of %s", c.args, o.Rounds, got, c.rounds, c.variants)
		}
	}
	for _, args := range []string{"-rounds=-1", "-variant=", "-only=nothing", "extra"} {
		if _, err := parseFlags(strings.Fields(args)); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestChosenExperiments(t *testing.T) {
	for args, want := range map[string]string{
		"":                     "overhead encoders events requests trees replay scaling sampling flat waiting",
		"-builds":              "overhead encoders events requests trees replay scaling sampling flat waiting builds",
		"-only=scaling,events": "events scaling",
		"-only=builds":         "builds",
	} {
		o, err := parseFlags(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range chosen(o) {
			names = append(names, e.name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: %s, want %s", args, got, want)
		}
	}
}

func TestEstimates(t *testing.T) {
	estimate := func(args string, programs []string) time.Duration {
		o, err := parseFlags(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		s := &session.Session{Options: o}
		for _, name := range programs {
			s.Programs = append(s.Programs, &program.Program{Name: name})
		}
		total := time.Duration(0)
		for _, e := range chosen(o) {
			total += e.estimate(s)
		}
		return total
	}
	if d := estimate("-quick", session.LandmarkPrograms); d > 10*time.Minute {
		t.Errorf("-quick takes %v, want at most 10 minutes", d)
	}
	ten := append(make([]string, 7), session.LandmarkPrograms...)
	if d := estimate("", ten); d > 90*time.Minute || d < 30*time.Minute {
		t.Errorf("all takes %v, want at most 90 minutes, and a true estimate", d)
	}
}

// TestMethodHasExperiments finds each command of a directory here in METHOD.md, and each that is there as a directory.
func TestMethodHasExperiments(t *testing.T) {
	text, err := os.ReadFile("METHOD.md")
	if err != nil {
		t.Fatal(err)
	}
	named := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^    go run \./([a-z]+) `).FindAllSubmatch(text, -1) {
		named[string(m[1])] = true
	}
	files, err := filepath.Glob("*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		if !named[dir] {
			t.Errorf("METHOD.md lacks a line for %s", dir)
		}
		delete(named, dir)
	}
	for dir := range named {
		t.Errorf("METHOD.md has a line for %s, of which there is no main.go", dir)
	}
}
