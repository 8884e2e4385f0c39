package base

import (
	"flag"
	"io"
	"strings"
	"testing"
	"time"
)

// TestWanted gives flags of each type a value that they do not take: what they take is said.
func TestWanted(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-yes=perhaps", ": want true or false;"},
		{"-n=many", "want a whole number;"},
		{"-n=99999999999999999999", "value out of range; want a whole number;"},
		{"-nodes=-1", "want a whole number that is not negative;"},
		{"-share=x", "want a number;"},
		{"-every=5", "want a duration, as 1.5s or 2m;"},
		{"-colour", "flag provided but not defined: -colour; run"},
	} {
		fs := flag.NewFlagSet("test", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		fs.Bool("yes", false, "x")
		fs.Int("n", 0, "x")
		fs.Uint64("nodes", 0, "x")
		fs.Float64("share", 0, "x")
		fs.Duration("every", time.Second, "x")
		if _, err := Parse(fs, []string{c.args}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
	}
	fs := FlagSet{flag.NewFlagSet("test", flag.ContinueOnError)}
	fs.Uint64("nodes", 0, "x")
	err := fs.Set("nodes", "many")
	if err == nil || !strings.HasSuffix(err.Error(), "want a whole number that is not negative") {
		t.Errorf("set by name: %v", err)
	}
}
