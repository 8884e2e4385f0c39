package records

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
	"github.com/stemma-go/stemma/internal/testing/foldtest"
	"github.com/stemma-go/stemma/profile"
)

// standard makes an installation with the packages fmt, net/http and cmd/go.
func standard(t *testing.T) *Standard {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"fmt", "net/http", "cmd/go"} {
		if err := os.MkdirAll(filepath.Join(root, "src", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	std, err := NewStandard(root)
	if err != nil {
		t.Fatal(err)
	}
	return std
}

func TestStandard(t *testing.T) {
	std := standard(t)
	for name, want := range map[string]bool{
		"fmt.Println": true, "fmt.(*pp).doPrintln": true, "net/http.(*Server).Serve.func1": true,
		"main.main": false, "cmd/go.main": false, "github.com/a/fmt.Print": false, "formatted.Do": false,
	} {
		if got := std.Has(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// program makes a tree: main calls f, which recurs once, and g from one site, and
// starts g as a goroutine from another.
func program() *profile.Profile {
	p := &profile.Profile{Strings: []string{"", "main", "f", "g"},
		Columns: []profile.Column{{Metric: profile.Calls, Values: []uint64{0, 1, 9, 1, 1, 1}}}}
	sites := []profile.Site{{Kind: profile.SiteCall, Cell: 0}, {Kind: profile.SiteGo, Cell: 1}}
	for name := range p.Strings {
		p.Funcs = append(p.Funcs, profile.Func{Name: uint32(name), Counters: 1, Cells: 2, Sites: sites})
	}
	for i, n := range []struct{ fn, parent, cell uint32 }{{0, 0, 0}, {1, 0, 0}, {2, 1, 0}, {2, 2, 0}, {3, 1, 0},
		{3, 1, 1}} {
		p.Nodes = append(p.Nodes, profile.Node{Func: n.fn, Parent: n.parent, Cell: n.cell, First: uint32(i)})
	}
	return p
}

func TestIndirectCalls(t *testing.T) {
	p := program()
	// Sites name no function, but for that of f.
	for i := range p.Funcs {
		p.Funcs[i].Sites = slices.Clone(p.Funcs[i].Sites)
	}
	p.Funcs[2].Sites[0].Callee = 2
	calls, indirect := indirect(p)
	// main once, f nine times and once more from itself, g once; the go statement is no call.
	if calls != 12 || indirect != 11 {
		t.Errorf("%d of %d calls, want 11 of 12", indirect, calls)
	}
}

// TestNoAdapters folds a tree of all short paths again, and compares the number of nodes with that of the paths folded
// by the other rule from the beginning.
func TestNoAdapters(t *testing.T) {
	const letters = "FGabw"
	like := func(c byte) fold.Kind {
		if k := foldtest.Kind(c); k != fold.Adapter {
			return k
		}
		return fold.Ordinary
	}
	p := &profile.Profile{Funcs: make([]profile.Func, 1+len(letters)), Nodes: make([]profile.Node, 1)}
	for i := range letters {
		f := &p.Funcs[1+i]
		switch f.Kind = profile.FuncOrdinary; foldtest.Kind(letters[i]) {
		case fold.Adapter:
			f.Flags = profile.FuncAdapter | profile.FuncNew
		case fold.Wrapper:
			f.Flags = profile.FuncWrapper
		}
	}
	nodes, others := map[string]uint32{"": 0}, map[string]bool{}
	for path := range foldtest.Paths(letters, 6) {
		have, other := "", ""
		for i := range len(path) {
			c := path[i]
			if at := have + string(c); nodes[at] == 0 {
				nodes[at] = uint32(len(p.Nodes))
				p.Nodes = append(p.Nodes, profile.Node{Func: uint32(1 + strings.IndexByte(letters, c)),
					Parent: nodes[have]})
			}
			others[other+string(c)] = true
			have = have[:foldtest.Home(have, c)] + string(c)
			other = other[:foldtest.HomeOf([]byte(other), c, like)] + string(c)
		}
	}
	if have, want := folded(p), 1+len(others); have != want || have >= len(p.Nodes) {
		t.Errorf("of %d nodes %d are left, want %d", len(p.Nodes), have, want)
	}
}

func TestCallsByOrigin(t *testing.T) {
	tree := &cct.Tree{
		Funcs: []cct.Func{{Pseudo: true}, {Name: "[main]", Pseudo: true}, {Name: "main.main"}, {Name: "fmt.Println"}},
		Sites: []cct.Site{{}, {Via: cct.ViaNative}, {Via: cct.ViaInlined}},
		Nodes: []cct.Node{
			{}, {Parent: 0, Func: 1}, {Parent: 1, Func: 2, Count: 1},
			{Parent: 2, Func: 3, Count: 5}, {Parent: 3, Func: 3, Site: 2, Count: 7},
			{Parent: 4, Func: 2, Site: 1, Count: 11},
		},
	}
	var sum Tree
	std := []bool{false, false, false, true}
	for _, n := range tree.Nodes[1:] {
		sum.add(tree, n, std)
	}
	if want := [4]uint64{StdToApp: 11, AppToStd: 5, StdToStd: 7}; sum.StandardCalls != want {
		t.Errorf("got %v, want %v", sum.StandardCalls, want)
	}
	if sum.NativeCalls != 11 || sum.NativeNodes != 1 || sum.InlinedCalls != 7 {
		t.Errorf("got %+v", sum)
	}
}

// TestCallbacks counts what a native has called, and what that has called, but no natives.
func TestCallbacks(t *testing.T) {
	tree := &cct.Tree{
		Sites: []cct.Site{{}, {Via: cct.ViaNative}},
		Nodes: []cct.Node{
			{}, {Parent: 0, Count: 1}, {Parent: 1, Site: 1, Count: 2},
			{Parent: 2, Count: 4}, {Parent: 3, Count: 8}, {Parent: 3, Site: 1, Count: 16}, {Parent: 1, Count: 32},
		},
	}
	if got := callbacks(tree); got != 4+8 {
		t.Errorf("%d calls, want 12", got)
	}
}
