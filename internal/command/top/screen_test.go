package top

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// A shown is a page on a terminal of 80 columns.
type shown struct {
	*seenScreen
	t    *testing.T
	done chan error
}

// show shows the page of a program.
func show(t *testing.T, p *program) *shown {
	t.Helper()
	p.read(t, NewReader(p.path, ""))
	s := &shown{newSeenScreen(), t, make(chan error, 1)}
	go func() { s.done <- Show(s, NewReader(p.path, ""), time.Hour, Options{Sort: "count"}) }()
	return s
}

// waits waits until the screen has a text, or with "!" in front has not.
func (s *shown) waits(want string) {
	s.t.Helper()
	text, not := strings.CutPrefix(want, "!")
	deadline := time.Now().Add(time.Minute)
	for ; strings.Contains(s.seen(), text) == not; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("want %q on\n%s", want, s.seen())
		}
	}
}

// quit ends the page, which must not have ended before.
func (s *shown) quit() {
	s.t.Helper()
	select {
	case err := <-s.done:
		s.t.Fatalf("ended by itself: %v", err)
	default:
	}
	s.press(Event{KeyRune, 'q'})
	if err := <-s.done; err != nil {
		s.t.Error(err)
	}
}

// All of a long name can be seen: that of the row that is chosen below the rows, and by scrolling names.
func TestLongNames(t *testing.T) {
	p := newProgram(t)
	name := "example.org/" + strings.Repeat("a/long/path/", 5) + "pkg.(*Type).Method.end"
	long := p.d.Func(recordtest.Func{Name: name, Files: []string{"m.go"}})
	p.d.Count(0, p.d.Node(p.mainNode, 1, long), 0, 1000)
	p.d.Count(0, p.fAt, 0, 2000)
	s := show(t, p)
	s.waits("2,000  main.f")
	joined := func() string { return strings.ReplaceAll(s.seen(), "\n", "") }
	if strings.Contains(joined(), name) {
		t.Error("the name of a row that is not chosen is below the rows")
	}
	s.press(Event{Key: KeyDown})
	s.waits(".end")
	if !strings.Contains(joined(), name) {
		t.Errorf("the name is not there in full:\n%s", s.seen())
	}
	s.press(Event{Key: KeyUp})
	s.waits("!.end")
	for range 4 {
		s.press(Event{Key: KeyRight})
	}
	s.waits("(*Type).Method.end")
	for range 9 {
		s.press(Event{Key: KeyLeft})
	}
	s.waits("1,000  example.org/")
	s.quit()
}

// Escape ends a search, and the list of keys, and not the page.
func TestEscape(t *testing.T) {
	p := newProgram(t)
	p.d.Count(0, p.fAt, 0, 2000)
	p.d.Count(0, p.mainNode, 0, 1)
	s := show(t, p)
	for _, typing := range []bool{true, false} {
		s.waits("main.main")
		s.types("/main.f")
		s.waits("!1  main.main")
		if !typing {
			s.press(Event{Key: KeyEnter})
			s.waits("only main.f")
		}
		s.press(Event{Key: KeyEscape})
		s.waits("1  main.main")
		s.press(Event{Key: KeyEscape})
	}
	s.press(Event{KeyRune, '?'})
	for _, k := range keys {
		s.waits(k.key + "  " + k.does)
	}
	s.press(Event{Key: KeyEscape})
	s.waits("2,000  main.f")
	s.quit()
}

// What is on the page stays when the record has gone, whatever is pressed.
func TestRecordGone(t *testing.T) {
	p := newProgram(t)
	p.d.Count(0, p.fAt, 0, 2000)
	s := show(t, p)
	s.waits("2,000  main.f")
	if err := os.RemoveAll(p.path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.types("v")
		s.waits("reading failed: ")
		s.waits("2,000  main.f")
	}
	s.types("/main.g")
	s.waits("search: main.g")
	s.press(Event{Key: KeyEscape})
	s.waits("2,000  main.f")
	s.quit()
}

// The last line has room for what it says on each terminal, and leads to the keys.
func TestStatusFits(t *testing.T) {
	for wide := 6; wide < 200; wide++ {
		for _, x := range []*screen{{}, {paused: true}, {o: Options{Search: "main.serve"}}} {
			x.o.Sort = "rate"
			text := x.status(wide)
			if n := utf8.RuneCountInString(text); n > wide || !strings.HasSuffix(text, "? keys") {
				t.Errorf("%d columns: %q", wide, text)
			}
			if wide >= 80 && !strings.Contains(text, "q quit") {
				t.Errorf("%d columns: %q", wide, text)
			}
		}
	}
}
