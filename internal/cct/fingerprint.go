package cct

import (
	"github.com/stemma-go/stemma/internal/fingerprint"
)

// Fingerprints are those of the nodes of a tree.
type Fingerprints struct {
	sums []fingerprint.Sum
	tree fingerprint.Tree
	at   []uint32 // for each node of the tree that of tree
}

// Fingerprints returns the fingerprints of all nodes: see package fingerprint.
func (t *Tree) Fingerprints() *Fingerprints {
	f := &Fingerprints{sums: make([]fingerprint.Sum, len(t.Nodes)), at: make([]uint32, len(t.Nodes))}
	root := uint32(0) // of contexts without one
	for i, n := range t.Nodes {
		fn := &t.Funcs[n.Func]
		switch s := t.Sites[n.Site]; {
		case i == 0:
			f.at[i] = f.tree.Root(fingerprint.Unknown)
			root = f.at[i]
			continue
		case fn.Pseudo && f.at[n.Parent] == root:
			f.at[i] = f.tree.Root(fn.Name)
		default:
			kind := fingerprint.Ordinary
			switch {
			case s.Via == ViaNative || s.Via == ViaFault || fn.Type || fn.Asm:
				kind = fingerprint.Native
			case fn.adapter:
				kind = fingerprint.Adapter
			}
			f.at[i] = f.tree.Add(f.at[n.Parent], fingerprint.Frame{Func: fn.Name, Kind: kind, Go: s.Via == ViaGo,
				File: s.File, Line: s.Line})
		}
		f.sums[i] = f.tree.Sum(f.at[i])
	}
	return f
}

// Of returns the fingerprints of node n, zero for the root.
func (f *Fingerprints) Of(n uint32) fingerprint.Sum { return f.sums[n] }

// Text returns the text that the fingerprint of node n, by functions, is the hash of.
func (f *Fingerprints) Text(n uint32) string { return f.tree.Text(f.at[n]) }

// Collisions returns pairs of nodes that have one fingerprint and different texts.
func (f *Fingerprints) Collisions() [][2]uint32 { return fingerprint.Collisions(f.sums) }
