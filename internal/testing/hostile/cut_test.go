package hostile

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// cutBuilds returns the builds whose files are cut: of each engine, with everything that it may record. The first are
// those for which other tests have the standard library compiled.
func cutBuilds() [][]string {
	return e2e.Few(4,
		[]string{"cct", "-recursion=full"},
		[]string{"checked", "-verify"},
		[]string{"sample", "-engine=sample", "-every=200us"},
		[]string{"marker", "-engine=sample", "-every=200us", "-walk=marker"},
		[]string{"metrics", "-metrics=calls,alloc,inuse,wait,cpu"},
		[]string{"calls", "-record=calls"},
		[]string{"dacce", "-engine=dacce", "-events=alloc,block,go,panic", "-event-log"},
		[]string{"pcce", "-engine=pcce"},
		[]string{"lucce", "-engine=lucce", "-events=alloc,block,go,panic", "-event-log"},
		[]string{"acct", "-engine=acct"},
	)
}

// TestCut cuts each file of a program that is busy, to nothing or to a part, all the time, as who rotates logs does:
// the program does what it would do, and says once that something is missing.
func TestCut(t *testing.T) {
	e2e.NeedMore(t)
	e2e.NeedBuilds(t)
	for _, c := range cutBuilds() {
		t.Run(c[0], func(t *testing.T) {
			exe := e2e.Build(t, "hostile", c[1:]...)
			p := newPlace(t)
			p.start = func(cmd *exec.Cmd) error {
				_, finish := talk(p, cmd)
				cut(t, p.out)
				return finish()
			}
			o := p.run(exe, "busy")
			if o.code != 3 || !strings.Contains(o.stdout, "\nwrong 0\n") {
				t.Errorf("exit code %d, output %s\n%s", o.code, o.stdout, o.stderr)
			}
			if strings.Count(o.stderr, "\n") != 1 || !regexp.MustCompile(notAll+".*cut").MatchString(o.stderr) {
				t.Errorf("standard error: %q, want one line that says that a file was cut", o.stderr)
			}
		})
	}
}

// cut cuts the files of the record in a directory, each several times, and all of them to nothing in the end.
func cut(t *testing.T, dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	if len(files) == 0 {
		t.Fatal("nothing is recorded")
	}
	r := rand.New(rand.NewPCG(uint64(len(files)), 1))
	shorten := func(file string) {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		size := int64(0)
		if n := info.Size(); n > 0 && r.IntN(3) > 0 {
			size = r.Int64N(n)
		}
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		for _, file := range files {
			shorten(file)
			time.Sleep(5 * time.Millisecond)
		}
	}
	for _, file := range files {
		if err := os.Truncate(file, 0); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(50 * time.Millisecond)
}
