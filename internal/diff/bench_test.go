package diff

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stemma-go/stemma/profile"
)

// manyContexts returns a profile of n nodes, of functions that call others at 8 sites each.
// Seeds differ in the calls of some nodes, and in a function's lines.
func manyContexts(n int, seed uint64) *profile.Profile {
	const funcs, sites = 2000, 8
	r := rand.New(rand.NewPCG(7, 7))
	p := profile.New(profile.Calls)
	p.Processes = []profile.Process{{Args: []string{"many"}, GoVersion: "go1.26.8", Engine: "cct", Full: true}}
	str := func(s string) uint32 {
		p.Strings = append(p.Strings, s)
		return uint32(len(p.Strings) - 1)
	}
	file := str("/src/many.go")
	for i := range funcs {
		f := profile.Func{Name: str(fmt.Sprintf("example.com/many/pkg%d.(*Type).method%d", i%40, i)), File: file,
			Line: uint32(100*i + int(seed)), Cells: sites, Counters: 1}
		for k := range sites {
			f.Sites = append(f.Sites,
				profile.Site{Kind: profile.SiteCall, Inlined: profile.None, File: file, Line: f.Line + uint32(k) + 1,
					Cell: int32(k), Counter: profile.None})
		}
		p.Funcs = append(p.Funcs, f)
	}
	type key struct{ parent, cell uint32 }
	known := make(map[key]bool)
	for len(p.Nodes) < n {
		k := key{uint32(r.IntN(len(p.Nodes))), uint32(r.IntN(sites))}
		if !known[k] {
			known[k] = true
			p.Nodes = append(p.Nodes,
				profile.Node{Func: uint32(1 + r.IntN(funcs)), Parent: k.parent, Cell: k.cell,
					First: uint32(len(p.Nodes))})
		}
	}
	c := p.Column(profile.Calls.Name)
	c.Values = make([]uint64, n)
	changed := rand.New(rand.NewPCG(seed, 1))
	for i := 1; i < n; i++ {
		c.Values[i] = uint64(1 + r.IntN(1000))
		if changed.IntN(10) == 0 {
			c.Values[i] += uint64(changed.IntN(5))
		}
	}
	return p
}

// BenchmarkMillion compares two sealed files of a million contexts each by function, context
// and line, with a limit for each.
func BenchmarkMillion(b *testing.B) {
	var files [2]string
	for i := range files {
		p := manyContexts(1_000_000, uint64(i))
		if err := p.CheckValid(); err != nil {
			b.Fatal(err)
		}
		f, err := os.Create(fmt.Sprintf("%s/%d.stemma", b.TempDir(), i))
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Write(f); err != nil {
			b.Fatal(err)
		}
		files[i] = f.Name()
		f.Close()
	}
	for b.Loop() {
		var sides [2]*Side
		for i, name := range files {
			f, err := os.Open(name)
			if err != nil {
				b.Fatal(err)
			}
			p, err := profile.Read(f)
			if err != nil {
				b.Fatal(err)
			}
			f.Close()
			sides[i] = FromProfile(name, p)
		}
		d := compare(b, sides[0], sides[1], Options{Renames: true})
		limits, err := ParseLimits("calls>0,calls/function>0,calls/context>0,calls/line>0")
		if err != nil {
			b.Fatal(err)
		}
		results, err := d.Check(limits, false)
		if err != nil || !Exceeded(results) {
			b.Fatal(err, results)
		}
		if err := WriteBaseline(io.Discard, sides[1], false); err != nil {
			b.Fatal(err)
		}
	}
}
