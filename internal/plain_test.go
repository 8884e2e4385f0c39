package internal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
	const most = 100_000 // 94,000 with go1.26, 96,000 with go1.27
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

// addingProgram has two functions that do the same, but that one adds to a metric.
const addingProgram = `package main

import "github.com/stemma-go/stemma"

var total = stemma.NewMetric("total", "count")

//go:noinline
func without(list []int) (sum int) {
	for _, n := range list {
		sum += n
	}
	return sum
}

//go:noinline
func with(list []int) (sum int) {
	for _, n := range list {
		sum += n
		total.Add(int64(sum))
	}
	return sum
}

func main() { println(without(nil), with(nil)) }
`

// TestPlainMetric compares the instructions of two functions of a plain program. One adds to a metric. They are the
// same, but for the no-op that the compiler leaves for tracebacks where a call was inlined.
func TestPlainMetric(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program; run without -short")
	}
	dir := t.TempDir()
	file, exe := filepath.Join(dir, "main.go"), filepath.Join(dir, "adding")
	if err := os.WriteFile(file, []byte(addingProgram), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", exe, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	with, without := instructionsOf(t, exe, "main.with"), instructionsOf(t, exe, "main.without")
	if len(with) == 0 || !slices.Equal(with, without) {
		t.Errorf("the function that adds to a metric is %q, want %q", with, without)
	}
}

// instructionsOf returns the names of the instructions of a function, without no-ops.
func instructionsOf(t *testing.T, exe, function string) (names []string) {
	t.Helper()
	out, err := exec.Command("go", "tool", "objdump", "-s", "^"+regexp.QuoteMeta(function)+"$", exe).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		// main.go:9  0x4a0  31c9  XORL CX, CX
		if f := strings.Fields(line); len(f) > 3 && !strings.HasPrefix(f[3], "NOP") {
			names = append(names, f[3])
		}
	}
	return names
}
