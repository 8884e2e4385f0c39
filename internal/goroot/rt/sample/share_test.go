package sample

import "testing"

func TestShare(t *testing.T) {
	for _, c := range []struct{ ps, running, waiting, intervals, threads, goroutines int }{
		{8, 0, 0, 1, 0, 0},
		{8, 3, 0, 1, 3, 0},         // all that run
		{8, 0, 5, 1, 0, 5},         // all that wait, since they are few
		{8, 0, 5000, 1, 0, Fewest}, // as many as Ps
		{32, 0, 5000, 1, 0, 32},    // as many as Ps
		{32, 0, 5000, 10, 0, 320},  // in ten intervals
		{32, 16, 16, 1, 16, 16},    // half of them each
		{32, 16, 48, 1, 8, 24},     // a quarter runs
		{32, 16, 48, 2, 8, 48},     // 24 twice
		{32, 1, 100_000, 1, 1, 31}, // one at least
		{2, 2, 100_000, 1, 1, 8},   // and Fewest
		{4, 4, 1, 1_000_000, 3, 1}, // never more than there are
		{256, 256, 256, 1, 128, 128},
	} {
		threads, goroutines := Share(c.ps, c.running, c.waiting, c.intervals)
		if threads != c.threads || goroutines != c.goroutines {
			t.Errorf("of %d running threads and %d waiting goroutines Share asks %d and %d, want %d and %d",
				c.running, c.waiting, threads, goroutines, c.threads, c.goroutines)
		}
	}
}
