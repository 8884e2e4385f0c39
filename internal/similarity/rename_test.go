package similarity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
)

// TestRenamesOfGenerics compares generic functions that have another name, another package, or have become generic.
// The brackets of two of them are not their names.
func TestRenamesOfGenerics(t *testing.T) {
	tree := func(calls string) Tree {
		known := make(map[string]bool)
		tr := Tree{Tree: &cct.Tree{Funcs: []cct.Func{{Name: "[root]", Pseudo: true}}}}
		for call := range strings.FieldsSeq(calls) {
			caller, callee, _ := strings.Cut(call, ">")
			tr.Calls = append(tr.Calls, cct.Call{Caller: caller, Callee: callee})
			for _, name := range []string{caller, callee} {
				if !known[name] {
					known[name] = true
					tr.Funcs = append(tr.Funcs, cct.Func{Name: name})
				}
			}
		}
		return tr
	}
	for _, c := range []struct{ base, new, want string }{
		{"main.main>main.Old[...] main.Old[...]>strings.Cut", "main.main>main.New[...] main.New[...]>sort.Sort",
			"map[]"},
		{"main.main>a.Old[...]", "main.main>b.New[...]", "map[]"},
		{"main.main>a.Map[...] a.Map[...]>strings.Cut", "main.main>b.Map[...] b.Map[...]>sort.Sort",
			"map[b.Map[...]:a.Map[...]]"},
		{"main.main>main.Sum main.Sum>strings.Cut", "main.main>main.Sum[...] main.Sum[...]>sort.Sort",
			"map[main.Sum[...]:main.Sum]"},
		{"main.main>a.(*Set[...]).Add", "main.main>b.(*Set[...]).Add", "map[b.(*Set[...]).Add:a.(*Set[...]).Add]"},
	} {
		if have := fmt.Sprint(Renames(tree(c.base), tree(c.new))); have != c.want {
			t.Errorf("%s → %s: have %s, want %s", c.base, c.new, have, c.want)
		}
	}
}
