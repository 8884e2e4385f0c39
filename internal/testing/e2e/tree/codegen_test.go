package tree

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestCodegen compiles testdata/codegen with -S and counts instructions. With -arch what is expected of an engine
// begins with the name of the architecture: those that it has are compiled.
func TestCodegen(t *testing.T) {
	e2e.NeedMore(t)
	tool := e2e.Tool(t)
	dir := filepath.Join("testdata", "codegen")
	src, err := os.ReadFile(filepath.Join(dir, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range e2e.Few(3, [2]string{"asm", "-engine=cct"}, [2]string{"dacce", "-engine=dacce"},
		[2]string{"verify", "-engine=dacce -verify"}, [2]string{"lucce", "-engine=lucce"}) {
		verb, flags := e2e.Target(c[0]), c[1]
		if !bytes.Contains(src, []byte("//"+verb+":")) {
			continue
		}
		// Another output each time: a cached compilation prints nothing.
		flag := "-gcflags=-S -trimpath=" + t.TempDir()
		args := append([]string{"build"}, strings.Fields(flags)...)
		cmd := exec.Command(tool, append(args, flag, "-o", filepath.Join(t.TempDir(), "x"), ".")...)
		cmd.Dir, cmd.Env = dir, e2e.TargetEnv(dir)
		listing, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, listing)
		}
		checkListing(t, listing, string(src), "//"+verb+":")
	}
}

// checkListing compares a listing with the expectations in the source that begin
// with verb.
func checkListing(t *testing.T, listing []byte, src, verb string) {
	wants := 0
	var pending []string
	for line := range strings.Lines(src) {
		if want, ok := strings.CutPrefix(line, verb); ok {
			pending = append(pending, strings.TrimSpace(want))
		} else if name, ok := strings.CutPrefix(line, "func "); ok {
			name, _, _ = strings.Cut(name, "(")
			wants += len(pending)
			checkCode(t, name, codeOf(listing, "main."+name), pending)
			pending = nil
		}
	}
	if wants == 0 {
		t.Errorf("no expectations with %s", verb)
	}
}

// endOfCode is what follows the instructions in the listing: the bytes, or the
// next symbol.
var endOfCode = regexp.MustCompile(`(?m)^\t0x[0-9a-f]+ [0-9a-f]{2} |^\S`)

// position is the file and line of an instruction. The name of the directory is not
// to be taken for code.
var position = regexp.MustCompile(`\([^()]*:[0-9]+\)`)

// codeOf returns the instructions of a function in the listing of -S.
func codeOf(listing []byte, name string) []byte {
	_, code, _ := bytes.Cut(listing, []byte("\n"+name+" STEXT"))
	_, code, _ = bytes.Cut(code, []byte("\n"))
	if end := endOfCode.FindIndex(code); end != nil {
		code = code[:end[0]]
	}
	return position.ReplaceAll(code, nil)
}

func checkCode(t *testing.T, name string, code []byte, wants []string) {
	for _, want := range wants {
		count, pattern, _ := strings.Cut(want, " ")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Errorf("%s: bad expectation %q", name, want)
			continue
		}
		if have := len(regexp.MustCompile(pattern).FindAll(code, -1)); have != n || len(code) == 0 {
			t.Errorf("%s: %d instructions match %s, want %d in\n%s", name, have, pattern, n, code)
		}
	}
}

// TestLittleToProve counts what pass prove learns of a function that does nothing but call. Its work grows with the
// cube of that: a function with 10,000 calls did not end when it learned two inequalities of each cell.
func TestLittleToProve(t *testing.T) {
	e2e.NeedMore(t)
	const calls = 50
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/calls\n\ngo 1.26\n",
		"main.go": "package main\n\nvar x int\n\n//go:noinline\nfunc leaf() { x++ }\n\nfunc main() {\n" +
			strings.Repeat("\tleaf()\n", calls) + "}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, engine := range e2e.Few(2, "cct", "dacce", "lucce") {
		cmd := exec.Command(e2e.Tool(t), "build", "-engine="+engine, "-gcflags=-d=ssa/prove/debug=3", "-o", "x", ".")
		cmd.Dir, cmd.Env = dir, e2e.TargetEnv(dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if n := bytes.Count(out, []byte("update v")); n >= calls || !bytes.Contains(out, []byte("new limit")) {
			t.Errorf("%s: %d inequalities, want none for a call\n%s", engine, n, out)
		}
	}
}
