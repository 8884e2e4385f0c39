package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/exit"
	"github.com/stemma-go/stemma/internal/livetest"
	"github.com/stemma-go/stemma/internal/pty"
)

// Where a page cannot be shown the error says what can be done.
func TestTopWithoutTerminal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "prog.7-abcdef")
	livetest.New(1, "prog").WriteTo(t, dir)
	ptm, _ := pty.Open(t)
	for _, term := range []string{"dumb", ""} {
		t.Setenv("TERM", term)
		var errs bytes.Buffer
		code := Main([]string{"top", dir}, strings.NewReader(""), ptm, &errs)
		have := errs.String()
		if code == exit.OK || !strings.Contains(have, "TERM="+term) || !strings.Contains(have, "-once") {
			t.Errorf("TERM=%s: exit code %d, %s", term, code, have)
		}
	}
}
