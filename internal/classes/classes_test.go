package classes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/classes"
	"github.com/stemma-go/stemma/profile"
)

// classesText is a record of a main module without a dot in its path, that calls Go's own packages and
// a module of the cache, which call it back. GOROOT stands for where Go is, HOME for the main module's
// parent directory.
const classesText = `stemma profile 2
record 0 run 00000000000000a1
process 0 args "prog" run 00000000000000a1 pid 7 go "go1.26.8" engine "cct"
func 0 kind root name "root" cells 10 counters 1
func 1 name "main.main" file "HOMEshop/cmd/main.go" line 3 cells 4 counters 3
	inlined 0 callee "shop/db.Open" file "HOMEshop/cmd/main.go" line 4 counter 1 beginsFile "HOMEshop/db.go" beginsLine 9
	site 0 kind call callee "sort.Slice" file "HOMEshop/cmd/main.go" line 5 cell 0
	site 1 kind native callee "runtime.mapaccess1" file "HOMEshop/cmd/main.go" line 6 counter 2
	site 2 kind call callee "example.com/x.F" file "HOMEshop/cmd/main.go" line 7 cell 1
	site 3 kind call callee "internal/poll.Wait" file "HOMEshop/cmd/main.go" line 8 cell 2
	site 4 kind call callee "shop/db.Get" file "HOMEshop/cmd/main.go" line 9 cell 3
func 2 name "sort.Slice" file "GOROOTsort/slice.go" line 20 cells 1 counters 2
	site 0 kind call file "GOROOTsort/slice.go" line 21 cell 0
	site 1 kind native callee "runtime.memmove" file "GOROOTsort/slice.go" line 22 counter 1
func 3 name "main.main.func1" file "HOMEshop/cmd/main.go" line 5 counters 1
func 4 name "example.com/x.F" file "CACHEx.go" line 1 counters 1
func 5 name "internal/poll.Wait" file "GOROOTinternal/poll/wait.go" line 1 counters 1
func 6 name "shop/db.Get" file "HOMEshop/db/get.go" line 1 counters 1
value 0 name "calls" unit "count" about "the calls" flags perCounter
node 0 calls 0
node 1 func 1 parent 0 calls 1,10,20
node 2 func 2 parent 1 calls 30,3
node 3 func 3 parent 2 calls 400
node 4 func 4 parent 1 cell 1 calls 50
node 5 func 5 parent 1 cell 2 calls 60
node 6 func 6 parent 1 cell 3 calls 700
`

// TestClasses holds CCCP's table 2 of a small program, built as usual, with a vendor directory,
// and with -trimpath, where Go's own packages are known by their names.
func TestClasses(t *testing.T) {
	const table = "application→application 710 2; application→library 140 3; application→native 20 1; " +
		"library→application 400 1; library→native 3 1; outside→application 1 1; "
	for _, test := range []struct {
		name, goroot, home, cache, app, want string
	}{
		{"default", "/usr/local/go/src/", "/home/user/", "/home/user/go/pkg/mod/example.com/x@v1.2.3/", "",
			table},
		{"vendor", "/usr/local/go/src/", "/home/user/", "/home/user/shop/vendor/example.com/x/", "",
			table},
		{"trimmed", "", "", "example.com/x@v1.2.3/", "",
			table},
		{"pattern", "/usr/local/go/src/", "/home/user/", "/x/", "sort.",
			"application→library 400 1; application→native 3 1; library→application 30 1; " +
				"library→library 820 4; library→native 20 1; outside→library 1 1; "},
	} {
		text := strings.NewReplacer("GOROOT", test.goroot, "HOME", test.home, "CACHE", test.cache).Replace(classesText)
		p, err := profile.ParseText(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		tree := cct.New(p)
		app := classes.Application(tree)
		if test.app != "" {
			app = func(fn uint32) bool { return strings.HasPrefix(tree.Funcs[fn].Name, test.app) }
		}
		have, sum := "", uint64(0)
		for _, c := range classes.Of(tree, app) {
			have += fmt.Sprintf("%s→%s %d %d; ", c.Caller, c.Callee, c.Calls, c.Contexts)
			sum += c.Calls
		}
		if have != test.want {
			t.Errorf("%s:\nhave %s\nwant %s", test.name, have, test.want)
		}
		if want := tree.Totals().Calls; sum != want {
			t.Errorf("%s: classes have %d calls, want %d", test.name, sum, want)
		}
	}
}
