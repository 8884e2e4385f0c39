package profile_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stemma-go/stemma/internal/goroot/rt"
	"github.com/stemma-go/stemma/internal/livetest"
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

// bounded fails the test unless read allocates in proportion to n bytes of input. A
// reader makes records of up to a few hundred bytes of what takes one, and has buffers.
func bounded(t *testing.T, n int, read func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read()
	runtime.ReadMemStats(&after)
	if have, want := after.TotalAlloc-before.TotalAlloc, uint64(64<<20+1000*n); have > want {
		t.Fatalf("%d bytes were allocated for %d bytes of input, want at most %d", have, n, want)
	}
}

// TestBomb: a small file does not make a reader allocate what it claims, nor what it
// would expand to; and no profile is such that it cannot be read again.
func TestBomb(t *testing.T) {
	huge := profile.Bomb(1 << 30)
	if len(huge) > 2<<20 {
		t.Fatalf("the bomb has %d bytes", len(huge))
	}
	bounded(t, 0, func() {
		if _, err := profile.Read(bytes.NewReader(huge)); err == nil || !strings.Contains(err.Error(), "that expand to 1073741824, want at most") {
			t.Errorf("have error %v", err)
		}
	})
	p := mustLive(t, livetest.Shapes())
	p.Strings[1] = strings.Repeat("a", 8<<20)
	if back, err := profile.Read(bytes.NewReader(mustWrite(t, p))); err != nil || back.Strings[1] != p.Strings[1] {
		t.Errorf("what compresses well cannot be read again: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(mustWrite(f, mustLive(f, livetest.Shapes())))
	f.Add(mustWrite(f, openContexts(f, contextsDir())))
	f.Fuzz(func(t *testing.T, data []byte) {
		bounded(t, len(data), func() {
			if p, err := profile.Read(bytes.NewReader(data)); err == nil {
				exercise(t, p)
			}
		})
	})
}

// FuzzSections damages the contents of the sections before they are sealed,
// where no checksum protects the decoder.
func FuzzSections(f *testing.F) {
	sections, err := profile.Sections(mustLive(f, livetest.Shapes()))
	if err != nil {
		f.Fatal(err)
	}
	if _, err := profile.Read(bytes.NewReader(profile.Seal(sections...))); err != nil {
		f.Fatal(err)
	}
	f.Add(sections[0], sections[1], sections[2], sections[3], sections[4])
	f.Fuzz(func(t *testing.T, processes, names, funcs, nodes, counts []byte) {
		data := profile.Seal(processes, names, funcs, nodes, counts)
		bounded(t, len(data), func() {
			if p, err := profile.Read(bytes.NewReader(data)); err == nil {
				exercise(t, p)
			}
		})
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
		bounded(t, len(tree)+len(funcs)+len(shard)+len(check)+len(strings), func() {
			l, err := profile.OpenLive(fsys)
			if err != nil {
				return
			}
			exercise(t, l.Profile)
			_ = l.Checks(func(c *profile.Check) error {
				if c.Node != profile.None {
					l.Profile.NodeCounts(c.Node)
				}
				return nil
			})
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
