package toolchain

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
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

// TestCostsTool: what a build for costs says of itself is what toolexec understands, and the linker is the user's.
func TestCostsTool(t *testing.T) {
	want := &tool{entry: &Entry{"/cache/key", "key"}, forCompile: "engine=costs", costs: true, chain: []string{"time"},
		args: []string{"link", "-o", "x"}}
	have, err := newTool(append(want.words(), want.args...))
	if err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("have %+v, %v, want %+v", have, err, want)
	}
	flags, err := want.flags("")
	if err != nil || len(flags) != 1 || !strings.HasPrefix(flags[0], "-toolexec=") {
		t.Errorf("flags: have %q, %v", flags, err)
	}
}

func TestToolexec(t *testing.T) {
	for _, tt := range []struct{ name, args, want string }{
		{"compile", "-V=full", "compile -V=full [c=1] stemma=key,c=1"},
		{"compile", "-p main a.go", "compile -p main a.go [c=1]"},
		{"compile", "-p main -coveragecfg=x a.go", "compile -p main -coveragecfg=x a.go [c=1]"},
		{"compile", "-p internal/runtime/stemma/tree -coveragecfg=x a.go",
			"compile -p internal/runtime/stemma/tree a.go [c=1]"},
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

// TestToolexecLeavesOurs covers packages: those that stemma adds are registered, and no more.
func TestToolexecLeavesOurs(t *testing.T) {
	for pkg, mode := range map[string]string{
		"internal/runtime/stemma/tree": "regonly",
		"internal/runtime/stemmata":    "set",
		"example.com/internal/x":       "set",
	} {
		dir := t.TempDir()
		config := filepath.Join(dir, "pkgcfg.txt")
		if err := os.WriteFile(config, []byte(`{"PkgPath":"`+pkg+`","PkgName":"x"}`), 0o666); err != nil {
			t.Fatal(err)
		}
		args := []string{"-pkgcfg", config, "-mode", "set", "-var", "v", "-outfilelist", "list", "/go/src/runtime/a.go"}
		want := "cover -pkgcfg " + config + " -mode " + mode + " -var v -outfilelist list /cache/a.go []"
		if have := runTool(t, dir, "cover", nil, args...); have != want {
			t.Errorf("%s: have %q, want %q", pkg, have, want)
		}
	}
}

// TestToolexecChecks asks for what stemma build would have refused.
func TestToolexecChecks(t *testing.T) {
	dir := t.TempDir()
	entry := &Entry{dir, "key"}
	if err := os.WriteFile(entry.Compiler(), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOS", "linux")
	for _, tt := range []struct{ arch, args, want string }{
		{"amd64", "compile -p main -msan a.go", "-msan: the memory sanitizer's runtime is not supported"},
		{"amd64", "compile -p main -linkshared a.go", "-linkshared: shared libraries of Go packages"},
		{"amd64", "link -buildmode=c-archive a.a", "-buildmode=c-archive: a runtime inside a C program"},
		{"amd64", "link -buildmode=exe a.a", ""},
		{"arm64", "compile -p main a.go", "linux/arm64: the engine or a metric is not there for it yet"},
		{"s390x", "compile -p main a.go", "linux/s390x is not supported in this version"},
		{"amd64", "compile -p runtime -std /go/src/runtime/proc.go", "another -overlay has the place of stemma's"},
		{"amd64", "compile -p runtime -std " + dir + "/src/runtime/proc.go", ""},
		{"amd64", "asm -msan", ""},
	} {
		t.Setenv("GOARCH", tt.arch)
		words := strings.Fields(tt.args)
		tl := &tool{entry: entry, overlay: filepath.Join(dir, "contexts.json"), targets: "amd64", args: words}
		if err := tl.check(words[0]); !matches(err, tt.want) {
			t.Errorf("GOARCH=%s %s: have error %v, want %q", tt.arch, tt.args, err, tt.want)
		}
	}
	gone := &tool{entry: &Entry{filepath.Join(dir, "gone"), "gone"}, args: []string{"link", "-V=full"}}
	if err := gone.check("link"); !matches(err, "the compiler is gone from the cache") {
		t.Errorf("have error %v", err)
	}
}

// matches reports whether an error has a text in it, or is nil if that is empty.
func matches(err error, text string) bool {
	if err == nil || text == "" {
		return err == nil && text == ""
	}
	return strings.Contains(err.Error(), text)
}

func TestToolexecErrors(t *testing.T) {
	for _, args := range []string{"", "-chain=1 x", "-chain=-1 x", "-nonsense x"} {
		if _, err := newTool(strings.Fields(args)); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
