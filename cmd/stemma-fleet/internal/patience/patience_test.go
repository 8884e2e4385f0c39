package patience

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// A dripping answer has a byte after each of some times, and then no more until the request ends.
type dripping struct {
	ctx   context.Context
	after []time.Duration
}

func (d *dripping) Read(b []byte) (int, error) {
	if len(d.after) == 0 {
		<-d.ctx.Done()
		return 0, d.ctx.Err()
	}
	time.Sleep(d.after[0])
	d.after = d.after[1:]
	return 1, nil
}

// TestWait has an answer that takes longer than the patience, but is never silent for so long, and then is. A wait
// without a bound ends with the request.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		w := Begin(t.Context(), time.Minute)
		text, err := io.ReadAll(w.Reader(&dripping{w, []time.Duration{59e9, 59e9, 59e9}}))
		passed := time.Since(begun)
		if err = w.End(err); len(text) != 3 || !errors.Is(err, ErrSilent) || passed != (3*59+60)*time.Second {
			t.Errorf("%d bytes, %v after %v", len(text), err, passed)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		w = Begin(ctx, 0)
		_, err = w.Reader(&dripping{w, nil}).Read(nil)
		if err = w.End(err); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the error of the request", err)
		}
		w = Begin(t.Context(), time.Minute)
		if err := w.End(nil); err != nil || w.Err() == nil {
			t.Errorf("%v, and the context has not ended", err)
		}
	})
}
