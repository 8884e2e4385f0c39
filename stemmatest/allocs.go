package stemmatest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/diff"
	"github.com/stemma-go/stemma/profile"
)

// An Allocated is what a function has allocated on the heap. As a Count it is the number of all allocations.
type Allocated struct {
	Count
	number, bytes *cct.Tree
}

// Allocs calls f and counts what it allocates, with all that it calls, as [Calls] counts calls. The test must be run
// with
//
//	stemma test -metrics=calls,alloc
//
// and is skipped otherwise. What is freed later counts as well; what the compiler puts on the stack does not.
func Allocs(t testing.TB, f func()) *Allocated {
	t.Helper()
	needCounts(t)
	l := take(t)
	defer l.release()
	p, err := l.record(f)
	if err != nil {
		t.Fatalf("stemmatest: %v", err)
	}
	if !p.Has(profile.AllocObjects) {
		t.Skipf("stemmatest: allocations are counted if they are recorded; run %s", command(t, "-metrics=calls,alloc "))
	}
	a := &Allocated{}
	for _, v := range []struct {
		name string
		tree **cct.Tree
	}{{profile.AllocObjects.Name, &a.number}, {profile.AllocSpace.Name, &a.bytes}} {
		if *v.tree, err = cct.Of(p, v.name); err != nil {
			t.Fatalf("stemmatest: %v", err)
		}
	}
	a.Count = newCount(t, a.number, "allocations", everything)
	return a
}

// Of returns the number of allocations of types whose names match the pattern, as stemma report -by=type shows
// them, without new(): []int, idx.node. The package may be left out. Memory without a type, such as that of strings,
// is bytes. A type without allocations has 0, and so has a misspelled name: assert with AtLeast that there are
// some, or look at the report first.
func (a *Allocated) Of(pattern string) Count {
	a.t.Helper()
	return newCount(a.t, a.number, "allocations of "+pattern, ofType(a.t, pattern))
}

// Bytes returns the number of bytes that allocations took, of all types or of those that match a pattern.
func (a *Allocated) Bytes(pattern ...string) Count {
	a.t.Helper()
	if len(pattern) == 0 {
		return newCount(a.t, a.bytes, "bytes", everything)
	}
	return newCount(a.t, a.bytes, "bytes of "+pattern[0], ofType(a.t, pattern[0]))
}

// ofType returns the nodes whose functions stand for a type that matches a pattern.
func ofType(t testing.TB, pattern string) filter {
	t.Helper()
	p, err := diff.NewPattern(pattern)
	if err != nil {
		t.Fatalf("stemmatest: Of(%q): %v", pattern, err)
	}
	match := func(name string) bool {
		name, ok := strings.CutPrefix(name, "new(")
		name = strings.TrimSuffix(name, ")")
		if !ok {
			return false
		}
		// Stars and brackets stand before the package.
		begin := len(name) - len(strings.TrimLeft(name, "*[]0123456789"))
		_, own, ok := strings.Cut(untyped(name[begin:]), ".")
		return p.Match(name) || ok && p.Match(name[:begin]+own+name[begin+len(untyped(name[begin:])):])
	}
	return filter{match, !strings.Contains(pattern, "*")}
}

// command returns the command that runs this test.
func command(t testing.TB, flags string) string {
	return fmt.Sprintf("stemma test %s-run '^%s$'", flags, strings.ReplaceAll(t.Name(), "/", "$/^"))
}
