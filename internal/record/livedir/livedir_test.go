package livedir_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// small returns a directory with main.main, which calls main.f through cell 0.
func small() (d *recordtest.Dir, mainNode int, f uint64) {
	d = recordtest.New(1, "prog")
	mainF := d.Func(recordtest.Func{Name: "main.main", Files: []string{"m.go"},
		Sites: []recordtest.Site{{Kind: layout.SiteCall, Cell: 1}}})
	f = d.Func(recordtest.Func{Name: "main.f", Files: []string{"m.go"}})
	return d, d.Node(recordtest.Root, layout.RootMain, mainF), f
}

// readInuse reads the profile of a directory.
func readInuse(fsys fs.FS) (*profile.Profile, error) {
	l, err := livedir.Open(fsys)
	if err != nil {
		return nil, err
	}
	return l.Profile, nil
}

func TestLiveDamage(t *testing.T) {
	for _, test := range []struct {
		name   string
		damage func(d *recordtest.Dir, mainNode int, f uint64)
		want   string // in the error; "" if there is none
		loss   string // kind of loss that is reported
		note   string
	}{
		{"magic", func(d *recordtest.Dir, _ int, _ uint64) { d.Tree[0] = 'x' }, "tree: offset 0: not the header", "",
			""},
		{"no header", func(d *recordtest.Dir, _ int, _ uint64) { clear(d.Tree[:layout.HeaderSize]) },
			"tree: offset 0: the header is empty", "", ""},
		{"version", func(d *recordtest.Dir, _ int, _ uint64) { d.Header(func(h *layout.Header) { h.Version = 9 }) },
			"tree: offset 8: layout version 9 (want 8)", "", ""},
		{"flag of context IDs", func(d *recordtest.Dir, _ int, _ uint64) {
			d.Header(func(h *layout.Header) { h.Flags = layout.HdrFlagCce })
		}, "tree: offset 12: flags 0x4 with that of context IDs", "", ""},
		{"cut header", func(d *recordtest.Dir, _ int, _ uint64) { d.Tree = d.Tree[:100] },
			"tree: offset 0: file ends at 100", "", ""},
		{"cut tree", func(d *recordtest.Dir, n int, _ uint64) { d.Tree = d.Tree[:n+8] }, "tree: offset", "", ""},
		{"cut between nodes", func(d *recordtest.Dir, n int, _ uint64) { d.Tree = d.Tree[:n] }, "", profile.LossUnread,
			"bytes are in use, but the file has"},
		{"arguments", func(d *recordtest.Dir, _ int,
			_ uint64) {
			d.Header(func(h *layout.Header) { h.ArgsLen = 5000 })
		}, "tree: offset 192: command line of 5000 bytes", "", ""},
		{"tag", func(d *recordtest.Dir, n int, _ uint64) { d.NodeAt(n, func(n *layout.Node) { n.Func = 3 }) },
			"object with tag 3", "", ""},
		{"incomplete", func(d *recordtest.Dir, n int, f uint64) {
			d.NodeAt(d.Node(n, 0, f), func(n *layout.Node) { n.Parent = 0 })
		}, "", profile.LossIncomplete, ""},
		{"reserved", func(d *recordtest.Dir, n int,
			f uint64) {
			d.NodeAt(d.Node(0, 0, f), func(n *layout.Node) { n.Func = 0 })
		}, "", "", ""},
		{"unknown function", func(d *recordtest.Dir, n int, f uint64) {
			d.NodeAt(d.Node(n, 0, f), func(n *layout.Node) { n.Func = 0x999998 })
		}, "", profile.LossUnread, "without a record"},
		{"parent", func(d *recordtest.Dir, n int, f uint64) { d.Node(n+8, 0, f) }, "is no node before this one", "",
			""},
		{"cell", func(d *recordtest.Dir, n int, f uint64) { d.Node(n, 1, f) },
			"cell 1 of function 2 belongs to no site (main.main)", "", ""},
		{"second root", func(d *recordtest.Dir, n int, _ uint64) { d.Node(n, 0, layout.RootFunc) },
			"the root must be the first node", "", ""},
		{"table", func(d *recordtest.Dir, _ int,
			_ uint64) {
			d.TableAt(d.Table(4), func(t *layout.Table) { t.Size = 999 })
		}, "table of 999 bytes", "", ""},
		{"table without tag", func(d *recordtest.Dir, n int, f uint64) {
			d.TableAt(d.Table(4), func(t *layout.Table) { t.Tag = 0 })
			d.Node(n, 0, f)
		}, "", "", ""},
		{"loss", func(d *recordtest.Dir, _ int,
			_ uint64) {
			d.Header(func(h *layout.Header) { h.Lost[layout.LostNodes] = 7 })
		}, "", profile.LossNodes, ""},
		{"no shard", func(d *recordtest.Dir, _ int, _ uint64) { d.Header(func(h *layout.Header) { h.Shards = 2 }) },
			"", profile.LossShards, "shard.1: missing"},
		{"short shard", func(d *recordtest.Dir, n int, _ uint64) { d.Shards[0] = d.Shards[0][:n] }, "",
			profile.LossShards, "shard.0: ends at offset"},
		{"function record", func(d *recordtest.Dir, _ int, _ uint64) { d.Funcs[0] = 4 }, "funcs: offset 0: record of",
			"", ""},
		{"half a record", func(d *recordtest.Dir, _ int, _ uint64) { d.Funcs = append(d.Funcs, make([]byte, 64)...) },
			"", "", ""},
	} {
		d, n, f := small()
		test.damage(d, n, f)
		p, err := readInuse(d.FS())
		if test.want != "" {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: have error %v, want %q", test.name, err, test.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		hasLoss := func(l profile.Loss) bool { return l.Kind == test.loss && l.Count > 0 }
		if len(p.Lost()) > 0 != (test.loss != "") || test.loss != "" && !slices.ContainsFunc(p.Lost(), hasLoss) {
			t.Errorf("%s: have losses %v, want %q", test.name, p.Lost(), test.loss)
		}
		if notes := strings.Join(p.Processes[0].Notes, "\n"); !strings.Contains(notes, test.note) ||
			(notes == "") != (test.note == "") {
			t.Errorf("%s: have notes %q, want %q", test.name, notes, test.note)
		}
	}
}

// TestLiveDuplicates checks that two nodes for one context become one.
func TestLiveDuplicates(t *testing.T) {
	d, mainNode, f := small()
	a, b := d.Node(mainNode, 0, f), d.Node(mainNode, 0, f)
	d.Count(0, a, 0, 3)
	d.Count(0, b, 0, 4)
	l, err := livedir.Open(d.FS())
	if err != nil {
		t.Fatal(err)
	}
	i, _ := l.Node(uint32(a))
	j, ok := l.Node(uint32(b))
	if !ok || i != j {
		t.Errorf("nodes %d and %d, want the same", i, j)
	}
	if have := l.Profile.NodeCounts(i)[0]; have != 7 {
		t.Errorf("have %d calls, want 7", have)
	}
}

// TestLiveEmpty checks a program that was killed before it entered a function.
func TestLiveEmpty(t *testing.T) {
	d := recordtest.New(0)
	d.Header(func(h *layout.Header) { h.Used = layout.HeaderSize })
	d.Header(func(h *layout.Header) { h.FuncsUsed = 0 })
	if p, err := readInuse(d.FS()); err != nil || len(p.Nodes) != 1 {
		t.Errorf("have %v (%v), want the root", p, err)
	}
	if _, err := livedir.Open(fstest.MapFS{}); err == nil {
		t.Error("an empty directory was read")
	}
}

func TestChecks(t *testing.T) {
	d, mainNode, _ := small()
	d.AddCheck(recordtest.Check{Node: mainNode, Events: 5, Cell: 1, Start: recordtest.Root, StartCell: layout.RootMain},
		recordtest.Frame{Func: "main.in", File: "m.go", Line: 3, Inlined: true},
		recordtest.Frame{Func: "main.main", File: "m.go", Line: 7})
	d.AddCheck(recordtest.Check{Node: mainNode + 8})
	d.Check = append(d.Check, make([]byte, 100)...)
	l, err := livedir.Open(d.FS())
	if err != nil {
		t.Fatal(err)
	}
	var nodes []int
	err = l.Checks(func(c *livedir.Check) error {
		nodes = append(nodes, c.Node)
		if len(c.Frames) == 2 &&
			(c.Frames[0] != livedir.CheckFrame{Func: "main.in", File: "m.go", Line: 3, Inlined: true} ||
				c.Events != 5 || c.Cell != 0 || c.Start != 0 || c.StartCell != layout.RootMain) {
			t.Errorf("have %+v", c)
		}
		return nil
	})
	if n, _ := l.Node(uint32(mainNode)); err != nil || !slices.Equal(nodes, []int{n, profile.None}) {
		t.Errorf("have checks of nodes %v, error %v", nodes, err)
	}
}
