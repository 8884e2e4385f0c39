package tree

import (
	"fmt"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// below returns the sum of a value in and below the contexts of a function, and what of it
// was allocated of a type.
func below(t *testing.T, p *profile.Profile, value profile.Metric, function, typ string) (sum, ofType uint64) {
	t.Helper()
	tree, err := cct.Of(p, value.Name)
	if err != nil {
		t.Fatal(err)
	}
	in := make([]bool, len(tree.Nodes))
	for i, n := range tree.Nodes[1:] {
		f := tree.Funcs[n.Func]
		in[i+1] = in[n.Parent] || f.Name == function
		if !in[i+1] {
			continue
		}
		sum += n.Count
		if f.Name == "new("+typ+")" {
			ofType += n.Count
		}
	}
	return sum, ofType
}

// TestAllocations compares what is counted below a function with what runtime.MemStats says, and the
// objects of types that are allocated in several goroutines at once, while the collector runs, with their number.
func TestAllocations(t *testing.T) {
	exe := e2e.Build(t, "alloc", "-metrics=calls,alloc")
	for _, procs := range []int{1, 4} {
		t.Run(fmt.Sprint("procs=", procs), func(t *testing.T) {
			e2e.Retry(t, func() error {
				r := e2e.Run(t, exe, fmt.Sprint("GOMAXPROCS=", procs))
				r.OK(t)
				return checkAllocations(t, r, procs > 1)
			})
		})
	}
}

// TestAllocationsVerified does the same in a build that compares each context with a stack.
func TestAllocationsVerified(t *testing.T) {
	e2e.NeedFull(t)
	exe := e2e.Build(t, "alloc", "-metrics=calls,alloc", "-verify")
	e2e.Retry(t, func() error {
		r := e2e.Run(t, exe, "GOMAXPROCS=1")
		r.OK(t)
		r.Verify(t)
		return checkAllocations(t, r, false)
	})
}

// TestAllocationsOfC counts what Go allocates that C has called.
func TestAllocationsOfC(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.Build(t, "cgoalloc", "-metrics=calls,alloc")
	e2e.Retry(t, func() error {
		r := e2e.Run(t, exe, "GOMAXPROCS=1")
		r.OK(t)
		p := r.Read(t)
		for _, typ := range []string{"main.counted", "main.tiny"} {
			for root, want := range map[string]uint64{"main.single": 100 * 2 * 5, "[cgo]": 4 * 250} {
				if _, have := below(t, p, profile.AllocObjects, root, typ); have != want {
					return fmt.Errorf("%d objects of type %s below %s, want %d", have, typ, root, want)
				}
			}
		}
		return checkSingle(t, r, p, false)
	})
}

// checkAllocations checks one run.
func checkAllocations(t *testing.T, r e2e.Result, threads bool) error {
	p := r.Read(t)
	for _, typ := range []string{"main.counted", "main.countedTiny"} {
		if _, have := below(t, p, profile.AllocObjects, "main.worker", typ); have != 8*20000 {
			return fmt.Errorf("%d objects of type %s, want %d", have, typ, 8*20000)
		}
	}
	if err := checkSwitched(t, p); err != nil {
		return err
	}
	return checkSingle(t, r, p, threads)
}

// checkSwitched looks at what mcall runs. It does not return, and nothing on g0 is called from there.
func checkSwitched(t *testing.T, p *profile.Profile) error {
	tree, err := cct.Of(p, "")
	if err != nil {
		t.Fatal(err)
	}
	const name = "runtime.gosched_m"
	found := 0
	for _, n := range tree.Nodes[1:] {
		if tree.Funcs[n.Func].Name != name {
			continue
		}
		found++
		if parent := tree.Nodes[n.Parent]; tree.Funcs[parent.Func].Name != "[other]" {
			return fmt.Errorf("%s is called from %s", name, tree.Funcs[parent.Func].Name)
		}
	}
	if found == 0 {
		return fmt.Errorf("no context of %s", name)
	}
	return nil
}

// checkSingle compares what was allocated below main.single with what the program says. The scheduler allocates for new
// threads, in contexts of its own; with one P it has no reason to, unless the machine is so busy that it takes the P
// away.
func checkSingle(t *testing.T, r e2e.Result, p *profile.Profile, threads bool) error {
	t.Helper()
	e2e.NoLoss(t, p)
	var allocs, alloc uint64
	if _, err := fmt.Sscanf(r.Stdout, "single allocs %d alloc %d", &allocs, &alloc); err != nil {
		return fmt.Errorf("%w\n%s", err, r.Stdout)
	}
	want := map[string]uint64{profile.AllocObjects.Name: allocs, profile.AllocSpace.Name: alloc}
	for _, value := range []profile.Metric{profile.AllocObjects, profile.AllocSpace} {
		have, _ := below(t, p, value, "main.single", "")
		more := uint64(0)
		if threads {
			for _, root := range []string{"[other]", "[timer]", "[go]"} {
				n, _ := below(t, p, value, root, "")
				more += n
			}
		}
		if want := want[value.Name]; have > want || have+more < want || have == 0 {
			return fmt.Errorf("%s: %d below main.single and %d in the runtime, runtime.MemStats has %d", value.Name,
				have, more, want)
		}
	}
	return nil
}
