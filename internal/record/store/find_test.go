package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/engine"
)

// TestUnreadableRecords makes entries of a directory that cannot be looked at: links that lead to themselves, which not
// even root can follow. What is called as a record is an error that names it; what is called otherwise, or is not
// there, is no record.
func TestUnreadableRecords(t *testing.T) {
	for _, c := range []struct{ loop, in, bad string }{
		{"", "", ""},
		{"other", "", ""},
		{"prog.12-0a1b2d", "", "prog.12-0a1b2d"},
		{"prog.12-0a1b2d.000001", "", "prog.12-0a1b2d.000001"},
		{engine.Files()[0], "prog.12-0a1b2d", "prog.12-0a1b2d"},
		{engine.Files()[0], "other", ""},
		{"nothing", "prog.12-0a1b2d", ""},
	} {
		dir := t.TempDir()
		good := filepath.Join(dir, "prog.11-0a1b2c")
		for _, d := range []string{good, filepath.Join(dir, c.in)} {
			if err := os.MkdirAll(d, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(good, engine.Files()[0]), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("none", filepath.Join(dir, "prog.13-0a1b2c")); err != nil {
			t.Fatal(err)
		}
		if c.loop != "" {
			if err := os.Symlink(c.loop, filepath.Join(dir, c.in, c.loop)); err != nil {
				t.Fatal(err)
			}
		}
		dirs, err := FindLive(dir)
		if !slices.Equal(dirs, []string{good}) {
			t.Errorf("%+v: have %q", c, dirs)
		}
		named := err != nil && strings.Contains(err.Error(), filepath.Join(dir, c.bad)+": ")
		if (err != nil) != (c.bad != "") || err != nil && !named {
			t.Errorf("%+v: have %v", c, err)
		}
		if c.bad == "" {
			continue
		}
		if _, err := Load([]string{dir}); err == nil || !strings.Contains(err.Error(), c.bad) {
			t.Errorf("%+v: Load: have %v", c, err)
		}
	}
	for dir, none := range map[string]bool{filepath.Join(t.TempDir(), "none"): true, loop(t): false} {
		if dirs, err := FindLive(dir); len(dirs) > 0 || (err == nil) != none {
			t.Errorf("%s: have %q, %v", dir, dirs, err)
		}
	}
}

// TestMainIsNoFile has a pipe, and a directory, where the main file of a record is to be. What is called as a record is
// an error that names it, and other records are found; a directory called otherwise is none.
func TestMainIsNoFile(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"directory": func(path string) error { return os.Mkdir(path, 0o777) },
	} {
		for _, in := range []string{"prog.12-0a1b2d", "prog.12-0a1b2d.000001", "other"} {
			dir := t.TempDir()
			good, bad := filepath.Join(dir, "prog.11-0a1b2c"), filepath.Join(dir, in)
			for _, d := range []string{good, bad} {
				if err := os.Mkdir(d, 0o777); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(good, engine.Files()[0]), nil, 0o666); err != nil {
				t.Fatal(err)
			}
			if err := make(filepath.Join(bad, engine.Files()[0])); err != nil {
				t.Fatal(err)
			}
			dirs, err := FindRecords(dir)
			if !slices.Equal(dirs, []string{good}) {
				t.Errorf("%s in %s: have %q", name, in, dirs)
			}
			want := bad + ": whether it is a record is not known: " + engine.Files()[0] + ": no regular file"
			if (in == "other") != (err == nil) || err != nil && err.Error() != want {
				t.Errorf("%s in %s: have %v", name, in, err)
			}
			if _, err := Probe(bad); (in == "other") != (err == nil) {
				t.Errorf("%s in %s: itself: have %v", name, in, err)
			}
		}
	}
}

// loop returns a path that nobody can look at.
func loop(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink("loop", path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNewestIsNoDirectory has a directory whose name ends as those of records do, a checkout say. It is newer than the
// record.
func TestNewestIsNoDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("STEMMA_OUT", "")
	if err := os.WriteFile("a.stemma", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour)
	if err := errors.Join(os.Chtimes("a.stemma", long, long), os.Mkdir("b.stemma", 0o777)); err != nil {
		t.Fatal(err)
	}
	if path, err := newest(); path != "a.stemma" || err != nil {
		t.Errorf("have %q, %v; want a.stemma", path, err)
	}
}
