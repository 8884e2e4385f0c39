package store

import (
	"errors"
	"strings"
	"testing"
)

// TestPathsAreEscaped prints paths that would move the cursor of a terminal.
func TestPathsAreEscaped(t *testing.T) {
	const path = "a\x1b[2Jb\nc"
	var b strings.Builder
	ListDirs(&b, []string{path})
	for _, text := range []string{strings.TrimSpace(b.String()), Missing(path, errors.New("none")).Error()} {
		if strings.ContainsAny(text, "\x1b\n") {
			t.Errorf("have %q", text)
		}
	}
}
