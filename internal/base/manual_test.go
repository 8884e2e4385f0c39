package base

import "testing"

// TestRoff writes what troff would take for requests.
func TestRoff(t *testing.T) {
	if have, want := roffLine(`.a\b-c`), `\&.a\eb\-c`; have != want {
		t.Errorf("have %s, want %s", have, want)
	}
}
