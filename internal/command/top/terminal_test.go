package top

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stemma-go/stemma/internal/testing/pty"
)

// TestKeys reads what terminals send for keys, in one piece and byte by byte.
func TestKeys(t *testing.T) {
	for text, want := range map[string][]Event{
		"q/é→":            {{KeyRune, 'q'}, {KeyRune, '/'}, {KeyRune, 'é'}, {KeyRune, '→'}},
		"\r\n\x7f\b\x03":  {{Key: KeyEnter}, {Key: KeyEnter}, {Key: KeyBackspace}, {Key: KeyBackspace}, {Key: KeyEnd}},
		"\x1b[A\x1bOB":    {{Key: KeyUp}, {Key: KeyDown}},
		"\x1b[1;5C\x1b[D": {{Key: KeyRight}, {Key: KeyLeft}},
		"\x1b[5~\x1b[6~":  {{Key: KeyPgUp}, {Key: KeyPgDn}},
		"\x1b[H\x1bOH\x1b[1~\x1b[7~x": {{Key: KeyHome}, {Key: KeyHome}, {Key: KeyHome}, {Key: KeyHome},
			{KeyRune, 'x'}},
		"\x1b":                  {{Key: KeyEscape}},
		"\x1b\x1b[A":            {{Key: KeyEscape}, {Key: KeyUp}},
		"\x1b[200~a\x1b[15;2~b": {{KeyRune, 'a'}, {KeyRune, 'b'}},
		"\xff\xc3(\x00a":        {{KeyRune, '('}, {KeyRune, 'a'}},
	} {
		if have, rest := keysOf([]byte(text), true); !slices.Equal(have, want) || len(rest) > 0 {
			t.Errorf("%q: have %v and %q, want %v", text, have, rest, want)
		}
		var have, more []Event
		var rest []byte
		for _, b := range []byte(text) {
			more, rest = keysOf(append(rest, b), false)
			have = append(have, more...)
		}
		more, _ = keysOf(rest, true)
		if have = append(have, more...); !slices.Equal(have, want) {
			t.Errorf("%q, byte by byte: have %v, want %v", text, have, want)
		}
	}
}

// TestTerminal shows a page on a terminal, presses keys there, and finds the terminal as it was before.
func TestTerminal(t *testing.T) {
	keyboard, f := pty.Open(t)
	before := settings(t, f)
	s, err := OpenTerminal(f)
	if err != nil {
		t.Fatal(err)
	}
	if settings(t, f) == before {
		t.Error("the terminal waits for whole lines")
	}
	s.Draw([]Line{{"a heading that is " + strings.Repeat("long ", 100), Bold}, {}, {"last", Underlined | Reversed}})
	out := readUntil(t, keyboard, "last")
	for _, want := range []string{"\x1b[?1049h", "\x1b[1;1H\x1b[0m\x1b[1ma heading",
		"\x1b[3;1H\x1b[0m\x1b[4m\x1b[7mlast"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q", want, out)
		}
	}
	if n := strings.Count(out, "long"); n > 13 {
		t.Errorf("a line of 80 columns has %d words", n)
	}
	for _, k := range []struct {
		bytes string
		want  Event
	}{{"x", Event{KeyRune, 'x'}}, {"\x1b", Event{Key: KeyEscape}}, {"\x1b[B", Event{Key: KeyDown}}} {
		if _, err := keyboard.WriteString(k.bytes); err != nil {
			t.Fatal(err)
		}
		if have := <-s.Events(); have != k.want {
			t.Errorf("%q: have %v, want %v", k.bytes, have, k.want)
		}
	}
	for sig, want := range map[syscall.Signal]Key{syscall.SIGWINCH: NewSize, syscall.SIGTERM: KeyEnd} {
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
		if have := <-s.Events(); have.Key != want {
			t.Errorf("%v: have %v, want %v", sig, have, want)
		}
	}
	if err := s.Close(); err != nil || settings(t, f) != before {
		t.Errorf("the terminal is not as it was: %v", err)
	}
	readUntil(t, keyboard, leavePage)
}

// settings returns how a terminal is set.
func settings(t *testing.T, f *os.File) (set syscall.Termios) {
	t.Helper()
	// The system call is done with set when it returns.
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&set)))
	if errno != 0 {
		t.Fatal(errno)
	}
	return set
}

// readUntil reads what a program has written, up to a text.
func readUntil(t *testing.T, f *os.File, want string) string {
	t.Helper()
	_ = f.SetReadDeadline(time.Now().Add(10 * time.Second))
	var out strings.Builder
	for b := make([]byte, 4096); !strings.Contains(out.String(), want); {
		n, err := f.Read(b)
		if out.Write(b[:n]); err != nil {
			t.Fatalf("%v: no %q in %q", err, want, out.String())
		}
	}
	return out.String()
}
