package contexts

import (
	"os"
	"slices"
	"testing"

	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// TestDeepChecks checks each function entry, first entry and go statement of a deep
// recursion. Walks must not add up to a square of its depth: without a bound they have
// 10 million frames (entries) and another 12 million (go statements).
func TestDeepChecks(t *testing.T) {
	e2e.NeedFull(t)
	const most = 1_000_000
	for _, flags := range [][]string{{"-engine=cct", "-recursion=full"}, {"-engine=dacce"}, {"-engine=lucce"}} {
		t.Run(flags[0][len("-engine="):], func(t *testing.T) {
			r := e2e.Run(t, e2e.Build(t, "deep", append(flags, "-verify")...), "STEMMA_CHECK_EVERY=1")
			n, truncated := r.Verify(t)
			if truncated != "" {
				t.Error(truncated)
			}
			rec, err := record.Open(os.DirFS(r.Dir))
			if err != nil {
				t.Fatal(err)
			}
			walks, frames, deep := 0, 0, 0
			if err := rec.Checks(func(c *livedir.Check) error {
				walks += int(c.Events)
				frames += int(c.Events) * len(c.Frames)
				if len(c.Frames) > 2000 {
					deep += int(c.Events)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			lost := rec.Profile.Lost()
			t.Logf("%d contexts, %d walks, %d of them deep, of %d frames, %v", n, walks, deep, frames, lost)
			if frames > most || deep < 2 {
				t.Errorf("%d frames walked, want at most %d; %d walks of more than 2,000 frames, want at least 2",
					frames, most, deep)
			}
			if !slices.ContainsFunc(lost, func(l profile.Loss) bool { return l.Kind == profile.LossDeep }) {
				t.Errorf("nothing says that checks were left out: %v", lost)
			}
		})
	}
}
