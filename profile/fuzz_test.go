package profile_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stemma-go/stemma/internal/goroot/rt"
	"github.com/stemma-go/stemma/internal/live"
	"github.com/stemma-go/stemma/internal/livetest"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/profile"
)

// exercise calls everything that takes a profile: what a reader accepted must
// be valid, and survive.
func exercise(t *testing.T, p *profile.Profile) {
	if err := p.CheckValid(); err != nil {
		t.Fatalf("a reader accepted an invalid profile: %v", err)
	}
	if p.Contexts != nil {
		exerciseContexts(t, p)
		return
	}
	p.Lost()
	p.Full()
	text := mustText(t, p)
	back, err := profile.Read(bytes.NewReader(mustWrite(t, p)))
	if err != nil {
		t.Fatalf("reading what was written: %v", err)
	}
	if again := mustText(t, back); again != text {
		t.Fatalf("a round trip changes the profile from\n%s\nto\n%s", text, again)
	}
	if merged := mustMerge(t, p, otherRun(p)); sum(merged) != 2*sum(p) {
		t.Fatal("merging loses counts")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(mustWrite(f, mustLive(f, livetest.Shapes())))
	f.Add(mustWrite(f, openContexts(f, contextsDir())))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := profile.Read(bytes.NewReader(data)); err == nil {
			exercise(t, p)
		}
	})
}

// FuzzSections damages the contents of the sections before they are sealed,
// where no checksum protects the decoder.
func FuzzSections(f *testing.F) {
	sections, err := profile.Sections(mustLive(f, livetest.Shapes()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sections[0], sections[1], sections[2], sections[3], sections[4])
	f.Fuzz(func(t *testing.T, processes, strings, funcs, nodes, counts []byte) {
		data := profile.Seal(processes, strings, funcs, nodes, counts)
		if p, err := profile.Read(bytes.NewReader(data)); err == nil {
			exercise(t, p)
		}
	})
}

func FuzzReadLive(f *testing.F) {
	d := livetest.Shapes()
	d.AddCheck(livetest.Check{Node: livetest.Root}, livetest.Frame{Func: "main.main", File: "m.go", Line: 7})
	f.Add(d.Tree, d.Funcs, d.Shards[0], d.Check, d.Strings)
	full := livetest.Shapes() // on a disk that was full for a while
	full.Set64(rt.HdrLost+8*rt.LostPages, 1)
	clear(full.Funcs[200:600])
	clear(full.Tree[rt.HdrEnd+200 : rt.HdrEnd+300])
	f.Add(full.Tree, full.Funcs, full.Shards[0], full.Check, full.Strings)
	f.Fuzz(func(t *testing.T, tree, funcs, shard, check, strings []byte) {
		fsys := fstest.MapFS{}
		for name, data := range map[string][]byte{"tree": tree, "funcs": funcs, "shard.0": shard, "check": check, "strings": strings} {
			fsys[name] = &fstest.MapFile{Data: data}
		}
		l, err := record.Open(fsys)
		if err != nil {
			return
		}
		exercise(t, l.Profile)
		_ = l.Checks(func(c *live.Check) error {
			if c.Node != profile.None {
				l.Profile.NodeCounts(c.Node)
			}
			return nil
		})
	})
}

func FuzzParseText(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := profile.ParseText(io.LimitReader(bytes.NewReader([]byte(text)), 1<<20)); err == nil {
			exercise(t, p)
		}
	})
}
