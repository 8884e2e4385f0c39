package outside

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
)

// TestWarnedOnce asks a store twice, as decode does for each run: what it warns of each time is said once, and what is
// new is said.
func TestWarnedOnce(t *testing.T) {
	bin := t.TempDir()
	const fleet = "#!/bin/sh\necho warning: one >&2\necho warning: $4 >&2\necho record\n"
	if err := os.WriteFile(filepath.Join(bin, "stemma-fleet"), []byte(fleet), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	s, said := &Store{url: "file:///x"}, new(bytes.Buffer)
	for run := range uint64(2) {
		if files, err := s.Runs(said, run); err != nil || strings.Join(files, " ") != "record" {
			t.Fatal(files, err)
		}
	}
	want := "warning: one\nwarning: -run=0000000000000000\nwarning: -run=0000000000000001\n"
	if said.String() != want {
		t.Errorf("have %q, want %q", said, want)
	}
}

// TestWindows compares two times that lie side by side: a segment that lies in both is on one side alone.
func TestWindows(t *testing.T) {
	bin := t.TempDir()
	const fleet = "#!/bin/sh\ncase \"$*\" in\n" +
		"*-until=2026-11-26T08*) echo old; echo both;;\n*) echo both; echo new;;\nesac\n"
	if err := os.WriteFile(filepath.Join(bin, "stemma-fleet"), []byte(fleet), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	s := &Store{url: "file:///x", since: "2026-11-26T08:00:00Z", until: "2026-11-26T09:00:00Z"}
	before, now, err := s.Windows(&base.Env{Stderr: new(bytes.Buffer)}, "diff")
	if err != nil || strings.Join(before, " ") != "old" || strings.Join(now, " ") != "both new" {
		t.Errorf("have %q and %q, %v", before, now, err)
	}
}
