package tree

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestIncrements looks at the machine code of gofmt: each increment of a counter must be one instruction, relative
// to the segment base, so that a goroutine cannot be moved to another P in the middle of it.
func TestIncrements(t *testing.T) {
	e2e.NeedMore(t)
	e2e.OnlyHost(t, "it knows the machine code of this machine")
	_, listing := gofmt(t)
	increments, functions, function := 0, 0, ""
	counter := fmt.Sprintf("%#x", layout.CounterBase)[:3] // what displacements of counters begin with
	increment := regexp.MustCompile(`INCQ (GS:)?` + counter + `[0-9a-f]{7}\(\w+\)`)
	for line := range strings.Lines(listing) {
		if name, ok := strings.CutPrefix(line, "TEXT "); ok {
			function, _, _ = strings.Cut(name, "(SB)")
			functions++
			continue
		}
		if strings.HasPrefix(function, "runtime.stemmaShardLoad") {
			continue // it looks where the base leads
		}
		is, relative := increment.MatchString(line), strings.Contains(line, "GS:")
		if is != relative {
			t.Errorf("%s: increments of counters, and nothing else, are relative to the segment base: %s",
				function, line)
		}
		if is {
			increments++
		}
	}
	t.Logf("%d increments in %d functions", increments, functions)
	if increments < 5_000 || functions < 1_000 {
		t.Errorf("%d increments in %d functions: the listing is not understood", increments, functions)
	}
}
