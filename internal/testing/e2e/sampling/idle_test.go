package sampling

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// TestWaiters runs a program whose goroutines wait all the time, and looks whose time that is: the function's that
// waits, of the program or of a package, and not the runtime's.
func TestWaiters(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.Build(t, "idle", "-engine=sample", "-every=1ms")
	e2e.Retry(t, func() error {
		r := e2e.Run(t, exe)
		r.OK(t)
		p := r.Read(t)
		tree, err := cct.Of(p, profile.SampledWait.Name)
		if err != nil {
			t.Fatal(err)
		}
		groups, err := tree.By("function")
		if err != nil {
			t.Fatal(err)
		}
		why, sum := map[string]string{}, uint64(0)
		for _, g := range groups {
			why[g.Name] = g.Why
			sum += g.Self
			if g.Self > 0 && (strings.HasPrefix(g.Name, "runtime.gopark") || strings.Contains(g.Name, ".runtime_") ||
				strings.HasPrefix(cct.Package(g.Name), "sync") || strings.HasPrefix(g.Name, "internal/sync.")) {
				t.Errorf("%s has %d ns", g.Name, g.Self)
			}
		}
		if want := p.Total(profile.SampledWait); sum != want {
			t.Errorf("all functions have %d ns, the profile %d", sum, want)
		}
		for name, want := range map[string]string{"main.receive": "chan receive", "main.send": "chan send",
			"main.choose": "select", "main.sleep": "sleep", "main.main": "sleep",
			"main.lock": "sync.Mutex.Lock", "main.condition": "sync.Cond.Wait", "main.group": "sync.WaitGroup.Wait",
			"internal/poll.(*pollDesc).wait": "IO wait"} {
			if have, ok := why[name]; !ok || have != want {
				return fmt.Errorf("%s waits for %q, want %q", name, have, want)
			}
		}
		return nil
	})
}
