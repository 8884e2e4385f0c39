package livedir_test

import (
	"math"
	"testing"
	"testing/fstest"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

func FuzzReadLive(f *testing.F) {
	d := recordtest.Shapes()
	d.AddCheck(recordtest.Check{Node: recordtest.Root}, recordtest.Frame{Func: "main.main", File: "m.go", Line: 7})
	f.Add(d.Tree, d.Funcs, d.Shards[0], d.Check, d.Strings)
	full := recordtest.Shapes() // on a disk that was full for a while
	full.Header(func(h *layout.Header) { h.Lost[layout.LostPages] = 1 })
	clear(full.Funcs[200:600])
	clear(full.Tree[layout.HeaderSize+200 : layout.HeaderSize+300])
	f.Add(full.Tree, full.Funcs, full.Shards[0], full.Check, full.Strings)
	late := recordtest.Shapes() // a clock of no year that a time can have
	late.Header(func(h *layout.Header) {
		h.Start, h.Rotation = 1<<63|1, layout.Rotation{Segment: 2, Began: 1 << 63, Ended: math.MaxUint64}
	})
	f.Add(late.Tree, late.Funcs, late.Shards[0], late.Check, late.Strings)
	f.Fuzz(func(t *testing.T, tree, funcs, shard, check, strings []byte) {
		fsys := fstest.MapFS{}
		for name, data := range map[string][]byte{"tree": tree, "funcs": funcs, "shard.0": shard, "check": check,
			"strings": strings} {
			fsys[name] = &fstest.MapFile{Data: data}
		}
		recordtest.Bounded(t, len(tree)+len(funcs)+len(shard)+len(check)+len(strings), func() {
			l, err := livedir.Open(fsys)
			if err != nil {
				return
			}
			if err := l.Profile.CheckValid(); err != nil {
				t.Fatalf("a reader accepted an invalid profile: %v", err)
			}
			if tables, err := l.Profile.Tables(false); err != nil {
				t.Fatal(err)
			} else if _, err := profile.FromTables(tables); err != nil {
				t.Fatalf("reading the tables of a profile: %v", err)
			}
			_ = l.Checks(func(c *livedir.Check) error {
				if c.Node != profile.None {
					l.Profile.NodeCounts(c.Node)
				}
				return nil
			})
		})
	})
}
