package livedir

import "testing"

// Window makes readers read so many bytes at once, until the test ends.
func Window(t *testing.T, size int64) {
	old := windowSize
	windowSize = size
	t.Cleanup(func() { windowSize = old })
}
