package base

import (
	"strings"
	"testing"
)

// TestNoPagerBehind leaves what stands behind "--" alone.
func TestNoPagerBehind(t *testing.T) {
	rest, found := cutNoPager([]string{"a", "--", "-no-pager"})
	if found || strings.Join(rest, " ") != "a -- -no-pager" {
		t.Errorf("have %q, %t", rest, found)
	}
}
