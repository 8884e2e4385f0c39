package e2e

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestScriptWords splits lines of scripts.
func TestScriptWords(t *testing.T) {
	s := &script{env: []string{"A=1 2", "B=x", "B=y"}}
	for line, want := range map[string][]string{
		"":                           nil,
		"# nothing":                  nil,
		"exec a  b # c":              {"exec", "a", "b"},
		"x $A ${B}z '$A' a'b c'$B":   {"x", "1 2", "yz", "$A", "ab cy"},
		"env F='''-a='$B'/c b'''":    {"env", "F='-a=y/c b'"},
		"stdout 'it''s # that' ''":   {"stdout", "it's # that", ""},
		"stderr '^a$'  '\\.[0-9]+$'": {"stderr", "^a$", `\.[0-9]+$`},
	} {
		if have, err := s.words(line); err != nil || !slices.Equal(have, want) {
			t.Errorf("%s: have %q (%v), want %q", line, have, err, want)
		}
	}
	if _, err := s.words("a 'b"); err == nil {
		t.Error("a quote that is not closed is no error")
	}
}

// TestScriptLines runs lines of scripts that must hold, and lines that must not.
func TestScriptLines(t *testing.T) {
	text := txtar.Parse([]byte("-- a --\none\ntwo\n-- dir/b --\none\ntwo\n"))
	s := newScript(t, text, []string{"PATH=/usr/bin:/bin"})
	for _, line := range strings.Split(strings.TrimSpace(`
exec cat a
stdout '^two$'
stdout -count=2 o
! stdout three
! stderr .
cmp stdout dir/b
! exec sh -c 'echo wrong >&2; exit 3'
stderr wrong
stdin a
exec cat
stdout one
exec sh -c 'echo $X'
! stdout .
env X=5
exec sh -c 'echo $X; pwd'
stdout '^5$'
cd dir
exists b ../a
! exists a
cp b c
grep -count=1 two c
! grep three c
rm b
! exists b
mkdir e/f
exists e/f
cd ..
exec sh -c 'echo later; sleep 0.1; exit 0' &name&
! stdout later
wait name
stdout later
[exec:no-such-program] exec no-such-program
[!exec:sh] exec no-such-program`), "\n") {
		if err := s.line(line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, line := range []string{"! stdout later", "stdout -count=2 later", "exec false", "! exec true", "stdout x",
		"cmp a dir", "cmp a stdout", "grep three a", "! grep one a", "exists b", "! exists a", "wait name", "unknown",
		"[what] exec true", "cp none a", "exec no-such-program", "! exec no-such-program"} {
		if err := s.line(line); err == nil {
			t.Errorf("%s: no error", line)
		}
	}
	if err := s.line("skip 'because'"); !errors.Is(err, errSkip) {
		t.Errorf("skip: %v", err)
	}
}
