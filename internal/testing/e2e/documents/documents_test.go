// Package documents runs the commands of README.md and docs, on a module that no stemma has built before.
package documents

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m) }

// A block of commands is marked: sh for commands alone, console for commands behind "$ " with what they
// print. Those that are not run have a reason behind the mark, see internal.TestCommandsAreRun.
var marked = regexp.MustCompile("(?ms)^```(sh|console)\n(.*?)^```$")

// What stands in a command for something of the reader's: an ID of a log, the live directory of a program, an hour.
var stands = []struct {
	text *regexp.Regexp
	is   string
}{
	{regexp.MustCompile(`stm2[A-Za-z0-9_-]{33}\b`), "$(grep -o 'stm2[A-Za-z0-9_-]*' srv.log | head -1)"},
	{regexp.MustCompile(`srv\.4711-0a1b2c\b`), `$(basename "$(ls -td stemma.out/srv.*-?????? | head -1)")`},
	{regexp.MustCompile(`STEMMA_ROTATE=1h \./srv`), "BUSY_TIME=100ms STEMMA_ROTATE=5ms ./srv"},
}

// commands returns what a shell is to run for each marked block of a document.
func commands(text string) (blocks []string) {
	for _, m := range marked.FindAllStringSubmatch(text, -1) {
		script := m[2]
		if m[1] == "console" {
			script = ""
			for line := range strings.Lines(m[2]) {
				if command, ok := strings.CutPrefix(line, "$ "); ok {
					script += command
				}
			}
		}
		for _, r := range stands {
			script = r.text.ReplaceAllLiteralString(script, r.is)
		}
		blocks = append(blocks, script)
	}
	return blocks
}

// prelude stands before each script: it ends at the first failure, in a pipe as well, and nothing
// that it has begun goes on behind it. A log that is followed ends.
const prelude = `set -e -o pipefail
tail() { command tail "${@/#-f/-n+1}"; }
trap 'wait' EXIT
`

// TestCommands runs each marked block, of README alone without -full, in the order of its document, in a copy of the
// module srv, with -full with what a reader of docs has: a branch main, an executable, a record of it, and profiles of
// two builds.
func TestCommands(t *testing.T) {
	e2e.NeedMore(t)
	tool := e2e.Tool(t)
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here; install it")
	}
	module := prepare(t, tool)
	files, err := filepath.Glob("../../../../docs/*/*.md")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d documents, %v", len(files), err)
	}
	if !e2e.Full() {
		files = nil // others have the standard library built for each engine and metric
	}
	run := 0
	for _, file := range append(files, "../../../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		blocks := commands(string(text))
		if len(blocks) == 0 {
			continue
		}
		run += len(blocks)
		t.Run(filepath.Base(file), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "srv")
			if err := os.CopyFS(dir, os.DirFS(module)); err != nil {
				t.Fatal(err)
			}
			for _, block := range blocks {
				if strings.Contains(block, "clean -cache") { // others build with the cache that there is
					block = "export STEMMA_CACHE=" + t.TempDir() + "\n" + block
				}
				if out, err := script(t, tool, dir, shell, "-c", prelude+block); err != nil {
					t.Fatalf("%v\n%s\n%s", err, block, e2e.Tail(out))
				}
			}
		})
	}
	if run < 10 && e2e.Full() || run == 0 {
		t.Errorf("%d blocks of commands, want more: are they marked sh or console?", run)
	}
}

// prepare returns a copy of the module srv, with -full with branch main, an executable, records and profiles in it.
func prepare(t *testing.T, tool string) string {
	dir := filepath.Join(t.TempDir(), "srv")
	if err := os.CopyFS(dir, os.DirFS("testdata/srv")); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	// A line of the module's own that nobody has built.
	fresh := fmt.Sprintf("package serve\n\nconst built = %q\n", time.Now())
	mod := "module example.com/srv\n\ngo 1.26\n\nrequire github.com/stemma-go/stemma v0.0.0\n\n" +
		"replace github.com/stemma-go/stemma => " + root + "\n"
	for file, text := range map[string]string{"go.mod": mod, "serve/built.go": fresh} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if !e2e.Full() {
		return dir // README asks for none of that
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here; install it") // a recipe compares two branches
	}
	// The record has another name than those that come: commands name all of those.
	out, err := script(t, tool, dir, "bash", "-c", prelude+`
		git init -q -b main && git add . && git -c user.name=me -c user.email=me@example.com commit -qm base
		stemma run -o base.stemma . 2>srv.log
		for f in new old gofmt srv; do cp base.stemma $f.stemma; done
		stemma build -engine=sample -o srv . && cp srv before && ./before 2>srv.log`)
	if err != nil {
		t.Fatalf("%v\n%s", err, e2e.Tail(out))
	}
	return dir
}

// script runs a command as a user in dir would, and returns all that it prints.
func script(t *testing.T, tool, dir string, args ...string) (string, error) {
	t.Helper()
	ctx := t.Context()
	if end, ok := t.Deadline(); ok {
		var cancel func()
		ctx, cancel = context.WithDeadline(ctx, end.Add(-15*time.Second))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(tool)+":"+os.Getenv("PATH"), "GOFLAGS=-mod=mod", "GOPROXY=off",
		"STEMMA_OUT=", "STEMMA_PAGER=", "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestBlocks takes a document apart.
func TestBlocks(t *testing.T) {
	text := "a\n```sh\nx | y\nz\n```\n```\nno\n```\n```console\n$ one\nout\n" +
		"$ two stm2PC6FOyGGNUQAAABwAAAAAAAAAEBB45hzD\n```\n"
	want := []string{"x | y\nz\n", "one\ntwo $(grep -o 'stm2[A-Za-z0-9_-]*' srv.log | head -1)\n"}
	have := commands(text)
	if len(have) != 2 || have[0] != want[0] || have[1] != want[1] {
		t.Errorf("have %q, want %q", have, want)
	}
}
