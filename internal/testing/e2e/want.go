package e2e

import (
	"bufio"
	"fmt"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
)

// A Want is one expectation of a program, see the package comment.
type Want struct {
	where   string // file and line, or "output"
	tag     string // build that it is for; empty for all, "!x" for all but x
	pattern []element
	text    string // of the pattern
	op      string // "=", ">=" or "<="
	count   uint64
}

// An element of a pattern stands for one frame, or for any number of frames.
type element struct {
	any  bool
	via  string // how the function was entered; empty for every way
	name string
}

// vias are the words that may stand before a name in a pattern.
var vias = map[string]bool{"call": true, "inlined": true, "go": true, "defer": true, "native": true, "fault": true}

// parsePattern parses a path of frames, outermost first.
func parsePattern(s string) []element {
	var p []element
	for part := range strings.SplitSeq(s, ";") {
		e := element{name: strings.TrimSpace(part)}
		if via, name, ok := strings.Cut(e.name, " "); ok && vias[via] {
			e.via, e.name = via, name
		}
		e.any = e.name == "**"
		p = append(p, e)
	}
	return p
}

// matches reports whether the element stands for a function that was entered via a site.
func (e element) matches(name string, via cct.Via) bool {
	if e.via != "" && e.via != via.String() {
		return false
	}
	before, after, wild := strings.Cut(e.name, "~")
	if !wild {
		return e.name == name
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}

// describes returns, for each node of the tree, whether the pattern describes its path.
// A path is read from the root on, and a node's after its parent's, which lies before
// it: state has, for each node, bit i if the first i elements describe its path.
func describes(p []element, tree *cct.Tree) []bool {
	if len(p) > 63 {
		panic("a pattern of more than 63 elements")
	}
	state, whole := make([]uint64, len(tree.Nodes)), make([]bool, len(tree.Nodes))
	state[0] = skip(p, 1)
	for n := 1; n < len(tree.Nodes); n++ {
		node := tree.Nodes[n]
		for s := state[node.Parent]; s != 0; s &= s - 1 {
			i := bits.TrailingZeros64(s)
			switch {
			case i == len(p):
			case p[i].any:
				state[n] |= 1 << i
			case p[i].matches(tree.Funcs[node.Func].Name, tree.Sites[node.Site].Via):
				state[n] |= 1 << (i + 1)
			}
		}
		state[n] = skip(p, state[n])
		whole[n] = state[n]>>len(p) != 0
	}
	return whole
}

// skip adds the states that elements for any number of frames lead to without one.
func skip(p []element, state uint64) uint64 {
	for i, e := range p {
		if e.any {
			state |= state & (1 << i) << 1
		}
	}
	return state
}

// parseWant parses what follows "want:": func|context[@tag] PATTERN [op]COUNT.
func parseWant(where, s string) (w Want, err error) {
	w = Want{where: where, op: "="}
	verb, s, _ := strings.Cut(s, " ")
	verb, w.tag, _ = strings.Cut(verb, "@")
	i := strings.LastIndexByte(s, ' ')
	if i < 0 {
		return w, fmt.Errorf("%s: want %q has no count", where, s)
	}
	w.text = strings.TrimSpace(s[:i])
	num := s[i+1:]
	for _, op := range []string{">=", "<="} {
		if n, ok := strings.CutPrefix(num, op); ok {
			w.op, num = op, n
		}
	}
	if w.count, err = strconv.ParseUint(strings.ReplaceAll(num, "_", ""), 10, 64); err != nil {
		return w, fmt.Errorf("%s: %w", where, err)
	}
	switch verb {
	case "func":
		w.pattern = append([]element{{any: true}}, parsePattern(w.text)...)
	case "context":
		w.pattern = parsePattern(w.text)
	default:
		return w, fmt.Errorf("%s: want %s: no such kind (have func, context)", where, verb)
	}
	return w, nil
}

// scanWants returns the expectations in r, where each stands on a line of its
// own behind prefix.
func scanWants(t *testing.T, r io.Reader, name, prefix string) []Want {
	t.Helper()
	var list []Want
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for line := 1; s.Scan(); line++ {
		_, text, ok := strings.Cut(s.Text(), prefix)
		if !ok {
			continue
		}
		w, err := parseWant(fmt.Sprintf("%s:%d", name, line), text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, w)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// Wants returns the expectations that the program printed.
func (r Result) Wants(t *testing.T) []Want {
	t.Helper()
	return scanWants(t, strings.NewReader(r.Stdout), "output", "want:")
}

// SourceWants returns the expectations in the source files of a program.
func SourceWants(t *testing.T, name string) []Want {
	t.Helper()
	dir := Program(name)
	var list []Want
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".go" {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		rel, _ := filepath.Rel(dir, name)
		list = append(list, scanWants(t, f, rel, "//want:")...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// applies reports whether w is for the build with that tag.
func (w Want) applies(tag string) bool {
	if not, ok := strings.CutPrefix(w.tag, "!"); ok {
		return not != tag
	}
	return w.tag == "" || w.tag == tag
}

func (w Want) holds(have uint64) bool {
	switch w.op {
	case ">=":
		return have >= w.count
	case "<=":
		return have <= w.count
	}
	return have == w.count
}

// Check compares the tree with the expectations that are for the build with that tag.
func Check(t *testing.T, tree *cct.Tree, wants []Want, tag string) {
	t.Helper()
	for _, w := range wants {
		if !w.applies(tag) {
			continue
		}
		have := uint64(0)
		for n, whole := range describes(w.pattern, tree) {
			if whole {
				have += tree.Nodes[n].Count
			}
		}
		if !w.holds(have) {
			t.Errorf("%s: %s: have %d, want %s %d%s", w.where, w.text, have, w.op, w.count, near(tree, w.pattern))
		}
	}
}

// near lists some contexts of the pattern's innermost function.
func near(tree *cct.Tree, p []element) string {
	var b strings.Builder
	contexts := 0
	for n, node := range tree.Nodes {
		last := p[len(p)-1]
		if n == 0 || node.Count == 0 ||
			!last.any && !last.matches(tree.Funcs[node.Func].Name, tree.Sites[node.Site].Via) {
			continue
		}
		if contexts++; contexts <= 8 {
			fmt.Fprintf(&b, "\n\t\t%d %s", node.Count, pathString(tree, uint32(n)))
		}
	}
	if contexts > 8 {
		fmt.Fprintf(&b, "\n\t\tand %d more", contexts-8)
	}
	if contexts == 0 {
		return "; the function was not entered"
	}
	return b.String()
}

// pathString returns the path of a context in the syntax of patterns.
func pathString(tree *cct.Tree, n uint32) string {
	stack := tree.Stack(n)
	parts := make([]string, 0, len(stack))
	if len(stack) > 24 {
		parts = append(parts, "…")
		stack = stack[:24]
	}
	for i := len(stack) - 1; i >= 0; i-- {
		f := stack[i]
		s := f.Func
		if f.Via != cct.ViaCall {
			s = f.Via.String() + " " + s
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ";")
}

// Calls returns how often a function was called.
func Calls(tree *cct.Tree, name string) (n uint64) {
	for _, s := range tree.ByFunction() {
		if tree.Funcs[s.Func].Name == name {
			n += s.Calls
		}
	}
	return n
}

// CheckFuncs checks expectations without ** in the middle quickly: for trees that
// have too many contexts to match each with every pattern.
func CheckFuncs(t *testing.T, tree *cct.Tree, wants []Want, tag string) {
	t.Helper()
	for _, w := range wants {
		if !w.applies(tag) || len(w.pattern) != 2 {
			continue
		}
		if have := Calls(tree, w.pattern[1].name); !w.holds(have) {
			t.Errorf("%s: %s: have %d, want %s %d", w.where, w.text, have, w.op, w.count)
		}
	}
}
