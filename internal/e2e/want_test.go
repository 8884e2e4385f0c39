package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// A want is one expectation of a program, see the package comment.
type want struct {
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

func (e element) matches(f cct.Frame) bool {
	if e.via != "" && e.via != f.Via.String() {
		return false
	}
	before, after, wild := strings.Cut(e.name, "~")
	if !wild {
		return e.name == f.Func
	}
	return len(f.Func) >= len(before)+len(after) && strings.HasPrefix(f.Func, before) && strings.HasSuffix(f.Func, after)
}

// matchStack tells whether the pattern describes the stack, innermost frame first.
func matchStack(p []element, stack []cct.Frame) bool {
	if len(p) == 0 {
		return len(stack) == 0
	}
	last := p[len(p)-1]
	if last.any {
		return matchStack(p[:len(p)-1], stack) || len(stack) > 0 && matchStack(p, stack[1:])
	}
	return len(stack) > 0 && last.matches(stack[0]) && matchStack(p[:len(p)-1], stack[1:])
}

// parseWant parses what follows "want:": func|context[@tag] PATTERN [op]COUNT.
func parseWant(where, s string) (w want, err error) {
	w = want{where: where, op: "="}
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
func scanWants(t *testing.T, r io.Reader, name, prefix string) []want {
	t.Helper()
	var list []want
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

// sourceWants returns the expectations in the source files of a program.
func sourceWants(t *testing.T, dir string) []want {
	t.Helper()
	var list []want
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

// applies tells whether w is for the build with that tag.
func (w want) applies(tag string) bool {
	if not, ok := strings.CutPrefix(w.tag, "!"); ok {
		return not != tag
	}
	return w.tag == "" || w.tag == tag
}

func (w want) holds(have uint64) bool {
	switch w.op {
	case ">=":
		return have >= w.count
	case "<=":
		return have <= w.count
	}
	return have == w.count
}

// check compares the tree with the expectations that are for the build with that tag.
func check(t *testing.T, tree *cct.Tree, wants []want, tag string) {
	t.Helper()
	var live []want
	for _, w := range wants {
		if w.applies(tag) {
			live = append(live, w)
		}
	}
	have := make([]uint64, len(live))
	near := make([][]uint32, len(live)) // contexts of the right function
	for n := range tree.Nodes {
		if tree.Nodes[n].Count == 0 {
			continue
		}
		stack := tree.Stack(uint32(n))
		for i, w := range live {
			if !w.pattern[len(w.pattern)-1].matches(stack[0]) && !w.pattern[len(w.pattern)-1].any {
				continue
			}
			near[i] = append(near[i], uint32(n))
			// The last frame is the root's, which has no name of interest.
			if matchStack(w.pattern, stack) {
				have[i] += tree.Nodes[n].Count
			}
		}
	}
	for i, w := range live {
		if !w.holds(have[i]) {
			t.Errorf("%s: %s: have %d, want %s %d%s", w.where, w.text, have[i], w.op, w.count, describe(tree, near[i]))
		}
	}
}

// describe lists some contexts.
func describe(tree *cct.Tree, nodes []uint32) string {
	var b strings.Builder
	for i, n := range nodes {
		if i == 8 {
			fmt.Fprintf(&b, "\n\t\tand %d more", len(nodes)-i)
			break
		}
		fmt.Fprintf(&b, "\n\t\t%d %s", tree.Nodes[n].Count, pathString(tree, n))
	}
	if len(nodes) == 0 {
		b.WriteString("; the function was not entered")
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

// noLoss fails the test if p says that something is missing.
func noLoss(t *testing.T, p *profile.Profile) {
	t.Helper()
	for _, l := range p.Lost() {
		t.Errorf("lost %d %s", l.Count, l.Kind)
	}
	for _, proc := range p.Processes {
		for _, n := range proc.Notes {
			t.Errorf("note: %s", n)
		}
	}
}
