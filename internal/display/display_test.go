package display

import (
	"os"
	"path/filepath"
	"testing"
)

// A file of source is a regular one.
func TestOpensFilesOnly(t *testing.T) {
	dir := t.TempDir()
	if f, err := openSource(dir); err == nil {
		f.Close()
		t.Error("a directory was opened")
	}
	file := filepath.Join(dir, "a.go")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := openSource(file)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
