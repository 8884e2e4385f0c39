package base

import (
	"os/exec"
	"testing"

	"github.com/stemma-go/stemma/profile"
)

// TestShell has shells read what is printed for them.
func TestShell(t *testing.T) {
	words := []string{"", "srv.stemma", "my record.stemma", "a'b", "hey!", `a"b`, "`x`", `a\b'c`, "$HOME/*?;<x", "~", "-x", "größe", "a\nb",
		"a\x1b[2Jb", `\` + "\t'", "\u202eabc"}
	for _, w := range words {
		if out, err := exec.Command("sh", "-c", "printf %s "+ShellWord(w)).Output(); err != nil || string(out) != w {
			t.Errorf("%q: sh read %q (%v) from %s", w, out, err, ShellWord(w))
		}
		if s := Typed(w); profile.Printable(s) != s {
			t.Errorf("%q: %q is not printable", w, s)
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash, which reads $'…'")
	}
	for _, w := range words {
		cmd := exec.Command(bash, "-c", "printf %s "+Typed(w))
		cmd.Env = append(cmd.Environ(), "LC_ALL=C.UTF-8")
		if out, err := cmd.Output(); err != nil || string(out) != w {
			t.Errorf("%q: bash read %q (%v) from %s", w, out, err, Typed(w))
		}
	}
	if have, want := TypedAll([]string{"a b", "c"}), `"a b" c`; have != want {
		t.Errorf("have %s, want %s", have, want)
	}
}
