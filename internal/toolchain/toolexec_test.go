package toolchain

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// toolexecEnv makes a run of this test binary stand for "stemma toolexec".
const toolexecEnv = "STEMMA_TEST_TOOLEXEC"

// runTool runs a script that stands for a tool through Toolexec. It prints
// its name, its arguments and its options.
func runTool(t *testing.T, dir, name string, chain []string, args ...string) string {
	t.Helper()
	const script = "#!/bin/sh\necho \"$(basename $0) $* [$STEMMA_COMPILE]\"\n"
	entry := &Entry{filepath.Join(dir, "key"), "key"}
	for _, file := range []string{filepath.Join(dir, name), entry.Compiler()} {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(script), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	o := overlay{map[string]string{"/go/src/runtime/a.go": "/cache/a.go"}}
	ours := filepath.Join(dir, "ours.json")
	if err := o.write(ours); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tl := &tool{entry: entry, overlay: ours, forCompile: "c=1", forLink: "l=1", chain: chain}
	cmd := exec.Command(self, append(append(tl.words(), filepath.Join(dir, name)), args...)...)
	cmd.Env = append(os.Environ(), toolexecEnv+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

func TestToolexec(t *testing.T) {
	for _, tt := range []struct{ name, args, want string }{
		{"compile", "-V=full", "compile -V=full [c=1] stemma=key,c=1"},
		{"compile", "-p main a.go", "compile -p main a.go [c=1]"},
		{"link", "-V=full", "link -V=full [] stemma=l=1"},
		{"link", "-o x main.a", "link -X=runtime.stemmaOptions=l=1 -o x main.a []"},
		{"cover", "-mode set /go/src/runtime/a.go /go/src/runtime/b.go",
			"cover -mode set /cache/a.go /go/src/runtime/b.go []"},
		{"asm", "-V=full", "asm -V=full []"},
		{"vet", "vet.cfg", "vet vet.cfg []"},
	} {
		for _, chain := range [][]string{nil, {"/usr/bin/env", "A=b"}} {
			if have := runTool(t, t.TempDir(), tt.name, chain, strings.Fields(tt.args)...); have != tt.want {
				t.Errorf("%q %s %s: have %q, want %q", chain, tt.name, tt.args, have, tt.want)
			}
		}
	}
}

func TestToolexecErrors(t *testing.T) {
	for _, args := range []string{"", "-chain=1 x", "-chain=-1 x", "-nonsense x"} {
		if _, err := newTool(strings.Fields(args)); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
