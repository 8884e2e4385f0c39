package profile_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/stemma-go/stemma/profile"
)

// calls is the text form of a small profile: main.main calls main.work from two places.
const calls = `stemma profile 2
record 0 run 00000000000000a1
process 0 args "./app" run 00000000000000a1 pid 7 go "go1.26.8" engine "cct"
func 0 kind root name "stemma.root" cells 10 counters 1
func 1 name "main.main" file "main.go" line 10 cells 2 counters 1
	site 0 kind call callee "main.work" file "main.go" line 12 cell 0
	site 1 kind call callee "main.work" file "main.go" line 13 cell 1
func 2 name "main.work" file "main.go" line 20 counters 1
value 0 name "calls" unit "count" about "the calls" flags perCounter
node 0 calls 0
node 1 func 1 parent 0 calls 1
node 2 func 2 parent 1 calls 3
node 3 func 2 parent 1 cell 1 calls 4
`

// parsed returns a profile with that text form.
func parsed(text string) *profile.Profile {
	p, err := profile.ParseText(bytes.NewReader([]byte(text)))
	if err != nil {
		log.Fatal(err)
	}
	return p
}

// A sealed file, as 'stemma run' and 'stemma seal' write it, is read whole. Each node is a function in one context; the
// nodes up to the root are the context.
func ExampleRead() {
	var file bytes.Buffer // or os.Open("app.stemma")
	if err := parsed(calls).Write(&file); err != nil {
		log.Fatal(err)
	}
	p, err := profile.Read(&file)
	if err != nil {
		log.Fatal(err)
	}
	for i := 1; i < len(p.Nodes); i++ {
		fmt.Printf("%4d", p.NodeCounts(i)[0])
		for n := uint32(i); n != 0; n = p.Nodes[n].Parent {
			fmt.Print(" ", p.String(p.Funcs[p.Nodes[n].Func].Name))
		}
		fmt.Println()
	}
	// Output:
	//    1 main.main
	//    3 main.work main.main
	//    4 main.work main.main
}

// The contexts of a profile, each with its stack.
func ExampleProfile_Contexts() {
	for c := range parsed(calls).Contexts() {
		fmt.Print(c.Calls(), " calls:")
		for f := range c.Stack() {
			fmt.Printf(" %s:%d", f.Func, f.Line)
		}
		fmt.Printf(" [%s]\n", c.Root())
	}
	// Output:
	// 1 calls: main.main:10 [main]
	// 3 calls: main.work:20 main.main:12 [main]
	// 4 calls: main.work:20 main.main:13 [main]
}

// Profiles of several runs add up: a context that both have is one node.
func ExampleMerge() {
	other := strings.ReplaceAll(calls, "run 00000000000000a1", "run 00000000000000a2") // records of one run count once
	p, err := profile.Merge(parsed(calls), parsed(other))
	if err != nil {
		log.Fatal(err)
	}
	var sum uint64
	for i := range p.Nodes {
		sum += p.NodeCounts(i)[0]
	}
	fmt.Println(len(p.Nodes), "nodes,", sum, "calls")
	// Output: 4 nodes, 16 calls
}

// A profile has a column for each metric that was recorded.
func ExampleProfile_Column() {
	text, err := os.ReadFile("testdata/allocs.txt")
	if err != nil {
		log.Fatal(err)
	}
	p := parsed(string(text))
	for _, m := range profile.Metrics {
		if c := p.Column(m.Name); c != nil && !c.PerCounter {
			fmt.Printf("%s: %d, in %s\n", c.Name, p.Total(c.Metric), c.Unit)
		}
	}
	// Output:
	// alloc_space: 248, in bytes
	// alloc_objects: 10, in count
}
