package command

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/testing/pty"
)

// TestPager reports to a terminal: by way of a pager, unless there is a reason not to.
func TestPager(t *testing.T) {
	inTemp(t)
	ptm, _ := pty.Open(t)
	_, want, _ := runMain("report")
	report := func(pager string, args ...string) (code int, stderr string) {
		t.Helper()
		t.Setenv("STEMMA_PAGER", pager)
		_ = os.Remove("paged") // it need not be there
		var errs bytes.Buffer
		code = Main(append([]string{"report"}, args...), strings.NewReader(""), ptm, &errs)
		return code, errs.String()
	}
	t.Setenv("NO_COLOR", "1")
	const keep = `sh -c "cat >paged"`
	if code, stderr := report(keep); code != base.ExitOK || stderr != "" {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if have, err := os.ReadFile("paged"); err != nil || string(have) != want {
		t.Errorf("the pager got %q, %v; want %q", have, err, want)
	}
	for _, test := range []struct {
		noColor, term string
		colours       int
	}{{"1", "xterm", 0}, {"", "dumb", 0}, {"", "xterm", 1}} {
		t.Setenv("NO_COLOR", test.noColor)
		t.Setenv("TERM", test.term)
		report(keep)
		have, err := os.ReadFile("paged")
		if n := strings.Count(string(have), "\x1b[1m"); err != nil || n != test.colours {
			t.Errorf("%+v: have %q, %v", test, have, err)
		}
		plain := strings.NewReplacer("\x1b[1m", "", "\x1b[m", "").Replace(string(have))
		if plain != want {
			t.Errorf("%+v: without colours, have %q, want %q", test, plain, want)
		}
	}
	if strings.Contains(want, "\x1b") {
		t.Errorf("colours without a terminal: %q", want)
	}
	for _, args := range [][]string{{"-no-pager"}, {"-top=2", "--no-pager"}, {"-nothing"}} {
		report(keep, args...)
		if _, err := os.Stat("paged"); err == nil {
			t.Errorf("report %q started a pager", args)
		}
	}
	for _, pager := range []string{"", "cat", "/nowhere/pager"} {
		if code, stderr := report(pager); code != base.ExitOK || stderr != "" {
			t.Errorf("pager %q: exit code %d, %s", pager, code, stderr)
		}
	}
	// A pager that was left at once, and one that fails: neither is an error.
	if code, stderr := report("true", "-contexts"); code != base.ExitOK || stderr != "" {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
