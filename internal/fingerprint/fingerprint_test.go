package fingerprint

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
	"github.com/stemma-go/stemma/internal/testing/foldtest"
)

// A vector is a context and what the definition makes of it. In path a function may have a prefix: "go " for a go
// statement, "native " and "adapter " for the kinds. Behind a space comes where it is called.
type vector struct {
	path, text, lines string
}

var vectors = []vector{
	{"[main]|main.main", "[main]|main.main", "[main]|main.main"},
	{"[main]|main.main|go main.serve main.go:17|main.pay /src/pay.go:40",
		"[main]|main.main|go main.serve|main.pay", "[main]|main.main|\tmain.go:17|go main.serve|\tpay.go:40|main.pay"},

	// Recursion, of one function and of several, leads back.
	{"[main]|main.f|main.g|main.f|main.h", "[main]|main.f|main.h", "[main]|main.f|main.g|main.f|main.h"},
	{"[main]|main.f|go main.f|main.h", "[main]|main.f|main.h", "[main]|main.f|go main.f|main.h"},
	{"[main]|main.f|main.f", "[main]|main.f", "[main]|main.f|main.f"},
	// A function that only passes calls on may come again.
	{"[main]|adapter main.F.Do|main.a|adapter main.F.Do|main.b", "[main]|main.F.Do|main.a|main.F.Do|main.b", ""},
	{"[main]|adapter main.F.Do|adapter main.G.Do|adapter main.F.Do|main.b",
		"[main]|main.F.Do|main.G.Do|main.F.Do|main.b", ""},
	// But not if nothing between is new to the path.
	{"[main]|adapter main.F.Do|adapter main.G.Do|adapter main.F.Do|adapter main.G.Do|adapter main.F.Do|main.b",
		"[main]|main.F.Do|main.G.Do|main.F.Do|main.b", ""},

	// Of the standard library the first function enters, and the innermost one.
	{"[main]|main.main|sort.Slice|sort.pdqsort_func|sort.insertionSort_func|main.main.func1",
		"[main]|main.main|sort.Slice|main.main.func1", ""},
	{"[main]|main.main|encoding/json.Unmarshal|encoding/json.(*decodeState).value|reflect.Value.Set",
		"[main]|main.main|encoding/json.Unmarshal|reflect.Value.Set", ""},
	{"[main]|main.f|net/http.Serve|go net/http.(*conn).serve|main.h", "[main]|main.f|net/http.Serve|go main.h", ""},
	{"[main]|main.f|net/http.Serve|go net/http.(*conn).serve|net/http.x",
		"[main]|main.f|net/http.Serve|go net/http.x", ""},
	// A function of it that does not enter is on the path anyway.
	{"[main]|main.f|fmt.A|fmt.b|main.g|fmt.b|main.h", "[main]|main.f|fmt.A|main.h", ""},
	// Numbers of its closures do not enter, those of others do.
	{"[main]|main.main|context.WithCancel.func1", "[main]|main.main|context.WithCancel.func", ""},
	{"[main]|main.main.func2.1", "[main]|main.main.func2.1", ""},
	{"[init]|plugin/unnamed-0a1b.F", "[init]|plugin/unnamed.F", ""},

	// Natives enter as the innermost function.
	{"[main]|main.f|native runtime.gopanic f.go:3|main.f.func1|native runtime.growslice",
		"[main]|main.f|main.f.func1|runtime.growslice", "[main]|main.f|\tf.go:3|main.f.func1|runtime.growslice"},
	{"[main]|runtime.main|main.main|native new(main.T)", "[main]|main.main|new(main.T)", ""},
	{"[overflow]|main.f", "[truncated]|main.f", "[truncated]|main.f"},
}

// enter adds the frames of a path and returns the last one.
func enter(t *Tree, path string) uint32 {
	root, rest, _ := strings.Cut(path, "|")
	n := t.Root(root)
	for word := range strings.SplitSeq(rest, "|") {
		var f Frame
		word, f.Go = strings.CutPrefix(word, "go ")
		if rest, ok := strings.CutPrefix(word, "native "); ok {
			word, f.Kind = rest, Native
		} else if rest, ok := strings.CutPrefix(word, "adapter "); ok {
			word, f.Kind = rest, Adapter
		}
		name, at, _ := strings.Cut(word, " ")
		f.Func = name
		if file, line, ok := strings.Cut(at, ":"); ok {
			f.File = file
			for _, c := range line {
				f.Line = 10*f.Line + int(c-'0')
			}
		}
		n = t.Add(n, f)
	}
	return n
}

// hashed is the hash of a text, by package hash/fnv.
func hashed(text string) Value {
	h := fnv.New64a()
	h.Write([]byte(strings.ReplaceAll(text, "|", "\n")))
	return Value(h.Sum64())
}

// TestVectors compares fingerprints with the hash, by another package, of the text that the definition gives.
func TestVectors(t *testing.T) {
	var tree Tree // one for all: what comes before changes nothing
	for _, v := range vectors {
		n := enter(&tree, v.path)
		if have := strings.ReplaceAll(tree.Text(n), "\n", "|"); have != v.text {
			t.Errorf("%s: have text %s, want %s", v.path, have, v.text)
		}
		sum := tree.Sum(n)
		if want := hashed(v.text); sum.Functions != want {
			t.Errorf("%s: have %v, want %v", v.path, sum.Functions, want)
		}
		if want := hashed(v.lines); v.lines != "" && sum.Lines != want {
			t.Errorf("%s: lines: have %v, want %v, of %q", v.path, sum.Lines, want, v.lines)
		}
	}
	n := enter(&tree, "[main]|main.main")
	if have, want := tree.SumAt(n, "/a/main.go", 7).Lines, hashed("[main]|main.main|\tmain.go:7"); have != want {
		t.Errorf("a call in the innermost function: have %v, want %v", have, want)
	}
}

// TestRecursion enters all short paths: the text of each has its functions as folding leaves them.
func TestRecursion(t *testing.T) {
	word := map[fold.Kind]string{fold.Ordinary: "main.", fold.Adapter: "adapter main."}
	var tree Tree
	for path := range foldtest.Paths("FGabc", 5) {
		context, want := "[main]", "[main]"
		for _, c := range path {
			context += "|" + word[foldtest.Kind(byte(c))] + string(c)
		}
		for _, c := range foldtest.Folded(path) {
			want += "\nmain." + string(c)
		}
		if have := tree.Text(enter(&tree, context)); have != want {
			t.Fatalf("%s: have text %q, want %q", path, have, want)
		}
	}
}

// TestPage compares the examples on the page that defines fingerprints with what is computed.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/fingerprints.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"[main]|main.main", "[main]|main.main|go main.serve|main.pay",
		"[main]|main.main|encoding/json.Unmarshal|reflect.Value.Set",
		"[main]|main.main|\tmain.go:17|go main.serve|\tpay.go:40|main.pay|\tpay.go:12"} {
		row := strings.NewReplacer("|", `\n`, "\t", `\t`).Replace(text) + "` | `" + hashed(text).String() + "`"
		if !bytes.Contains(page, []byte(row)) {
			t.Errorf("the page lacks %s", row)
		}
	}
}

// TestStandard compares the list of packages with what this Go has.
func TestStandard(t *testing.T) {
	out, err := exec.Command("go", "list", "std").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.FieldsSeq(string(out)) {
		if !isStandard(pkg) {
			t.Errorf("%s is none of the standard library", pkg)
		}
	}
	for _, pkg := range []string{"", "main", "cmd/compile/internal/ssa", "cmd/vendor/golang.org/x/mod", "net/fake",
		"example.com/internal/net", "myapp/internal/x", "log2", "golang.org/x/net/http2"} {
		if isStandard(pkg) {
			t.Errorf("%s is one of the standard library", pkg)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"net/http.(*conn).serve": "net/http", "main.main.func1": "main", "new(net/http.T)": "", "[main]": "",
		"slices.SortFunc[...]": "slices", "gopkg.in/yaml%2ev3.(*parser).x": "gopkg.in/yaml%2ev3", "wait(select)": "",
		"memmove": "",
	} {
		if have := packageOf(name); have != want {
			t.Errorf("%s: have package %q, want %q", name, have, want)
		}
	}
	for name, want := range map[string]string{
		"a.F.func12": "a.F.func", "a.F.func1.2": "a.F.func.", "a.F-range3": "a.F-range", "a.F12": "a.F12",
		"a.init.0": "a.init.", "a.F": "a.F", "a.F.func1.deferwrap2": "a.F.func.deferwrap",
	} {
		if have := unnumbered(name); have != want {
			t.Errorf("%s: have %q, want %q", name, have, want)
		}
	}
	for name, want := range map[string]string{
		"_cgoexp_da27500965f7_step": "_cgoexp_step", "m.org/p._cgoexpwrap_da27500965f7_T_M": "m.org/p._cgoexpwrap_T_M",
		"main._cgoexp_f": "main._cgoexp_f", "main.a_cgoexp_da27500965f7_f": "main.a_cgoexp_da27500965f7_f",
		"_cgoexp_da27500965f7": "_cgoexp_da27500965f7",
	} {
		if have := exported(name); have != want {
			t.Errorf("%s: have %q, want %q", name, have, want)
		}
	}
	var tree Tree
	one := tree.Sum(tree.Add(tree.Root("[cgo]"), Frame{Func: "_cgoexp_da27500965f7_step"}))
	other := tree.Sum(tree.Add(tree.Root("[cgo]"), Frame{Func: "_cgoexp_e780bd1fee59_step"}))
	if one != other {
		t.Error("another hash of cgo's makes another fingerprint")
	}
}

// TestFound makes two contexts with one fingerprint, below two texts that are known to have one hash.
func TestFound(t *testing.T) {
	var tree Tree
	var sums []Sum
	for _, root := range []string{"8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ", "[main]"} {
		sums = append(sums, tree.Sum(enter(&tree, root+"|main.main")))
	}
	if pairs := Collisions(sums); sums[0].Functions != sums[1].Functions || len(pairs) != 1 {
		t.Errorf("have %v, with collisions %v", sums, pairs)
	}
}

// TestCollisions checks that two texts with one fingerprint are found, and equal texts are none.
func TestCollisions(t *testing.T) {
	sums := []Sum{{Functions: 5, check: 1}, {Functions: 4, check: 2}, {Functions: 5, check: 1}, {}, {check: 3},
		{Functions: 5, check: 9}, {Functions: 5, check: 8}, {Functions: 7, check: 1}}
	pairs := Collisions(sums)
	if len(pairs) != 1 || sums[pairs[0][0]].Functions != 5 || sums[pairs[0][0]].check == sums[pairs[0][1]].check {
		t.Errorf("have %v, want one pair with fingerprint 5", pairs)
	}
	var set Set
	for _, s := range sums[:3] {
		set.Add(s)
	}
	if set.N != 0 {
		t.Errorf("have %d collisions, want none", set.N)
	}
	for range 2 {
		set.Add(sums[5])
	}
	if set.N != 1 || set.Value != 5 {
		t.Errorf("have %d collisions, of %v; want 1, of 5", set.N, set.Value)
	}
}

// TestFar has a path as only a hostile record has it: adapters that come a second time, none of which leads back, since
// the first of another one lies between.
func TestFar(t *testing.T) {
	const adapters = 4000
	var tree Tree
	n := tree.Root("[main]")
	for i := range 2*adapters - 1 {
		n = tree.Add(n, Frame{Func: fmt.Sprint("main.adapter", i%adapters), Kind: Adapter, Line: 1})
	}
	if have := len(tree.entries); have != 2*adapters {
		t.Errorf("%d entries, want %d", have, 2*adapters)
	}
}
