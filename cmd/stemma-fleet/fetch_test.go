package main

import (
	"strings"
	"testing"
)

// TestFetchFlags gives what chooses records of a bucket beside the URL of a Pyroscope, where it would choose nothing.
func TestFetchFlags(t *testing.T) {
	for _, flag := range []string{"-since=24h", "-until=1h", "-service=a", "-run=0123456789abcdef"} {
		var stderr strings.Builder
		code := run([]string{"fetch", "-pyroscope=pyroscope://127.0.0.1:1?service=a", flag}, &stderr)
		if code != 2 || !strings.Contains(stderr.String(), "are for buckets") {
			t.Errorf("%s: exit code %d, %s", flag, code, stderr.String())
		}
	}
}
