package sink

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestClockSetBack pushes a part that may be there already, after the clock was set back by an hour: the server is
// given the time that it may take to show a part, and not until the clock is where it was.
func TestClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, pushed := false, false
		s := &Sink{
			Settle: pyroscopeSettles,
			has:    func(context.Context, *part) (bool, error) { asked = true; return false, nil },
			push:   func(context.Context, *part) error { pushed = true; return nil },
		}
		s.loose.Store(time.Now().Add(time.Hour).UnixNano())
		begun := time.Now() // of the bubble's clock, which stands still but for what sleeps
		if err := s.pushOnce(t.Context(), new(part), true); err != nil || !asked || !pushed {
			t.Errorf("%v, asked %v, pushed %v", err, asked, pushed)
		}
		if waited := time.Since(begun); waited != pyroscopeSettles {
			t.Errorf("waited for %v, want %v", waited, pyroscopeSettles)
		}
	})
}
