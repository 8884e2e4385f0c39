// Package patience gives up a server that does not answer any more.
package patience

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Usual is how long nothing may come: a server that adds up a day has ended or failed by then.
const Usual = 5 * time.Minute

// ErrSilent is the error of a server that has said nothing for that long.
var ErrSilent = errors.New("no answer")

// A Wait is for an answer. It is for one goroutine.
type Wait struct {
	context.Context // of the request: it ends with the patience
	longest         time.Duration
	timer           *time.Timer
	cancel          context.CancelCauseFunc
}

// Begin begins a wait, in which nothing may come for the longest time, or for any if that is 0. End must be called.
func Begin(ctx context.Context, longest time.Duration) *Wait {
	w := &Wait{longest: longest}
	w.Context, w.cancel = context.WithCancelCause(ctx)
	if longest > 0 {
		w.timer = time.AfterFunc(longest, func() {
			w.cancel(fmt.Errorf("%w for %v, not a byte", ErrSilent, longest))
		})
	}
	return w
}

// Heard notes that something has come.
func (w *Wait) Heard() {
	if w.timer != nil {
		w.timer.Reset(w.longest)
	}
}

// End ends the wait. It returns the error that the request has ended with, or that patience has.
func (w *Wait) End(err error) error {
	if cause := context.Cause(w); err != nil && errors.Is(cause, ErrSilent) {
		err = cause
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.cancel(nil)
	return err
}

// Reader returns a reader of an answer, which notes what comes.
func (w *Wait) Reader(from io.Reader) io.Reader { return &reader{w, from} }

type reader struct {
	wait *Wait
	from io.Reader
}

func (r *reader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if n > 0 {
		r.wait.Heard()
	}
	return n, err
}
