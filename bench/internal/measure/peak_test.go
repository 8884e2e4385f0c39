package measure

import (
	"os/exec"
	"testing"
)

// TestWatchPeak starts a small process from a large one.
func TestWatchPeak(t *testing.T) {
	const large = 256 << 20
	mine := make([]byte, large)
	for i := range mine {
		mine[i] = 1
	}
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := WatchPeak(cmd.Process.Pid) // looks before it returns, while cat waits
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if peak := stop(); peak == 0 || peak >= large/4 {
		t.Errorf("peak %d bytes of cat, beside %d", peak, len(mine))
	}
}
