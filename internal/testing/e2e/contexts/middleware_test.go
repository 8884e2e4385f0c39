package contexts

import (
	"fmt"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestMiddlewares decodes what a program captures behind chains of middlewares, and in recursion that goes through the
// adapter between them: each function is there as often as it was called, and in its place. What the encoders know of
// the program does not grow with the depth of that recursion.
func TestMiddlewares(t *testing.T) {
	e2e.NeedMore(t)
	for _, engine := range e2e.Few(2, "dacce", "lucce", "pcce") {
		exe := e2e.Build(t, "middleware", "-engine="+engine, "-verify")
		for _, pace := range paces {
			t.Run(engine+"/"+pace.name, func(t *testing.T) {
				shallow := decodedEdges(t, exe, pace.env, 100)
				if deep := decodedEdges(t, exe, pace.env, 5000); deep > shallow+10 {
					t.Errorf("%d edges in a recursion of 5,000, %d in one of 100", deep, shallow)
				}
				decodedEdges(t, exe, pace.env, 2)
			})
		}
	}
}

// decodedEdges decodes all that program middleware prints, and returns how many edges its record has.
func decodedEdges(t *testing.T, exe, pace string, depth int) uint64 {
	t.Helper()
	r := e2e.Run(t, exe, pace, fmt.Sprint("DEPTH=", depth), noChecks)
	r.OK(t)
	// 21 through middlewares, three recursions, adapters alone, and two that are captured.
	if n, cut := checkSaid(t, r.Dir, r.Stdout); n != 27 || cut > 0 {
		t.Errorf("depth %d: %d contexts, %d of them cut", depth, n, cut)
	}
	return uint64(r.Record(t).IDs.Stats.Edges)
}
