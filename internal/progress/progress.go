// Package progress shows on standard error how far long work is.
//
// On a terminal that is one line, kept up to date, which goes away when the work is done. Elsewhere it
// is a line of its own now and then. Work that is done soon leaves no trace.
//
// # Whose line it is
//
// A process has one standard error, and what takes long in it is often deep below the command that
// knows where that is: reading a file, for a report. So the command begins a Work, and what is below
// it tells its Step to whatever work is under way. A Work within another takes the line over until it ends.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/stemma-go/stemma/internal/terminal"
)

const (
	after = 2 * time.Second  // how long work may take before a terminal shows it
	every = 20 * time.Second // of silence before a line, where there is no terminal
	again = time.Second      // before another look at work that may go on within this one
)

// A Count is how much of a step is done, and of how much; a total of 0 is not known.
// It is called by another goroutine than the one that does the work.
type Count func() (done, total int64)

// A Doing is what a step is at now, such as the name of a package; "" is not known. It is called as a Count is.
type Doing func() string

// Unknown is the Count of a step that counts nothing, for work that is shown only while a step has a count.
func Unknown() (done, total int64) { return 0, 0 }

// A Work is something that may take long. Its methods may be called by several goroutines.
type Work struct {
	w      io.Writer
	update bool // there is one line, which is kept up to date
	counts bool // it is silent when a count says that all is done
	width  func() int
	began  time.Time
	end    func()
	outer  *Work // that goes on when this has ended

	mu   sync.Mutex
	what string
	step *step
	open bool // the line stands there
	torn bool // something else stands in the line, which it has not ended
}

// A step is a part of the work.
type step struct {
	what, unit string
	count      Count
	doing      Doing
}

// current is the work that has the line. The silence goes on from one work to the next: two that take 19 seconds each
// are 38 seconds without a line.
var current struct {
	sync.Mutex
	work  *Work
	spoke time.Time // when the last line was written, or work began behind none
	ended time.Time // when there was work last
}

// Begin begins work that is told on w, until End is called.
func Begin(w io.Writer, format string, args ...any) *Work {
	f, ok := w.(*os.File)
	work := newWork(w, ok && terminal.Is(f) && !terminal.IsDumb(), fmt.Sprintf(format, args...))
	if work.update {
		work.width = func() int { return terminal.Width(f) }
	}
	work.start()
	return work
}

// BeginLines is Begin for work whose output, by others, goes to the same terminal and must reach it unchanged: there
// are lines there as well, and only in steps with a count that does not say that all is done, while the step is at
// something.
func BeginLines(w io.Writer, format string, args ...any) *Work {
	work := newWork(w, false, fmt.Sprintf(format, args...))
	work.counts = true
	work.start()
	return work
}

func newWork(w io.Writer, update bool, what string) *Work {
	return &Work{w: w, update: update, what: what, width: func() int { return 80 }, began: time.Now()}
}

// start takes the line.
func (w *Work) start() {
	current.Lock()
	if now := time.Now(); current.work == nil {
		if idle := now.Sub(current.ended); 0 <= idle && idle < every {
			current.spoke = current.spoke.Add(idle) // nobody worked then
		} else { // or the clock is another one
			current.spoke = now
		}
	}
	w.outer, current.work = current.work, w
	current.Unlock()
	if w.outer != nil {
		w.outer.clear()
	}
	done, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		w.follow(done)
	}()
	w.end = sync.OnceFunc(func() {
		close(done)
		<-ended
		current.Lock()
		if current.work == w {
			current.work, current.ended = w.outer, time.Now()
		}
		current.Unlock()
	})
}

// Quiet returns for how long nothing is told of what the work under way does: what takes less time need not be counted.
func Quiet() time.Duration {
	current.Lock()
	defer current.Unlock()
	switch {
	case current.work == nil:
		return every
	case current.work.update:
		return after
	}
	return max(every-time.Since(current.spoke), 0)
}

// silence returns how long it is since the last line, and whether w is what the next one is about.
func (w *Work) silence() (d time.Duration, mine bool) {
	current.Lock()
	defer current.Unlock()
	return time.Since(current.spoke), current.work == w
}

// spoken notes that there is a line now.
func spoken() {
	current.Lock()
	current.spoke = time.Now()
	current.Unlock()
}

// End ends the work. Nothing is told of it when End has returned, and of a line nothing is left.
// Calls behind the first one do nothing.
func (w *Work) End() { w.end() }

// follow reports what goes on until done.
func (w *Work) follow(done chan bool) {
	wait := after
	if !w.update {
		wait = w.untilLine()
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	for {
		select {
		case <-done:
			w.clear()
			return
		case <-t.C:
		}
		if silent, mine := w.silence(); mine && (w.update || silent >= every) {
			w.tell()
		}
		if wait = time.Second / 4; !w.update {
			wait = max(w.untilLine(), again)
		}
		t.Reset(wait)
	}
}

// untilLine returns for how long there may still be silence.
func (w *Work) untilLine() time.Duration {
	silent, _ := w.silence()
	return every - silent // which may be less than 0: at once
}

// Now tells without a terminal at once what is being done, with a remark: it is known to take long.
func (w *Work) Now(remark string) *Work {
	if !w.update {
		fmt.Fprintf(w.w, "stemma: %s%s\n", w.what, remark)
		spoken()
	}
	return w
}

// tell writes how far the work is, where it has the line.
func (w *Work) tell() {
	spoken() // or there is nothing to say, and whoever has the terminal speaks
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.torn || w.counts && (w.complete() || w.idle()):
	case w.update:
		w.open = true
		fmt.Fprint(w.w, "\r\x1b[K"+w.line(w.width()-1))
	default:
		fmt.Fprintln(w.w, w.line(0))
	}
}

// complete reports whether all of the step is done. Needs w.mu.
func (w *Work) complete() bool {
	if w.step == nil || w.step.count == nil {
		return true
	}
	done, total := w.step.count()
	return total > 0 && done >= total
}

// idle reports whether the step knows what it is at, and is at nothing: others may be, and speak. Needs w.mu.
func (w *Work) idle() bool { return w.step != nil && w.step.doing != nil && w.step.doing() == "" }

// clear takes the line away.
func (w *Work) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wipe()
}

// wipe is clear for those who have w.mu.
func (w *Work) wipe() {
	if w.open {
		w.open = false
		fmt.Fprint(w.w, "\r\x1b[K")
	}
}

// line says how far the work is, in at most so many columns, in any number if that is 0. Needs w.mu.
func (w *Work) line(columns int) string {
	text, bar, of := "stemma: "+w.what, "", ""
	if s := w.step; s != nil {
		if s.what != "" {
			text += ": " + s.what
		}
		if s.doing != nil {
			if now := s.doing(); now != "" {
				text += ": " + now
			}
		}
		if s.count != nil {
			done, total := s.count()
			bar, of = amount(done, total, s.unit)
		}
	}
	of += fmt.Sprintf(", %d s", int(time.Since(w.began).Seconds()))
	if columns <= 0 {
		return text + of
	}
	if with := bar + strings.TrimPrefix(of, ","); bar != "" && utf8.RuneCountInString(text+with) <= columns {
		of = with
	}
	// What is cut is the end of what is done, a name for the most part; how far it is stays.
	if n := columns - utf8.RuneCountInString(of); utf8.RuneCountInString(text) > n {
		text = string([]rune(text)[:max(n-1, 0)]) + "…"
	}
	return text + of
}

// amount returns how much is done, as a bar and in words behind a comma.
func amount(done, total int64, unit string) (bar, of string) {
	if max(done, total) == 1 && unit != "bytes" {
		unit = strings.TrimSuffix(unit, "s")
	}
	switch {
	case total <= 0 && done == 0:
		return "", "" // nothing has been counted yet
	case total <= 0:
		return "", fmt.Sprintf(", %d %s", done, unit)
	}
	done = min(done, total)
	const cells, mb = 20, 1e6
	full := int(done * cells / total)
	bar = " [" + strings.Repeat("#", full) + strings.Repeat(".", cells-full) + "]"
	if unit == "bytes" {
		return bar, fmt.Sprintf(", %.1f of %.1f MB", float64(done)/mb, float64(total)/mb)
	}
	return bar, fmt.Sprintf(", %d of %d %s", done, total, unit)
}

// Step tells the work that is under way what is done now, and returns what ends that. Unit is
// what is counted; count may be nil. Without work that is told it does nothing.
func Step(what, unit string, count Count) (over func()) { return StepDoing(what, unit, count, nil) }

// StepDoing is Step for work that also knows what it is at; doing may be nil.
func StepDoing(what, unit string, count Count, doing Doing) (over func()) {
	current.Lock()
	w := current.work
	current.Unlock()
	if w == nil {
		return func() {}
	}
	return w.stepDoing(what, unit, count, doing)
}

// Within is Step, or, where no work is under way, a work of its own that is told on w.
func Within(w io.Writer, what string) (over func()) {
	current.Lock()
	none := current.work == nil
	current.Unlock()
	if none {
		return Begin(w, "%s", what).End
	}
	return Step(what, "", nil)
}

// Step is the function of the same name for this work.
func (w *Work) Step(what, unit string, count Count) (over func()) {
	return w.stepDoing(what, unit, count, nil)
}

func (w *Work) stepDoing(what, unit string, count Count, doing Doing) (over func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.step
	w.step = &step{what, unit, count, doing}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.step = before
	}
}

// Output returns a writer to the same terminal for those who write to it while the work goes on: the
// line makes way. Where there is no such line it is to itself.
func (w *Work) Output(to io.Writer) io.Writer {
	if !w.update {
		return to
	}
	return &output{w, to}
}

type output struct {
	work *Work
	to   io.Writer
}

func (o *output) Write(b []byte) (int, error) {
	w := o.work
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wipe()
	if len(b) > 0 {
		w.torn = b[len(b)-1] != '\n'
	}
	return o.to.Write(b)
}
