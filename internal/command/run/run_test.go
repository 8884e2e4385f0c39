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
