package collect

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/internal/record"
)

// TestRun has two destinations that fail at first. Each is tried again when it has rested, and not when the agent
// looks for new records: also if its rest ends while another one takes its time.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.1-0a1b2c"), 1)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		a := New(nil, nil, Options{Dirs: []string{dir}, Every: time.Hour, Log: io.Discard})
		begun := time.Now()
		var tries [2][]time.Duration
		for i, name := range []string{"patient", "slow"} {
			d := newDestination(name, "pushed", name)
			d.complete = func(string) bool { return false }
			d.put = func(context.Context, item, *record.Record, *bucket.Manifest) (bool, error) {
				tries[i] = append(tries[i], time.Since(begun))
				switch {
				case len(tries[i]) == 1:
					return false, errors.New("away")
				case name == "slow":
					time.Sleep(5 * time.Minute)
				default:
					cancel()
				}
				return true, nil
			}
			a.to = append(a.to, d)
		}
		a.to[0].times = 6 // it has failed before, and rests for 96 seconds at most
		a.Run(ctx)
		for i, d := range a.to {
			if len(tries[i]) != 2 || tries[i][1] >= a.Every {
				t.Errorf("%s was tried after %v, want two tries within %v", d.name, tries[i], a.Every)
			}
		}
	})
}
