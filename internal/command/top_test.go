package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/testing/pty"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// TestTopUnreadable names a directory in which there is something that is called as a record, and cannot be looked at:
// it may be the program that is asked for. That is an error which names it, and an empty directory is another one.
func TestTopUnreadable(t *testing.T) {
	dir := t.TempDir()
	loop := filepath.Join(dir, "prog.7-abcdef")
	if err := os.Symlink("prog.7-abcdef", loop); err != nil { // which not even root can follow
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir: loop + ": too many levels of symbolic links", loop: loop + ": too many levels of symbolic links",
		t.TempDir(): "neither a live directory nor one in which a program that runs records",
	} {
		code, stdout, stderr := runMain("top", "-once", path)
		if code == base.ExitOK || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("top %s: exit code %d, %s%s, want %q", path, code, stdout, stderr, want)
		}
	}
}

// Where a page cannot be shown the error says what can be done.
func TestTopWithoutTerminal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "prog.7-abcdef")
	recordtest.New(1, "prog").WriteTo(t, dir)
	ptm, _ := pty.Open(t)
	for _, term := range []string{"dumb", ""} {
		t.Setenv("TERM", term)
		var errs bytes.Buffer
		code := Main([]string{"top", dir}, strings.NewReader(""), ptm, &errs)
		have := errs.String()
		if code == base.ExitOK || !strings.Contains(have, "TERM="+term) || !strings.Contains(have, "-once") {
			t.Errorf("TERM=%s: exit code %d, %s", term, code, have)
		}
	}
}
