package toolchain

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestCheckMark replaces what stemma has made, and nothing else.
func TestCheckMark(t *testing.T) {
	dir := t.TempDir()
	m := mark{Version: "go1.26.8-stemma.1", Compile: "engine=cct"}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"same/" + markFile: string(text), "other/" + markFile: "{}",
		"mine/notes.txt": "", "goroot/VERSION": "go1.26.8"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		same bool
		err  string
	}{
		{"none", false, ""}, {"empty", false, ""}, {"same", true, ""}, {"other", false, ""},
		{"mine", false, "stemma goroot did not make them"}, {"goroot", false, "that is empty or not there yet"},
		{"goroot/VERSION", false, "VERSION: not a directory; name one with -o"},
	} {
		same, err := checkMark(filepath.Join(dir, tt.name), m)
		if same != tt.same || !matches(err, tt.err) {
			t.Errorf("%s: have %t, %v; want %t, %q", tt.name, same, err, tt.same, tt.err)
		}
	}
}

// TestRemoveHalf has beside a GOROOT what killed processes have left that made it, and what somebody else has there.
func TestRemoveHalf(t *testing.T) {
	dir := t.TempDir()
	files := map[string]bool{"go.tmp1/" + halfFile: false, "go.tmp22.old/" + markFile: false, "go.tmp3/notes": true,
		"go.tmp7/" + markFile: true, "go.tmp8/" + halfFile: true,
		"go.tmpl/" + halfFile: true, "go.tmp4x/" + halfFile: true, "ago.tmp5/" + halfFile: true, "go.tmp6": true,
		"go/" + markFile: true}
	for name := range files {
		if err := writeFiles(dir, map[string][]byte{name: nil}); err != nil {
			t.Fatal(err)
		}
	}
	unlock, err := flock(filepath.Join(dir, "go.tmp8", halfFile), syscall.LOCK_EX) // of one that is at work
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	removeHalf(filepath.Join(dir, "go"))
	for name, want := range files {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it to stay: %t", name, err, want)
		}
	}
}

// TestReplaceDir has processes that give directories one name at the same time. One of these is there in the end, and
// nothing else is left.
func TestReplaceDir(t *testing.T) {
	for range 100 {
		dir := t.TempDir()
		var done sync.WaitGroup
		for i := range 4 {
			from := filepath.Join(dir, fmt.Sprint("go.tmp", i))
			if err := writeFiles(from, map[string][]byte{markFile: nil, "src/x.go": nil}); err != nil {
				t.Fatal(err)
			}
			done.Go(func() {
				if err := replaceDir(from, filepath.Join(dir, "go")); err != nil {
					t.Error(err)
				}
			})
		}
		done.Wait()
		left, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(left) != 1 || filepath.Base(left[0]) != "go" {
			t.Fatalf("left: %q, %v", left, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "go", "src", "x.go")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGOROOTFiles copies a small GOROOT as one in the module cache is, names it, and gives it the place of another.
func TestGOROOTFiles(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	files := map[string]string{
		"VERSION": "go1.26.8\ntime 2026\n", "go.env": "GOPROXY=x\nGOTOOLCHAIN=auto\n", "test/a.go": "", "bin/go": "x",
		"src/internal/buildcfg/zbootstrap.go": "package buildcfg\n\nconst version = `go1.26.8`\n",
	}
	for name, data := range files {
		file := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(data), 0o555); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyGOROOT(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if err := nameGOROOT(to, "go1.26.8-stemma.1"); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(to), "dir")
	if err := os.MkdirAll(filepath.Join(dir, "old"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := replaceDir(to, dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"VERSION": "go1.26.8-stemma.1\ntime 2026\n", "go.env": "GOPROXY=x\n\nGOTOOLCHAIN=local\n", "bin/go": "x",
		"src/internal/buildcfg/zbootstrap.go": "package buildcfg\n\nconst version = \"go1.26.8-stemma.1\"\n",
	} {
		if have, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(have) != want {
			t.Errorf("%s: have %q, %v; want %q", name, have, err, want)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "bin", "go")); err != nil || info.Mode()&0o711 != 0o711 {
		t.Errorf("bin/go: have %v, %v", info.Mode(), err)
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	if _, there := os.Stat(filepath.Join(dir, "test")); err != nil || len(left) != 1 || there == nil {
		t.Errorf("have %v, %v", left, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := copyGOROOT(ctx, from, to); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("have error %v", err)
	}
}
