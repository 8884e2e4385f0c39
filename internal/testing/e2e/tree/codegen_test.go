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
