package export

import (
	"io"
	"strconv"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// writeFolded writes a line for each context: the functions, outermost first,
// separated by semicolons, and the calls. flamegraph.pl and its kin read it.
// Names are changed where they would break that: the method of a struct type
// has semicolons in its name.
func writeFolded(w io.Writer, p *profile.Profile, t *cct.Tree) error {
	names, change := make([]string, len(t.Funcs)), strings.NewReplacer(";", ",", "\n", " ")
	for i, f := range t.Funcs {
		names[i] = change.Replace(f.Name)
	}
	x := newWalk(t)
	var text []byte  // the functions of x.path
	ends := []int{0} // where the part of each ends
	for i, n := range t.Nodes {
		if n.Count == 0 {
			continue
		}
		kept := x.to(uint32(i))
		text, ends = text[:ends[kept-1]], ends[:kept]
		for _, at := range x.path[kept:] {
			if len(text) > 0 {
				text = append(text, ';')
			}
			if t.Sites[t.Nodes[at].Site].Via == cct.ViaGo {
				text = append(append(text, GoStart...), ';')
			}
			text = append(text, names[t.Nodes[at].Func]...)
			ends = append(ends, len(text))
		}
		text = append(strconv.AppendUint(append(text, ' '), n.Count, 10), '\n')
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}
