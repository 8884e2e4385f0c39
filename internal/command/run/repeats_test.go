package run

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestNoPlace refuses a profile for which there is no directory, before anything runs.
func TestNoPlace(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for out, ok := range map[string]bool{
		"x.stemma":                      true,
		filepath.Join(dir, "x.stemma"):  true,
		filepath.Join("no", "x.stemma"): false,
	} {
		err := checkOut(out)
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "no directory no; make it first") {
			t.Errorf("-o %s: have %v", out, err)
		}
	}
}
