package internal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// handledProgram logs a line.
const handledProgram = `package main

import (
	"log/slog"
	"os"

	"github.com/stemma-go/stemma"
)

func main() {
	slog.SetDefault(slog.New(stemma.SlogHandler(slog.NewTextHandler(os.Stderr, nil))))
	slog.Info("hello")
}
`

// TestPlainSize builds a program plainly, with stemma's handler and without: a library must not bring a reader of
// records to those who do not read any. What a package sets up when it is initialized is linked into every program that
// imports it, in whatever way; and so are the methods of all types that the handler's fields lead to.
func TestPlainSize(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs; run without -short")
	}
	const most = 100_000 // 81,000 with go1.26, 84,000 with go1.27
	dir := t.TempDir()
	size := func(name, source string) int64 {
		file := filepath.Join(dir, name+".go")
		if err := os.WriteFile(file, []byte(source), 0o666); err != nil {
			t.Fatal(err)
		}
		exe := filepath.Join(dir, name)
		if out, err := exec.Command("go", "build", "-o", exe, file).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		info, err := os.Stat(exe)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	without := strings.NewReplacer("\n\t\"github.com/stemma-go/stemma\"\n", "", "stemma.SlogHandler", "")
	plain, with := size("plain", without.Replace(handledProgram)), size("with", handledProgram)
	if more := with - plain; more > most {
		t.Errorf("a program grows by %d bytes, want at most %d: see go tool nm -size", more, most)
	} else {
		t.Logf("%d bytes more", more)
	}
}
