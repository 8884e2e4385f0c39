package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/fingerprint"
	"github.com/stemma-go/stemma/internal/record"
)

// A tree is what a program recorded, with its fingerprints.
type tree struct {
	*cct.Tree
	prints *cct.Fingerprints
	full   []uint64 // of all functions on the path, as they are
}

// readTree reads the record below a directory.
func readTree(dir string) (*tree, error) {
	list, err := filepath.Glob(filepath.Join(dir, "records", "*"))
	if err != nil || len(list) == 0 {
		return nil, fmt.Errorf("%s: no record: %v", dir, err)
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	r, err := record.Open(os.DirFS(list[0]))
	if err != nil {
		return nil, err
	}
	t := &tree{Tree: cct.New(r.Profile)}
	t.prints = t.Fingerprints()
	t.full = make([]uint64, len(t.Nodes))
	for i, n := range t.Nodes {
		h := t.full[n.Parent]
		for _, c := range []byte("\n" + t.Funcs[n.Func].Name) {
			h = (h ^ uint64(c)) * 0x100000001b3
		}
		t.full[i] = h
	}
	return t, nil
}

// of returns what a context is known by.
func (t *tree) of(kind string, n int) uint64 {
	switch sum := t.prints.Of(uint32(n)); kind {
	case "functions":
		return uint64(sum.Functions)
	case "lines":
		return uint64(sum.Lines)
	}
	return t.full[n]
}

// kept returns the share of the contexts, and of the calls, of a tree whose names are in another tree.
func kept(kind string, a, b *tree) (contexts, calls float64) {
	in := make(map[uint64]bool)
	for i, n := range b.Nodes {
		if n.Count > 0 {
			in[b.of(kind, i)] = true
		}
	}
	var all, same, allCalls, sameCalls uint64
	for i, n := range a.Nodes {
		if n.Count == 0 {
			continue
		}
		all, allCalls = all+1, allCalls+n.Count
		if in[a.of(kind, i)] {
			same, sameCalls = same+1, sameCalls+n.Count
		}
	}
	return 100 * float64(same) / float64(all), 100 * float64(sameCalls) / float64(allCalls)
}

// header and row print what a program's builds have in common with the first one.
func header(w io.Writer, release string) {
	fmt.Fprintf(w, "| program | contexts | fingerprints | again | shifted | %s | %[1]s, all functions | "+
		"lines, again | lines, %[1]s |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n", release)
}

func row(w io.Writer, name string, trees map[string]*tree) {
	first := trees["first"]
	contexts, distinct := 0, make(map[uint64]bool)
	for i, n := range first.Nodes {
		if n.Count > 0 {
			contexts++
			distinct[first.of("functions", i)] = true
		}
	}
	fmt.Fprintf(w, "| %s | %d | %d |", name, contexts, len(distinct))
	for _, cell := range [][2]string{{"functions", "again"}, {"functions", "shifted"}, {"functions", "release"},
		{"full", "release"}, {"lines", "again"}, {"lines", "release"}} {
		c, n := kept(cell[0], first, trees[cell[1]])
		fmt.Fprintf(w, " %.2f %.2f |", c, n)
	}
	fmt.Fprintln(w)
}

// An edge is a function that another one calls.
type edge struct {
	name string
	kind fingerprint.Kind
	goes bool
}

// edges adds the calls of a tree.
func edges(t *tree, all map[string][]edge, known map[[2]string]bool) {
	for i, n := range t.Nodes {
		if i == 0 || t.Funcs[n.Func].Pseudo {
			continue
		}
		caller, callee, via := t.Funcs[t.Nodes[n.Parent].Func].Name, t.Funcs[n.Func].Name, t.Sites[n.Site].Via
		if key := [2]string{caller, callee}; !known[key] {
			known[key] = true
			kind := fingerprint.Ordinary
			if via == cct.ViaNative {
				kind = fingerprint.Native
			}
			all[caller] = append(all[caller], edge{callee, kind, via == cct.ViaGo})
		}
	}
}

// collide makes contexts at random from the calls of programs until there are so many fingerprints, and counts those
// that stand for several.
func collide(w io.Writer, all map[string][]edge, want int) {
	const chunk = 1 << 20
	r := rand.New(rand.NewPCG(1, 2))
	var made []fingerprint.Sum
	for before := -1; len(made) < want && len(made) > before; { // or the calls lead to no more
		before = len(made)
		for more := want - len(made); more > 0; more -= chunk {
			made = append(made, contextsOf(all, r, min(chunk, more))...)
		}
		made = sorted(made)
	}
	fmt.Fprintf(w, "%d contexts made of the calls of these programs: %d fingerprints stand for several\n", len(made),
		len(fingerprint.Collisions(made)))
}

// contextsOf makes contexts at random, each of one that was made before, and returns n that differ, or fewer if it
// finds no more. What leads back to another context is none of them, or nearly all would be the same after a while.
func contextsOf(all map[string][]edge, r *rand.Rand, n int) []fingerprint.Sum {
	var t fingerprint.Tree
	at, names := []uint32{t.Root("[main]")}, []string{"[main]"}
	seen := make(map[fingerprint.Sum]bool)
	for found, tries := 0, 0; len(seen) < n && tries < found+1000+100*len(at); tries++ {
		i := r.IntN(len(at))
		callees := all[names[i]]
		if len(callees) == 0 {
			continue
		}
		e := callees[r.IntN(len(callees))]
		node := t.Add(at[i], fingerprint.Frame{Func: e.name, Kind: e.kind, Go: e.goes})
		sum := t.Sum(node)
		sum.Lines = 0 // contexts have no lines here: those fingerprints are equal where the others are
		if !seen[sum] {
			seen[sum], found = true, tries
			at, names = append(at, node), append(names, e.name)
		}
	}
	return slices.Collect(maps.Keys(seen))
}

// sorted returns each sum once, by fingerprint.
func sorted(sums []fingerprint.Sum) []fingerprint.Sum {
	slices.SortFunc(sums, func(a, b fingerprint.Sum) int { return cmp.Compare(a.Functions, b.Functions) })
	return slices.Compact(sums)
}
