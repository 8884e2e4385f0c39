package toolchain

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestAddFileFails makes a file for which there is no room: nothing of it stays, or it would be taken for whole from
// then on.
func TestAddFileFails(t *testing.T) {
	dir := t.TempDir()
	lift := limitFileSize(t, 1<<16)
	name := filepath.Join(dir, "sub", "file")
	if err := addFile(name, strings.Repeat("x", 1<<18)); err == nil {
		t.Fatal("have no error where there was no room")
	}
	lift()
	if left, err := os.ReadDir(filepath.Dir(name)); err != nil || len(left) != 0 {
		t.Errorf("%d files stay: %v", len(left), err)
	}
	if err := addFile(name, "whole"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o444 != 0o444 {
		t.Errorf("%v, %v: others cannot read it", info.Mode(), err)
	}
}

// limitFileSize makes writing of larger files fail, as on a full disk, until lift is called.
func limitFileSize(t *testing.T, size uint64) (lift func()) {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	lift = sync.OnceFunc(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			t.Error(err)
		}
		signal.Reset(syscall.SIGXFSZ)
	})
	t.Cleanup(lift)
	return lift
}

// TestOutside refuses directories in the GOROOT that is copied, also by way of links, and whether they are there or
// not.
func TestOutside(t *testing.T) {
	root := t.TempDir()
	from := filepath.Join(root, "go")
	if err := os.MkdirAll(filepath.Join(from, "src"), 0o777); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(root, "link")
	if err := os.Symlink(from, link); err != nil {
		t.Fatal(err)
	}
	for dir, ok := range map[string]bool{
		filepath.Join(from, "stemma-goroot"):        false,
		filepath.Join(from, "src", "new", "deeper"): false,
		filepath.Join(link, "new"):                  false,
		filepath.Join(root, "stemma-goroot"):        true,
		filepath.Join(root, "go2", "new"):           true,
	} {
		for _, goroot := range []string{from, link} {
			if err := outside(dir, goroot); (err == nil) != ok {
				t.Errorf("%s in %s: have %v", dir, goroot, err)
			}
		}
	}
}

// TestEntryPattern gives a cache a name that is a pattern, and no good one.
func TestEntryPattern(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b")
	key, other := strings.Repeat("a", 24), strings.Repeat("b", 24)
	for _, name := range []string{key, key + tmpInfix + "1", other + tmpInfix + "2"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	e := &Entry{filepath.Join(dir, key), key}
	if err := e.settle(); err != nil {
		t.Error(err)
	}
	if err := e.removeLeft(); err != nil {
		t.Error(err)
	}
	sweep(dir)
	left, err := filepath.Glob(filepath.Dir(dir) + "/a*/*" + tmpInfix + "*")
	if err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
