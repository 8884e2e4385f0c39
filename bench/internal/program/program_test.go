package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChecksumLine(t *testing.T) {
	for _, c := range []struct {
		out     Output
		want    string
		problem string
	}{
		{Output{Stdout: []byte("checksum site ab12 failed=3\n")}, "site ab12 failed=3", ""},
		{Output{Stdout: []byte("hello\nchecksum x 1")}, "x 1", ""},
		{Output{Stdout: []byte("no checksum x 1\n")}, "", "no line"},
		{Output{Stdout: []byte("checksum x 1\n"), ExitCode: 2}, "", "exit status 2"},
	} {
		got, err := checksumLine(c.out)
		if got != c.want || (err == nil) != (c.problem == "") ||
			(err != nil && !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%q: %q, %v, want %q, %q", c.out.Stdout, got, err, c.want, c.problem)
		}
	}
}

func TestOutputHash(t *testing.T) {
	a, err := outputHash(Output{Stdout: []byte("x"), ExitCode: 2})
	if err != nil {
		t.Fatal(err)
	}
	b, err := outputHash(Output{Stdout: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	if a == b {
		t.Errorf("exit codes 2 and 0 give the same checksum %q", a)
	}
	if _, err := outputHash(Output{ExitCode: -1}); err == nil {
		t.Error("a run that ended by a signal has a checksum")
	}
}

func TestFileHash(t *testing.T) {
	p := &Program{Args: []string{"a.go"}, object: "object", checksum: fileHash("object")}
	dir := t.TempDir()
	args := p.RunArgs(dir)
	if len(args) != 3 || args[0] != "-o" || args[2] != "a.go" {
		t.Fatalf("arguments %q", args)
	}
	if err := os.WriteFile(args[1], []byte("code"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Checksum(Output{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Checksum(Output{Dir: t.TempDir()}); err == nil {
		t.Error("a run that wrote no file has a checksum")
	}
}

func TestFindAndSelect(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", "a"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "go.mod"), []byte("module x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "notes"), 0o755); err != nil {
		t.Fatal(err)
	}
	all, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(Names(all), " "); got != "a b" {
		t.Errorf("found %q, want %q", got, "a b")
	}
	if some, err := Select(all, []string{"b"}); err != nil || len(some) != 1 || some[0].Name != "b" {
		t.Errorf("Select b: %v, %v", some, err)
	}
	if _, err := Select(all, []string{"c"}); err == nil || !strings.Contains(err.Error(), "have a, b") {
		t.Errorf("Select c: %v, want an error that tells the names", err)
	}
	if _, err := Find(filepath.Join(dir, "notes")); err == nil {
		t.Error("no error for a directory without programs")
	}
}

func TestImportConfig(t *testing.T) {
	got := string(importConfig([]listed{
		{ImportPath: "vendor/x", Export: "/c/1"},
		{ImportPath: "unsafe"},
		{ImportPath: "p", Export: "/c/2", ImportMap: map[string]string{"x": "vendor/x"}},
	}))
	want := "packagefile vendor/x=/c/1\npackagefile p=/c/2\nimportmap x=vendor/x\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
