package cct

import "testing"

// BenchmarkFingerprints makes those of a tree of a million nodes, each of a function that three others call.
func BenchmarkFingerprints(b *testing.B) {
	t := &Tree{Sites: make([]Site, 1), Funcs: []Func{{Name: "[root]", Pseudo: true}, {Name: "[main]", Pseudo: true}},
		Nodes: []Node{{}, {Func: 1}}}
	for i := range 20_000 {
		t.Funcs = append(t.Funcs, Func{Name: "example.com/program/package.(*Type).Method" + string(rune('a'+i%26))})
	}
	for i := 2; i < 1_000_000; i++ {
		t.Nodes = append(t.Nodes, Node{Parent: uint32(1 + (i-2)/3), Func: uint32(2 + i%20_000)})
	}
	for b.Loop() {
		t.Fingerprints()
	}
	b.ReportMetric(float64(len(t.Nodes)), "nodes")
}
