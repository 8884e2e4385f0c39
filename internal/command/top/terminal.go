package top

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/stemma-go/stemma/internal/terminal"
)

// A Display shows pages, and has keys.
type Display interface {
	Size() (wide, high int)
	// Draw shows a page, from the first row on. What does not fit is cut.
	Draw(page []Line)
	// Events are the keys that are pressed, and changes of the size. The channel is closed when there are no more.
	Events() <-chan Event
}

// A Line is one row of a page.
type Line struct {
	Text  string
	Style Style
}

// A Style is how a line looks.
type Style uint8

// Styles may be combined.
const (
	Bold Style = 1 << iota
	Underlined
	Reversed
)

// An Event is a key that was pressed, or a new size.
type Event struct {
	Key  Key
	Rune rune // of KeyRune
}

// A Key is one that means something.
type Key uint8

// Keys, and what is none.
const (
	NewSize Key = iota
	KeyRune
	KeyEnter
	KeyEscape
	KeyBackspace
	KeyEnd // of the page: Ctrl-C, or a signal
	KeyUp
	KeyDown
	KeyLeft
	KeyRight
	KeyPgUp
	KeyPgDn
	KeyHome
)

// A Terminal is a Display by the escape sequences that all terminals of today know.
type Terminal struct {
	f       *os.File
	restore func() error
	events  chan Event
	signals chan os.Signal
	done    chan struct{}
}

// What is written at the beginning and at the end: another page, no cursor, no line that goes on in the next one.
const (
	enterPage = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
	leavePage = "\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// OpenTerminal takes over a terminal, until it is closed.
func OpenTerminal(f *os.File) (*Terminal, error) {
	restore, err := terminal.Raw(f)
	if err != nil {
		return nil, err
	}
	t := &Terminal{f, restore, make(chan Event, 16), make(chan os.Signal, 4), make(chan struct{})}
	signal.Notify(t.signals, syscall.SIGWINCH, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	_, err = f.WriteString(enterPage)
	typed := make(chan []byte)
	go t.read(typed)
	go t.run(typed)
	return t, err
}

// Close gives the terminal back. A read that waits for a key goes on to do so.
func (t *Terminal) Close() error {
	signal.Stop(t.signals)
	close(t.done)
	_, err := t.f.WriteString(leavePage)
	if err2 := t.restore(); err == nil {
		err = err2
	}
	return err
}

// Size is part of [Display].
func (t *Terminal) Size() (wide, high int) { return terminal.Size(t.f) }

// Events is part of [Display].
func (t *Terminal) Events() <-chan Event { return t.events }

// Draw is part of [Display].
func (t *Terminal) Draw(page []Line) {
	wide, high := t.Size()
	_, _ = t.f.WriteString(drawn(page, wide, high)) // a terminal that has gone away is found out by reading
}

// drawn returns what shows a page, in one piece: so it does not flicker.
func drawn(page []Line, wide, high int) string {
	var b strings.Builder
	for y := range high {
		fmt.Fprintf(&b, "\x1b[%d;1H\x1b[0m", y+1)
		if y < len(page) {
			for i, code := range []string{"\x1b[1m", "\x1b[4m", "\x1b[7m"} {
				if page[y].Style>>i&1 != 0 {
					b.WriteString(code)
				}
			}
			b.WriteString(firstRunes(page[y].Text, wide))
		}
		b.WriteString("\x1b[0m\x1b[K")
	}
	return b.String()
}

// firstRunes returns the first n characters of a text.
func firstRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// read passes on what is typed, until the terminal has gone away.
func (t *Terminal) read(typed chan<- []byte) {
	defer close(typed)
	for {
		b := make([]byte, 256)
		n, err := t.f.Read(b)
		if err != nil {
			return
		}
		select {
		case typed <- b[:n]:
		case <-t.done:
			return
		}
	}
}

// escapeTime is for how long the escape key may be the beginning of a sequence.
const escapeTime = 50 * time.Millisecond

// run makes events of what is typed, and of signals.
func (t *Terminal) run(typed <-chan []byte) {
	defer close(t.events)
	var pending []byte
	for {
		var late <-chan time.Time
		if len(pending) > 0 {
			late = time.After(escapeTime)
		}
		var list []Event
		select {
		case b, ok := <-typed:
			if !ok {
				return
			}
			list, pending = keysOf(append(pending, b...), false)
		case <-late:
			list, pending = keysOf(pending, true)
		case s := <-t.signals:
			e := Event{Key: KeyEnd}
			if s == syscall.SIGWINCH {
				e.Key = NewSize
			}
			list = append(list, e)
		case <-t.done:
			return
		}
		for _, e := range list {
			select {
			case t.events <- e:
			case <-t.done:
				return
			}
		}
	}
}

// sequences are the keys that begin with escape and [ or O, by the rest without the numbers of modifiers.
var sequences = map[string]Key{
	"A": KeyUp, "B": KeyDown, "C": KeyRight, "D": KeyLeft, "H": KeyHome, "1~": KeyHome, "7~": KeyHome, "5~": KeyPgUp,
	"6~": KeyPgDn,
}

// keysOf returns the keys in what a terminal sends, and what is the beginning of another one. If nothing more follows,
// an escape is the key.
func keysOf(b []byte, all bool) (list []Event, rest []byte) {
	for len(b) > 0 {
		n := 1
		switch c := b[0]; {
		case c == '\r' || c == '\n':
			list = append(list, Event{Key: KeyEnter})
		case c == 0x7f || c == '\b':
			list = append(list, Event{Key: KeyBackspace})
		case c == 3:
			list = append(list, Event{Key: KeyEnd})
		case c == '\x1b':
			var key Event
			if key, n = escaped(b); n == 0 && !all {
				return list, b
			}
			if n == 0 || key.Key == KeyEscape {
				key, n = Event{Key: KeyEscape}, 1
			}
			if key.Key != NewSize {
				list = append(list, key)
			}
		case c >= ' ':
			if !utf8.FullRune(b) && !all {
				return list, b
			}
			var r rune
			if r, n = utf8.DecodeRune(b); r != utf8.RuneError {
				list = append(list, Event{KeyRune, r})
			}
		}
		b = b[n:]
	}
	return list, nil
}

// escaped returns the key of the sequence that b begins with, NewSize if it means nothing, and its length; that is 0 if
// it is not complete. An escape that begins none is the key.
func escaped(b []byte) (e Event, n int) {
	if len(b) < 2 {
		return e, 0
	}
	if b[1] != '[' && b[1] != 'O' {
		return Event{Key: KeyEscape}, 1
	}
	for i := 2; i < len(b); i++ {
		if b[i] < 0x40 || b[i] > 0x7e {
			continue
		}
		name := string(b[2:i])
		if before, _, ok := strings.Cut(name, ";"); ok {
			name = before
		}
		if b[i] != '~' {
			name = ""
		}
		return Event{Key: sequences[name+string(b[i])]}, i + 1
	}
	return e, 0
}
