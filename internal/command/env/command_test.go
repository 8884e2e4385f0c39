package env

import (
	"os/exec"
	"testing"

	"github.com/stemma-go/stemma/internal/toolchain"
)

// TestFormat lets a shell read what is printed.
func TestFormat(t *testing.T) {
	const value = `-a "b 'c d'" $HOME \ <e>`
	vars := []toolchain.Variable{{Name: "ONE", Value: value}}
	text, err := format(vars, false, false)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sh", "-c", string(text)+`sh -c 'printf %s "$ONE"'`).Output()
	if err != nil || string(out) != value {
		t.Errorf("%s: have %q, %v; want %q", text, out, err, value)
	}
	if text, err = format(vars, false, true); err != nil || string(text) != value+"\n" {
		t.Errorf("have %q, %v", text, err)
	}
	const want = `{
	"ONE": "-a \"b 'c d'\" $HOME \\ <e>"
}
`
	if text, err = format(vars, true, true); err != nil || string(text) != want {
		t.Errorf("have %s, %v; want %s", text, err, want)
	}
}
