package command

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/testing/pty"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

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
