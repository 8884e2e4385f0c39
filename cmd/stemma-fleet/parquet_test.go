package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoTables names a record that is not there: no directory is made for its tables, and one that was there stays.
func TestNoTables(t *testing.T) {
	top := t.TempDir()
	old := filepath.Join(top, "old")
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{old, filepath.Join(old, "new"), filepath.Join(top, "a", "b")} {
		var stderr strings.Builder
		missing := filepath.Join(top, "missing.stemma")
		if code := run([]string{"parquet", "-o=" + out, missing}, &stderr); code != 1 ||
			!strings.Contains(stderr.String(), missing) {
			t.Errorf("exit code %d, %s", code, stderr.String())
		}
	}
	var left []string
	err := filepath.WalkDir(top, func(path string, _ os.DirEntry, err error) error {
		left = append(left, path)
		return err
	})
	if err != nil || len(left) != 2 || left[1] != old {
		t.Errorf("left are %q, %v", left, err)
	}
}
