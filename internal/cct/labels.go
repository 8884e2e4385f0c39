package cct

import (
	"strings"

	"github.com/stemma-go/stemma/profile"
)

// A Label is one that a goroutine has while it runs what is below a frame. Without a value, the frame takes the label
// away.
type Label struct{ Key, Value string }

// labelGrouping is what a grouping by the values of a label begins with; its key follows.
const labelGrouping = "label:"

// LabelOf returns the key of the label that a grouping is by; ok is false for another grouping.
func LabelOf(grouping string) (key string, ok bool) {
	key, ok = strings.CutPrefix(grouping, labelGrouping)
	return key, ok && key != ""
}

// labels expands physical node i, which is of labels: a frame for each one that is not as further out, so that
// [KEY=VALUE] stands where it was set.
func (x *expander) labels(i int) place {
	at := x.entry(i)
	outside := x.labelsAround(i)
	inside := x.p.Funcs[x.p.Nodes[i].Func].Frames
	value := func(of []profile.Frame, key string) string {
		for _, l := range of {
			if x.p.String(l.Func) == key {
				return x.p.String(l.File)
			}
		}
		return ""
	}
	for _, l := range inside {
		if key := x.p.String(l.Func); value(outside, key) != x.p.String(l.File) {
			at = place{node: x.label(at, Label{key, x.p.String(l.File)})}
		}
	}
	for _, l := range outside {
		if key := x.p.String(l.Func); value(inside, key) == "" {
			at = place{node: x.label(at, Label{Key: key})}
		}
	}
	return at
}

// label returns the node of one label at a place.
func (x *expander) label(at place, l Label) uint32 {
	fn := x.named(pseudo(l.Key+"="+l.Value), true)
	x.t.Funcs[fn].Label = l
	return x.call(at, 0, fn)
}

// labelsAround returns the labels that node i is entered with.
func (x *expander) labelsAround(i int) []profile.Frame {
	for n := x.p.Nodes[i].Parent; n != 0; n = x.p.Nodes[n].Parent {
		if f := &x.p.Funcs[x.p.Nodes[n].Func]; f.Kind == profile.FuncLabels {
			return f.Frames
		}
	}
	return nil
}

// labelKey returns what the key of a node's group is when contexts are added up by the values of a label.
func (t *Tree) labelKey(label string) func(n uint32) (groupKey, bool) {
	return func(n uint32) (groupKey, bool) {
		fn := t.Nodes[n].Func
		if t.Funcs[fn].Label.Key == label {
			return groupKey{fn: fn}, true
		}
		return groupKey{}, t.Nodes[n].Parent == 0
	}
}

// HasLabel reports whether a label with this key was set anywhere in t.
func (t *Tree) HasLabel(key string) bool {
	for _, f := range t.Funcs {
		if f.Label.Key == key {
			return true
		}
	}
	return false
}

// Labels returns the keys of all labels in t.
func (t *Tree) Labels() (keys []string) {
	seen := make(map[string]bool)
	for _, f := range t.Funcs {
		if key := f.Label.Key; key != "" && !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// LabelsOf returns the labels of context n, the innermost one of each key.
func (t *Tree) LabelsOf(n uint32) map[string]string {
	var labels map[string]string
	for ; n != 0; n = t.Nodes[n].Parent {
		l := t.Funcs[t.Nodes[n].Func].Label
		if l.Key == "" {
			continue
		}
		if labels == nil {
			labels = make(map[string]string)
		}
		if _, known := labels[l.Key]; !known {
			labels[l.Key] = l.Value
		}
	}
	for key, value := range labels {
		if value == "" {
			delete(labels, key)
		}
	}
	return labels
}
