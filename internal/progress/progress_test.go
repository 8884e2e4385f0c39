package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

// A stamped remembers what was written, and when.
type stamped struct {
	mu    sync.Mutex
	text  []byte
	times []time.Time
}

func (s *stamped) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times = append(s.times, time.Now())
	s.text = append(s.text, b...)
	return len(b), nil
}

func (s *stamped) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

// begin begins work as Begin does, with a terminal or without.
func begin(w io.Writer, update bool, what string) *Work {
	work := newWork(w, update, what)
	work.start()
	return work
}

// bubble is synctest.Test, whose clock begins anew, behind no other work.
func bubble(t *testing.T, f func(*testing.T)) {
	current.spoke, current.ended = time.Time{}, time.Time{}
	synctest.Test(t, f)
}

// screen returns what a terminal shows of text. Where the cursor is ends it.
func screen(text string) string {
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		if i := strings.LastIndex(line, "\r\x1b[K"); i >= 0 {
			line = line[i+len("\r\x1b[K"):]
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Work that is done soon leaves no trace, on a terminal and elsewhere.
func TestQuick(t *testing.T) {
	for _, update := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			var b stamped
			w := begin(&b, update, "quick")
			over := Step("reading", "bytes", func() (int64, int64) { return 1, 2 })
			time.Sleep(after - time.Millisecond)
			over()
			w.End()
			time.Sleep(time.Hour)
			if b.String() != "" {
				t.Errorf("update=%t: %q", update, b.String())
			}
		})
	}
}

// Without a terminal there is a line at least each 30 seconds, which is whole, and says how much is done.
func TestLines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var b stamped
		began := time.Now()
		w := begin(&b, false, "building")
		count := func() (int64, int64) { return int64(time.Since(began).Seconds()), 300 }
		over := Step("", "packages", count)
		time.Sleep(4 * time.Minute)
		over()
		w.End()
		last := began
		for _, at := range append(b.times, time.Now()) {
			if gap := at.Sub(last); gap > 30*time.Second {
				t.Errorf("%v without a line", gap)
			}
			last = at
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if want := "stemma: building, 100 of 300 packages, 100 s"; len(lines) != 12 || lines[4] != want ||
			strings.ContainsAny(b.String(), "\r\x1b") {
			t.Errorf("have %q, want %q", lines, want)
		}
	})
}

// A step that knows what it is at tells it, on a terminal and elsewhere; what it is at may not be known.
func TestDoing(t *testing.T) {
	for update, want := range map[bool]string{
		true:  "stemma: building: net/http [######..............] 1 of 3 packages, 22 s",
		false: "stemma: building, 1 of 3 packages, 20 s\n",
	} {
		bubble(t, func(t *testing.T) {
			var b stamped
			began := time.Now()
			w := begin(&b, update, "building")
			over := StepDoing("", "packages", func() (int64, int64) { return 1, 3 }, func() string {
				if time.Since(began) < 21*time.Second {
					return ""
				}
				return "net/http"
			})
			time.Sleep(22*time.Second + time.Millisecond)
			synctest.Wait()
			if have := screen(b.String()); have != want {
				t.Errorf("have %q, want %q", have, want)
			}
			over()
			w.End()
		})
	}
}

// On a terminal there is one line, which goes away; another step, and work within the work, take it over.
func TestTerminal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var b stamped
		shows := func(want string) {
			t.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			if have := screen(b.String()); have != want {
				t.Errorf("have %q, want %q", have, want)
			}
		}
		outer := begin(&b, true, "view")
		time.Sleep(3 * time.Second)
		shows("stemma: view, 4 s")
		over := Step("reading a.stemma", "bytes", func() (int64, int64) { return 25e5, 1e7 })
		shows("stemma: view: reading a.stemma [#####...............] 2.5 of 10.0 MB, 5 s")
		over()
		shows("stemma: view, 6 s")
		inner := begin(&b, true, "sealing")
		shows("") // it may be done soon
		time.Sleep(time.Second)
		over = Step("", "records", func() (int64, int64) { return 7, 0 })
		shows("stemma: sealing, 7 records, 3 s")
		over()
		inner.End()
		shows("stemma: view, 10 s")
		outer.End()
		outer.End()
		if have := screen(b.String()); have != "" || strings.Contains(b.String(), "\n") {
			t.Errorf("left there: %q", have)
		}
	})
}

// What a child writes reaches the terminal as it is, and no line breaks into one of its own.
func TestOutput(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var b stamped
		w := begin(&b, true, "building")
		out, want := w.Output(&b), ""
		for i := range 20 {
			text := fmt.Sprintf("# pkg%d\nx.go:1: half", i)
			if i%3 > 0 {
				text = " a line\n"
			}
			want += text
			if _, err := io.WriteString(out, text); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
			synctest.Wait()
			have := screen(b.String())
			if line, open := strings.CutPrefix(have, want); !open || (line != "") != strings.HasSuffix(want, "\n") {
				t.Fatalf("have %q, want %q", have, want)
			}
		}
		w.End()
		if have := screen(b.String()); have != want {
			t.Errorf("have %q, want %q", have, want)
		}
	})
}

// A line is cut to the width of the terminal so that how much is done stays.
func TestWidth(t *testing.T) {
	w := newWork(io.Discard, true, "report")
	w.Step("reading "+strings.Repeat("long/", 40), "bytes", func() (int64, int64) { return 5e6, 9e6 })
	for columns := 30; columns < 400; columns++ {
		line := w.line(columns)
		if n := utf8.RuneCountInString(line); n > columns || !strings.HasSuffix(line, "5.0 of 9.0 MB, 0 s") {
			t.Errorf("%d columns: %d, %q", columns, n, line)
		}
	}
}

// Where others have the terminal there are no lines any more when all is done.
func TestComplete(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var b stamped
		w := BeginLines(&b, "building the tests")
		var done atomic.Int64
		over := Step("", "packages", func() (int64, int64) { return done.Load(), 5 })
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		done.Store(5)
		n := len(b.times)
		time.Sleep(time.Hour)
		over()
		w.End()
		if len(b.times) != n || n < 2 {
			t.Errorf("%d lines before, %d in all: %s", n, len(b.times), b.String())
		}
	})
}

// Where others have the terminal there is no line while nothing is compiled: their tests run.
func TestIdle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var b stamped
		w := BeginLines(&b, "building the tests")
		var what atomic.Value
		what.Store("example.com/p")
		over := StepDoing("", "packages", func() (int64, int64) { return 3, 5 },
			func() string { return what.Load().(string) })
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		what.Store("")
		n := len(b.times)
		time.Sleep(time.Hour)
		over()
		w.End()
		if len(b.times) != n || n < 2 {
			t.Errorf("%d lines before, %d in all: %s", n, len(b.times), b.String())
		}
	})
}

// Without work under way a step is told to nobody.
func TestNobody(t *testing.T) {
	Step("reading", "", nil)()
}

// TestAmountOfOne has one thing without a plural.
func TestAmountOfOne(t *testing.T) {
	for _, test := range []struct {
		done, total int64
		unit, want  string
	}{
		{1, 0, "packages", ", 1 package"},
		{2, 0, "packages", ", 2 packages"},
		{0, 1, "packages", ", 0 of 1 package"},
		{1, 2, "records", ", 1 of 2 records"},
		{1, 1, "bytes", ", 0.0 of 0.0 MB"},
	} {
		if _, have := amount(test.done, test.total, test.unit); have != test.want {
			t.Errorf("%d of %d %s: have %q, want %q", test.done, test.total, test.unit, have, test.want)
		}
	}
}

// What a command does is one work after the other, and one within the other: however it is divided, there are at most
// 30 seconds without a line. Time between two works does not count, as when a program runs.
func TestSilence(t *testing.T) {
	for _, seconds := range []int{1, 7, 19, 20, 39} {
		bubble(t, func(t *testing.T) {
			each := time.Duration(seconds) * time.Second
			var b stamped
			last := time.Now()
			for range 10 {
				outer := begin(&b, false, "outer")
				time.Sleep(each)
				inner := begin(&b, false, "inner")
				time.Sleep(each)
				inner.End()
				outer.End()
			}
			for _, at := range append(b.times, time.Now()) {
				if gap := at.Sub(last); gap > 30*time.Second {
					t.Errorf("pieces of %v: %v without a line", each, gap)
				}
				last = at
			}
			if most := int(20 * each / every); len(b.times) > most {
				t.Errorf("pieces of %v: %d lines, want at most %d", each, len(b.times), most)
			}
		})
	}
	bubble(t, func(t *testing.T) {
		var b stamped
		for range 30 {
			w := begin(&b, false, "short")
			time.Sleep(every / 40)
			w.End()
			time.Sleep(every - time.Second) // the program runs
		}
		if len(b.times) > 1 {
			t.Errorf("lines about a program that runs: %s", b.String())
		}
	})
}

// What may be called within a work and without one is told in both.
func TestWithin(t *testing.T) {
	for outer, want := range map[string]string{
		"": "stemma: asking h, 20 s\n", "report": "stemma: report: asking h, 20 s\n"} {
		bubble(t, func(t *testing.T) {
			var b stamped
			if outer != "" {
				defer begin(&b, false, outer).End()
			}
			over := Within(&b, "asking h")
			time.Sleep(every + time.Second)
			over()
			if b.String() != want {
				t.Errorf("have %q, want %q", b.String(), want)
			}
		})
	}
}
