package export

import (
	"fmt"
	"io"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// writeFolded writes a line for each context: the functions, outermost first,
// separated by semicolons, and the calls. flamegraph.pl and its kin read it.
// Names are changed where they would break that: the method of a struct type
// has semicolons in its name.
func writeFolded(w io.Writer, p *profile.Profile, t *cct.Tree) error {
	for i, n := range t.Nodes {
		if n.Count == 0 {
			continue
		}
		path := names(t, uint32(i))
		for k, name := range path {
			path[k] = strings.NewReplacer(";", ",", "\n", " ").Replace(name)
		}
		if _, err := fmt.Fprintf(w, "%s %d\n", strings.Join(path, ";"), n.Count); err != nil {
			return err
		}
	}
	return nil
}
