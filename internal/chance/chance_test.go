package chance

import (
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
)

// TestNodes checks which nodes of a tree are chance.
func TestNodes(t *testing.T) {
	tree := &cct.Tree{Funcs: []cct.Func{{Name: "[root]", Pseudo: true}}, Sites: make([]cct.Site, 1),
		Nodes: make([]cct.Node, 1)}
	var want []bool
	add := func(parent int, name string, chance bool) int {
		tree.Funcs = append(tree.Funcs, cct.Func{Name: name})
		tree.Nodes = append(tree.Nodes, cct.Node{Parent: uint32(parent), Func: uint32(len(tree.Funcs) - 1)})
		want = append(want, chance)
		return len(tree.Nodes) - 1
	}
	main := add(0, "main.main", false)
	add(main, "runtime.typeAssert", true)
	get := add(main, "sync.(*Pool).Get", false)
	add(add(get, "main.init.func1", true), "runtime.newobject", true)
	load := add(add(main, "sync.(*Map).Load", false), "internal/sync.(*HashTrieMap[...]).Load", false)
	add(load, "internal/sync.(*node[...]).entry", true)
	each := add(main, "internal/sync.(*HashTrieMap[...]).Range", false)
	iter := add(each, "internal/sync.(*HashTrieMap[...]).iter", true)
	add(add(iter, "main.main.func1", false), "main.leaf", false)
	add(iter, "sync/atomic.(*Pointer[...]).Load", true)
	encode := add(main, "encoding/json.mapEncoder.encode", false)
	sort := add(encode, "slices.SortFunc[...]", false)
	add(sort, "strings.Compare", true)
	add(add(main, "slices.SortFunc[...]", false), "strings.Compare", false)
	add(add(0, "[gc]", false), "sync.poolCleanup", true)
	assign := add(main, "runtime.mapassign_faststr", false)
	add(assign, "new(map.group[string]int)", false)
	add(assign, "new(maps.table)", true)
	reset := add(main, "regexp.(*bitState).reset", false)
	add(add(reset, "runtime.makeslice", true), "new(int)", true)
	add(main, "new(runtime.g)", true)
	add(main, "new(*runtime.g)", true)
	add(main, "new(runtime.timerWhen)", true)
	add(main, "new(runtime.stringInterfacePtr)", false)
	add(add(main, "os.CreateTemp", false), "os.OpenFile", true)
	have := Nodes(tree, false)
	for i, n := range tree.Nodes[1:] {
		if have[i+1] != want[i] {
			t.Errorf("%s: have %v, want %v", tree.Funcs[n.Func].Name, have[i+1], want[i])
		}
	}
}

// TestOperations checks that operations of a function are chance if what it calls is.
func TestOperations(t *testing.T) {
	tree := &cct.Tree{
		Funcs: []cct.Func{{Name: "[root]", Pseudo: true}, {Name: "main.main"}, {Name: "sync.(*Pool).Get"}},
		Sites: make([]cct.Site, 1), Nodes: []cct.Node{{}, {Func: 1}, {Func: 2, Parent: 1}}}
	if have := Nodes(tree, true); have[1] || !have[2] {
		t.Errorf("have %v, want sync.(*Pool).Get alone", have)
	}
}

// TestRules checks the table: each rule has a reason, and none hides what programs ask for.
func TestRules(t *testing.T) {
	for _, r := range rules {
		if r.why == "" || r.part == 0 {
			t.Errorf("%+v has no reason, or no part", r)
		}
	}
	for _, name := range []string{"main.main", "sync.(*Pool).Get", "sync.(*Mutex).Lock", "runtime.mapassign",
		"runtime.newobject", "runtime.convTstring", "internal/poll.(*FD).Read", "sync.(*Map).Load"} {
		if why := Why(name); why != "" {
			t.Errorf("%s is chance: %s", name, why)
		}
	}
	if Why("runtime.interfaceSwitch") == "" {
		t.Error("runtime.interfaceSwitch is none")
	}
}
