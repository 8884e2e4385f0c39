package contexts

import (
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestProfiledPushes has Go's own CPU profile of a program that pushes all the time: its signal comes at any
// instruction of the assembly that pushes, and Go's unwinder must find the callers from each.
func TestProfiledPushes(t *testing.T) {
	e2e.NeedMore(t)
	for _, engine := range e2e.Few(1, "dacce", "pcce") {
		t.Run(engine, func(t *testing.T) {
			r := e2e.Run(t, e2e.BuildDir(t, "testdata/pushes", "-engine="+engine))
			r.OK(t)
			p, err := pprof.ParseData([]byte(r.Stdout))
			if err != nil {
				t.Fatal(err)
			}
			all, inside := 0, 0
			for _, s := range p.Sample {
				var names []string
				for _, l := range s.Location {
					for _, line := range l.Line {
						names = append(names, line.Function.Name)
					}
				}
				n := int(s.Value[0])
				all += n
				if len(names) == 0 || !strings.HasPrefix(names[0], "runtime.stemma") {
					continue
				}
				inside += n
				if last := names[len(names)-1]; last != "runtime.main" {
					t.Errorf("%d samples have the stack %s", n, names)
				}
			}
			t.Logf("%d samples, %d of them in stemma's functions", all, inside)
			if inside < 10 {
				t.Errorf("%d samples of %d are in stemma's functions, want at least 10", inside, all)
			}
		})
	}
}
