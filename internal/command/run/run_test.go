package run

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
)

// TestWorkingDirectory runs a program in another directory, whose path it must find in PWD.
func TestWorkingDirectory(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if err := os.Mkdir("sub", 0o777); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{"sub": filepath.Join(dir, "sub"), "": dir} {
		var out bytes.Buffer
		p := &Program{Name: "x", argv: []string{"printenv", "PWD"}, dir: in}
		o, err := p.Run(&base.Env{Stdin: new(bytes.Buffer), Stdout: &out, Stderr: &out})
		if err != nil {
			t.Fatal(err)
		}
		if have := strings.TrimSpace(out.String()); have != want {
			t.Errorf("in %q: have %q, want %s", in, have, want)
		}
		if !o.RemoveEmpty() {
			t.Error("something is in the directory of records")
		}
	}
}

// TestAnotherMachine starts a program that is none of this machine's.
func TestAnotherMachine(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("x", []byte("\x7fELF\x02\x01\x01 of no machine"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := &Program{Name: "x", argv: []string{"./x"}}
	_, err := p.Run(&base.Env{Stdin: new(bytes.Buffer), Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer)})
	if err == nil || !strings.Contains(err.Error(), "exec format error: it is for another machine (GOARCH)") {
		t.Errorf("have %v", err)
	}
	if left, _ := filepath.Glob("x.live-*"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
