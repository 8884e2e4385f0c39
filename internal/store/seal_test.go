package store

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestWriteFile writes to a file, which is replaced, and to a pipe, which must stay one: root
// would have a plain file in the place of /dev/null.
func TestWriteFile(t *testing.T) {
	hello := func(w io.Writer) error { _, err := io.WriteString(w, "hello"); return err }
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("what was there before"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(file, hello); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(file); string(data) != "hello" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Skip("no named pipes here: ", err)
	}
	read := make(chan string)
	go func() {
		data, _ := os.ReadFile(pipe)
		read <- string(data)
	}()
	if err := WriteFile(pipe, hello); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(pipe); err != nil || info.Mode().IsRegular() {
		t.Fatalf("the pipe is a file now: %v", err)
	}
	if have := <-read; have != "hello" {
		t.Errorf("the pipe brought %q", have)
	}
}
