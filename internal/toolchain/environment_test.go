package toolchain

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
)

// TestEnvironmentTwice takes out of GOFLAGS what an earlier stemma env has put there, and puts back what was the
// user's.
func TestEnvironmentTwice(t *testing.T) {
	entry := &Entry{"/a cache/key", "key"}
	ours := entry.Dir + "/contexts.json"
	merged := "/a cache/" + overlaysDir + "/123.json"
	for _, tt := range []struct {
		name    string
		tool    tool
		overlay string
		want    []string
	}{
		{"plain", tool{entry: entry, overlay: ours}, ours, []string{"-race", "-overlay=/later.json"}},
		{"overlay", tool{entry: entry, overlay: ours, user: "/mine.json"}, merged,
			[]string{"-race", "-overlay=/mine.json", "-overlay=/later.json"}},
		{"toolexec", tool{entry: entry, overlay: ours, chain: []string{"spy", "a b"}}, ours,
			[]string{"-race", "-toolexec=spy 'a b'", "-overlay=/later.json"}},
	} {
		flags, err := tt.tool.flags(tt.overlay)
		if err != nil {
			t.Fatal(err)
		}
		goflags, err := base.JoinQuoted(slices.Concat([]string{"-race"}, flags, []string{"-overlay=/later.json"}))
		if err != nil {
			t.Fatal(err)
		}
		a, err := (&Args{}).withGOFLAGS(goflags)
		if err != nil {
			t.Fatal(err)
		}
		if !a.withoutOurs() {
			t.Errorf("%s: nothing found in %s", tt.name, goflags)
		}
		if have := a.Words(); !slices.Equal(have, tt.want) {
			t.Errorf("%s: have %q, want %q", tt.name, have, tt.want)
		}
		if a.withoutOurs() {
			t.Errorf("%s: found twice", tt.name)
		}
	}
}

// TestGOFLAGS joins the flags of the user, of the command line and of stemma. Those of the command line come as two
// words, or as one.
func TestGOFLAGS(t *testing.T) {
	a, err := ParseArgs("env", strings.Fields("-tags x,y -race -overlay a.json"), ownFlags{})
	if err != nil {
		t.Fatal(err)
	}
	a.Remove("overlay")
	b := &Build{Go: &Go{Flags: "-mod=mod '-ldflags=-s -w' -overlay=mine.json -count=3"}}
	have, err := b.goflags(a, []string{"-overlay=/a b/o.json", "-toolexec='/a b/stemma' toolexec"})
	want := `-mod=mod '-ldflags=-s -w' -count=3 -tags=x,y -race '-overlay=/a b/o.json' ` +
		`"-toolexec='/a b/stemma' toolexec" -vet=off`
	if err != nil || have != want {
		t.Errorf("have %s, %v\nwant %s", have, err, want)
	}
}

// TestKeepOverlay keeps what a build has merged under a name that depends on what is in it.
func TestKeepOverlay(t *testing.T) {
	dir := t.TempDir()
	var names []string
	for _, text := range []string{"a", "b", "a"} {
		file := filepath.Join(dir, "overlay.json")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		kept, err := keepOverlay(dir, file)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(kept); err != nil || string(data) != text {
			t.Errorf("%s: have %q, %v; want %q", kept, data, err, text)
		}
		names = append(names, kept)
	}
	if names[0] != names[2] || names[0] == names[1] {
		t.Errorf("have %q", names)
	}
}

func TestTemporary(t *testing.T) {
	for exe, want := range map[string]bool{
		"/tmp/go-build123/b001/exe/stemma":         true,
		"/home/u/go/bin/stemma":                    false,
		"/home/u/.cache/go-build/ab/abcd-d/stemma": false,
		"/home/u/go-build/stemma":                  false,
	} {
		if isTemporary(exe) != want {
			t.Errorf("%s: want %t", exe, want)
		}
	}
}
