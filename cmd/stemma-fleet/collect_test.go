package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTidies starts an agent whose host has an upload in the store that was killed yesterday: it goes, and that is
// said.
func TestTidies(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	left := filepath.Join(dir, "srv", "h%2F1", "0000000000000001", "000003.json.18af3c4d5e6f7a8b.tmp")
	if err := os.MkdirAll(filepath.Dir(left), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	text, err := fleet(t, "collect", "-once", "-host=h/1", "-store=file://"+dir, out).CombinedOutput()
	if err != nil || !strings.Contains(string(text), "removed 1 unfinished file from file://"+dir) {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("it is there: %v", err)
	}
}
