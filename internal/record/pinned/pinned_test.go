package pinned_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/pinned"
)

// TestFiles reads files of a directory that changes its name with others, goes on elsewhere, and is removed.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	live := filepath.Join(dir, "srv.12-0a1b2c")
	make := func(path, text string) {
		t.Helper()
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		run := strings.Repeat(text, 40) // as far as the run number
		for name, text := range map[string]string{layout.FileIDs: run, layout.FileNodes: text} {
			if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	make(live, "first")
	first := pinned.Files(live)
	have := func(fsys fs.FS) string {
		t.Helper()
		b, err := fs.ReadFile(fsys, layout.FileNodes)
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	var seconds []fs.FS
	for i, number := range []string{"000001", "000002", "1000000"} {
		segment := live + "." + number
		make(segment, "later "+number)
		exchange(t, live, segment)
		seconds = append(seconds, pinned.Files(live))
		for k, fsys := range append([]fs.FS{first}, seconds...) {
			if want := []string{"first", "later 000001", "later 000002", "later 1000000"}[k]; have(fsys) != want {
				t.Errorf("after %d segments: have %q, want %q", i+1, have(fsys), want)
			}
		}
	}
	if files, err := fs.Glob(first, "n*"); err != nil || len(files) != 1 {
		t.Errorf("have %q, %v", files, err)
	}
	if err := os.Symlink("cce", filepath.Join(live, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(live, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"link": "link, want a file", "pipe": "no regular file",
		"none": "no such file", "../x": "invalid argument"} {
		if _, err := pinned.Files(live).Open(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: have %v, want %q", name, err, want)
		}
	}
	if err := os.RemoveAll(live + ".000001"); err != nil { // where the first one is
		t.Fatal(err)
	}
	if text := have(first); !strings.Contains(text, "no such file") {
		t.Errorf("a directory that has been removed: have %q", text)
	}
	make(live+".000001", "of another")
	if text := have(first); !strings.Contains(text, "another directory has taken its name") {
		t.Errorf("another directory has its name: have %q", text)
	}
	if text := have(pinned.Files(filepath.Join(dir, "none"))); !strings.Contains(text, "no such file") {
		t.Errorf("a directory that is not there: have %q", text)
	}
}

// exchange exchanges the names of two directories.
func exchange(t *testing.T, a, b string) {
	t.Helper()
	for _, names := range [][2]string{{a, a + ".x"}, {b, a}, {a + ".x", b}} {
		if err := os.Rename(names[0], names[1]); err != nil {
			t.Fatal(err)
		}
	}
}
