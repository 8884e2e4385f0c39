package measure

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// watchTime is how often the memory of a process is looked at. What it takes in its last
// moments only is not seen.
const watchTime = 5 * time.Millisecond

// WatchPeak looks at the peak of the resident memory of a process until stop is called,
// which returns it in bytes; 0 if that could not be found out.
//
// What wait4 tells (ru_maxrss) is no use here: it includes the memory that a process shares
// with the one that starts it until it calls exec, and bench keeps large tables.
func WatchPeak(pid int) (stop func() int64) {
	done, result := make(chan struct{}), make(chan int64)
	peak := highWater(pid)
	go func() {
		tick := time.NewTicker(watchTime)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				peak = max(peak, highWater(pid))
			case <-done:
				result <- peak
				return
			}
		}
	}()
	return func() int64 {
		close(done)
		return <-result
	}
}

// highWater returns the peak of the resident memory of a process until now.
func highWater(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(data, []byte("\nVmHWM:"))
	var kb int64
	if _, err := fmt.Sscan(string(rest), &kb); err != nil {
		return 0 // it has ended
	}
	return kb << 10
}
