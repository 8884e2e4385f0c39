package collect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket/buckettest"
)

// TestUnseenDirectories gives an agent directories that it cannot look at: one pass fails, and says why; an agent that
// stays says it once, counts it unless the directory may still come, and goes on with the others.
func TestUnseenDirectories(t *testing.T) {
	for _, c := range []struct {
		name, want string
		make       func(dir string) error
		counted    bool
	}{
		{"none", "no such file", func(string) error { return nil }, false},
		{"file", "a file; want a directory", func(dir string) error { return os.WriteFile(dir, nil, 0o666) }, true},
		{"loop", "too many", func(dir string) error { return os.Symlink(filepath.Base(dir), dir) }, true},
		{"record", "too many", func(dir string) error {
			if err := os.Mkdir(dir, 0o777); err != nil {
				return err
			}
			return os.Symlink("a.7-0a1b2c", filepath.Join(dir, "a.7-0a1b2c"))
		}, true},
		{"pipe", "a.7-0a1b2c: whether it is a record is not known: tree: no regular file", func(dir string) error {
			path := filepath.Join(dir, "a.7-0a1b2c")
			if err := os.MkdirAll(path, 0o777); err != nil {
				return err
			}
			return syscall.Mkfifo(filepath.Join(path, "tree"), 0o666)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := t.TempDir()
			dir, good := filepath.Join(top, "dir"), filepath.Join(top, "good")
			write(t, filepath.Join(good, "p.12-0a1b2c"), 1)
			if err := c.make(dir); err != nil {
				t.Fatal(err)
			}
			b := new(buckettest.Memory)
			a, log := agent(b, dir, func(o *Options) { o.Dirs = append(o.Dirs, good) })
			if err := a.Once(context.Background()); err == nil || !strings.Contains(err.Error(), "1 of 2 directories") {
				t.Errorf("once: have %v", err)
			}
			if _, err := a.Pass(context.Background()); err != nil {
				t.Errorf("a pass: %v", err)
			}
			if n := strings.Count(log.String(), c.want); n != 1 {
				t.Errorf("said %d times:\n%s", n, log)
			}
			if n := a.Numbers.unseen.Load(); n > 0 != c.counted {
				t.Errorf("counted: %d", n)
			}
			if n := len(manifests(t, b)); n != 1 {
				t.Errorf("%d records were collected, want 1 of the other directory", n)
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := a.Once(context.Background()); err != nil {
				t.Errorf("when it is there: %v", err)
			}
		})
	}
}

// TestRecordIsLink has links to the record of somebody else: one that is called as a record, which is said, and one
// that is not. Neither is collected.
func TestRecordIsLink(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "p.13-0a1b2c")
	write(t, other, 2)
	write(t, filepath.Join(dir, "p.12-0a1b2c"), 1)
	for _, name := range []string{"p.13-0a1b2c", "latest"} {
		if err := os.Symlink(other, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	b := new(buckettest.Memory)
	a, log := agent(b, dir, nil)
	for range 2 {
		if err := a.Once(context.Background()); err == nil || !strings.Contains(err.Error(), "1 of 1 directories") {
			t.Errorf("%v", err)
		}
	}
	for text, want := range map[string]int{"p.13-0a1b2c: a link, want a directory": 1, "latest": 0} {
		if n := strings.Count(log.String(), text); n != want {
			t.Errorf("%q is said %d times, want %d:\n%s", text, n, want, log)
		}
	}
	if n := len(manifests(t, b)); n != 1 {
		t.Errorf("%d records in the bucket, want 1", n)
	}
}

// TestRecordBecomesLink exchanges a record for a link to that of somebody else, when it was looked at and is about to
// be read. What is collected is what was looked at.
func TestRecordBecomesLink(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "p.13-0a1b2c")
	write(t, other, 2)
	write(t, filepath.Join(dir, "p.12-0a1b2c"), 1)
	defer func() { reading = func(string) {} }()
	reading = func(path string) {
		reading = func(string) {}
		if err := os.Rename(path, filepath.Join(t.TempDir(), "moved")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(other, path); err != nil {
			t.Fatal(err)
		}
	}
	b := new(buckettest.Memory)
	a, log := agent(b, dir, nil)
	for range 2 {
		if _, err := a.Pass(context.Background()); err != nil {
			t.Errorf("%v\n%s", err, log)
		}
	}
	list := manifests(t, b)
	for _, m := range list {
		if m.Run != fmt.Sprintf("%016x", 1) {
			t.Errorf("run %s was collected", m.Run)
		}
	}
	if len(list) != 1 {
		t.Errorf("%d records were collected, want 1\n%s", len(list), log)
	}
}

// TestNamesAreEscaped has records that cannot be read, or looked at, and are called so that they would forge a line and
// move the cursor of a terminal.
func TestNamesAreEscaped(t *testing.T) {
	dir := t.TempDir()
	for i, file := range []string{"funcs", "tree"} {
		path := filepath.Join(dir, fmt.Sprintf("a\nstemma-fleet: uploaded \x1b[2J%d.12-0a1b2c", i))
		write(t, path, 1)
		err := os.Remove(filepath.Join(path, file))
		if err == nil {
			err = syscall.Mkfifo(filepath.Join(path, file), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Minute)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	a, log := agent(new(buckettest.Memory), dir, nil)
	if err := a.Once(context.Background()); err == nil {
		t.Error("no error")
	}
	if lines := strings.Count(log.String(), "\n"); lines != 2 || strings.Contains(log.String(), "\x1b") {
		t.Errorf("%d lines, want 2:\n%q", lines, log)
	}
}

// TestGoesWhileRead has records that are removed while they are read, by their program, the main file first, and by
// another agent, the main file last. What is read of them goes nowhere, and is no record that cannot be read.
func TestGoesWhileRead(t *testing.T) {
	defer func() { reading = func(string) {} }()
	for _, gone := range [][]string{{"tree"}, {"tree", "shard.0"}, {"shard.0"}, {"funcs", "shard.0"}} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "p.12-0a1b2c.000001"), 1)
		reading = func(path string) {
			for _, name := range gone {
				if err := os.Remove(filepath.Join(path, name)); err != nil {
					t.Error(err)
				}
			}
		}
		b := new(buckettest.Memory)
		a, log := agent(b, dir, nil)
		_, err := a.Pass(context.Background())
		if n := len(b.Keys()); err != nil || n > 0 || log.Len() > 0 || a.Numbers.unreadable.Load() > 0 {
			t.Errorf("%q removed: %v, %d objects in the bucket, said:\n%s", gone, err, n, log)
		}
	}
}

// TestNoFiles gives an agent records with a pipe and a link instead of files: it waits for neither a writer nor
// reads what the link leads to, says what it found, and collects the others.
func TestNoFiles(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"pipe": func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"link": func(path string) error {
			if err := os.Rename(path, path+".other"); err != nil {
				return err
			}
			return os.Symlink(path+".other", path)
		},
	} {
		for _, file := range []string{"funcs", "shard.0"} {
			dir := t.TempDir()
			bad := filepath.Join(dir, "p.12-0a1b2c")
			write(t, bad, 1)
			write(t, filepath.Join(dir, "p.13-0a1b2c"), 2)
			if name == "pipe" {
				if err := os.Remove(filepath.Join(bad, file)); err != nil {
					t.Fatal(err)
				}
			}
			if err := make(filepath.Join(bad, file)); err != nil {
				t.Fatal(err)
			}
			old := time.Now().Add(-time.Minute)
			if err := os.Chtimes(bad, old, old); err != nil {
				t.Fatal(err)
			}
			b := new(buckettest.Memory)
			a, log := agent(b, dir, nil)
			err := a.Once(context.Background())
			if err == nil || !strings.Contains(log.String(), bad+": "+file) || len(manifests(t, b)) != 1 {
				t.Errorf("%s for %s: %v, %d records in the bucket, said:\n%s", name, file, err, len(manifests(t, b)),
					log)
			}
		}
	}
}
