package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFetchFlags gives what chooses records of a bucket beside the URL of a Pyroscope, where it would choose nothing.
func TestFetchFlags(t *testing.T) {
	for _, flag := range []string{"-since=24h", "-until=1h", "-service=a", "-run=0123456789abcdef"} {
		var stderr strings.Builder
		code := run([]string{"fetch", "-pyroscope=pyroscope://127.0.0.1:1?service=a", flag}, &stderr)
		if code != 2 || !strings.Contains(stderr.String(), "are for buckets") {
			t.Errorf("%s: exit code %d, %s", flag, code, stderr.String())
		}
	}
}

// TestKeysAreEscaped has a store with a key that would forge a line and move the cursor of a terminal, of what is no
// manifest.
func TestKeysAreEscaped(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "srv", "h", "0000000000000001", "a__0xa__stemma-fleet: __0x1b__[2J.json")
	if err := os.MkdirAll(filepath.Dir(key), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, []byte("none"), 0o666); err != nil {
		t.Fatal(err)
	}
	text, err := fleet(t, "fetch", "-cache="+t.TempDir(), "-store=file://"+dir).CombinedOutput()
	if lines := strings.Count(string(text), "\n"); err != nil || lines != 1 || strings.Contains(string(text), "\x1b") {
		t.Errorf("%v, %d lines, want 1: %q", err, lines, text)
	}
}

// TestHomeless has a user without a cache directory: what is fetched is kept in a directory of the user, and not in one
// that others have made, may write to, or have a link at.
func TestHomeless(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	store := "file://" + t.TempDir()
	for name, c := range map[string]struct {
		make func(dir string) error
		want string
	}{
		"none": {func(string) error { return nil }, ""},
		"own":  {func(dir string) error { return os.Mkdir(dir, 0o700) }, ""},
		"open": {open, "set HOME"},
		"link": {func(dir string) error { return os.Symlink(t.TempDir(), dir) }, "not a directory"},
	} {
		t.Setenv("TMPDIR", t.TempDir())
		dir := filepath.Join(os.TempDir(), fmt.Sprint("stemma-fleet-", os.Geteuid()))
		if err := c.make(dir); err != nil {
			t.Fatal(err)
		}
		var stderr strings.Builder
		code := run([]string{"fetch", "-store=" + store}, &stderr)
		if (code != 0) != (c.want != "") || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: exit code %d, %s", name, code, stderr.String())
		}
		if info, err := os.Stat(dir); c.want == "" && (err != nil || info.Mode().Perm() != 0o700) {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// open makes a directory that others may write to.
func open(dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	return os.Chmod(dir, 0o777)
}
