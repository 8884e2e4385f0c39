package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/bench/internal/suite"
)

// TestFiles reads the lists of this directory: modules of at least fifteen kinds, and
// exceptions.
func TestFiles(t *testing.T) {
	if _, err := suite.ParseExceptions(exceptionsText); err != nil {
		t.Error(err)
	}
	list, err := parseModules(modulesText)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, m := range list {
		if names[m.name()] {
			t.Errorf("%s is there twice", m.name())
		}
		names[m.name()] = true
	}
	if len(names) < 15 {
		t.Errorf("%d modules, want at least 15", len(names))
	}
}

func TestParseModules(t *testing.T) {
	list, err := parseModules("# why\n\na.b/c v1.2.3 # what\na.b/d/v2 v2.0.0 ./x ./y/... -run=X \"-gcflags=all=-N " +
		"-l\" CGO_ENABLED=0\n")
	if err != nil || len(list) != 2 {
		t.Fatalf("%d modules, %v", len(list), err)
	}
	if c := list[0]; c.name() != "a.b/c" || c.version != "v1.2.3" || !slices.Equal(c.packages, []string{"."}) ||
		c.flags != nil {
		t.Errorf("have %+v", c)
	}
	if d := list[1]; d.name() != "a.b/d/v2 CGO_ENABLED=0" || !slices.Equal(d.packages, []string{"./x", "./y/..."}) ||
		!slices.Equal(d.flags, []string{"-run=X", "-gcflags=all=-N -l"}) {
		t.Errorf("have %+v", d)
	}
	for text, want := range map[string]string{"a.b/c\n": "modules.txt:1: have \"a.b/c\"",
		"\na v1 x\n": `modules.txt:2: have "x"`} {
		if _, err := parseModules(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestVerified checks that ten modules are marked, and that a name chooses another one.
func TestVerified(t *testing.T) {
	list, err := parseModules(modulesText)
	if err != nil {
		t.Fatal(err)
	}
	marked := new(options).verified(list)
	if len(marked) != 10 || !slices.ContainsFunc(marked, func(m *module) bool {
		return slices.Contains(m.packages, "./encoding/protowire")
	}) {
		t.Errorf("%d modules, want 10, with protowire among them", len(marked))
	}
	if named := (&options{names: []string{"ants"}}).verified(list[:1]); len(named) != 1 {
		t.Errorf("%d modules, want the one that was named", len(named))
	}
}

// TestCheckModule runs a stemma that prints what the real one would.
func TestCheckModule(t *testing.T) {
	for _, c := range []struct {
		script string
		want   suite.Check
		fails  bool
	}{
		{`[ $1 = test ] || echo "checked 12 contexts, 0 mismatches"`, suite.Check{Contexts: 12}, false},
		{`[ $1 = test ] && exit 1; echo "checked 12 contexts, 3 mismatches"; exit 1`, suite.Check{Contexts: 12, Mismatches: 3}, false},
		{`echo "no record"; exit 1`, suite.Check{}, true},
	} {
		dir := t.TempDir()
		o := &options{stemma: filepath.Join(dir, "stemma")}
		if err := os.WriteFile(o.stemma, []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		have, err := o.checkModule(&module{packages: []string{"."}}, "cct", dir, filepath.Join(dir, "out"))
		if have != c.want || (err != nil) != c.fails {
			t.Errorf("%s: %+v, %v; want %+v", c.script, have, err, c.want)
		}
	}
}
