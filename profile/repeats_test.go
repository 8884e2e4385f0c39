package profile_test

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stemma-go/stemma/profile"
)

// aRun returns a run in which main.main calls main.f as often as n says, and main.f main.g if there is m.
func aRun(t *testing.T, run, n, m int, replace ...string) *profile.Profile {
	t.Helper()
	text := fmt.Sprintf(`stemma profile 2
record 0 run %016[1]x
process 0 args "prog" run %016[1]x pid 7 go "go1.26.8" engine "cct"
func 0 kind root name "root" cells 10 counters 1
func 1 name "main.main" file "main.go" line 3 cells 1 counters 2
	inlined 0 callee "main.in" file "main.go" line 4 counter 1 beginsFile "main.go" beginsLine 9
	site 0 kind call callee "main.f" file "main.go" line 5 cell 0
func 2 name "main.f" file "main.go" line 20 cells 1 counters 1
	site 0 kind call callee "main.g" file "main.go" line 21 cell 0
func 3 name "main.g" file "main.go" line 30 counters 1
value 0 name "calls" unit "count" about "the calls" flags perCounter
value 1 name "bytes" unit "bytes" about "the bytes"
value 2 name "wait" unit "nanoseconds" about "the time not running"
node 0 calls 0
node 1 func 1 parent 0 calls 1,7 bytes %[2]d wait %[2]d
node 2 func 2 parent 1 calls %[2]d
`, run, n)
	if m > 0 {
		text += fmt.Sprintf("node 3 func 3 parent 2 calls %d\n", m)
	}
	p, err := profile.ParseText(strings.NewReader(strings.NewReplacer(replace...).Replace(text)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// each yields runs, as who reads them one by one.
func each(runs ...*profile.Profile) iter.Seq2[*profile.Profile, error] {
	return func(yield func(*profile.Profile, error) bool) {
		for _, p := range runs {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// TestRepeats compares three runs: the counts are those of the first, what varies is the largest difference,
// of a time nothing is said.
func TestRepeats(t *testing.T) {
	p, err := profile.Repeats(each(aRun(t, 1, 10, 0), aRun(t, 2, 14, 3), aRun(t, 3, 9, 0)))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	text := mustText(t, p)
	for _, want := range []string{
		`value 0 name "calls" unit "count" about "the calls" flags perCounter`,
		`value 3 name "calls.varies" unit "count" about "the calls that vary from run to run" flags perCounter`,
		`value 4 name "bytes.varies" unit "bytes"`,
		"calls 1,7 wait 10 bytes 10 calls.varies 0,0 bytes.varies 5\n",
		"calls 10 calls.varies 5\n",
		"calls 0 calls.varies 3\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "wait.varies") || strings.Contains(text, "run1") || len(p.Processes) != 3 {
		t.Errorf("%d processes, want 3, and nothing else of a run:\n%s", len(p.Processes), text)
	}
	again, err := profile.ParseText(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if mustText(t, again) != text {
		t.Error("the text is another one when it is read and written")
	}
}

func TestRepeatsOfOthers(t *testing.T) {
	one := aRun(t, 1, 1, 0)
	for want, runs := range map[string][]*profile.Profile{
		"have 1 run, want at least 2":  {one},
		"run 2 is there twice":         {one, aRun(t, 1, 2, 0)},
		"run 2 has another kind":       {one, aRun(t, 2, 1, 0, `engine "cct"`, `engine "cct" flags full`)},
		"is in run 1 or in run 2 only": {one, aRun(t, 2, 1, 0, `"bytes"`, `"more"`, " bytes ", " more ")},
		"run 2 is of another build than the runs before: main.f is not the same function there": {one,
			aRun(t, 2, 1, 0, `site 0 kind call callee "main.g" file "main.go" line 21`,
				`site 0 kind call callee "main.g" file "main.go" line 22`)},
		"run 3 is of another build than the runs before: main.g": {one, aRun(t, 2, 1, 1),
			aRun(t, 3, 1, 1, `"main.go" line 30`, `"main.go" line 31`)},
		"bytes is {Name:bytes": {one, aRun(t, 2, 1, 0, `about "the bytes"`, `about "others"`)},
	} {
		if _, err := profile.Repeats(each(runs...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	unread := errors.New("not there")
	_, err := profile.Repeats(func(yield func(*profile.Profile, error) bool) {
		if yield(one, nil) && yield(nil, unread) {
			t.Error("asked for another run after an error")
		}
	})
	if err != unread {
		t.Errorf("error %v, want %v", err, unread)
	}
}

// TestRepeatsKeepsNone fails if a run is kept when the next one is wanted.
func TestRepeatsKeepsNone(t *testing.T) {
	const runs = 6
	var ended atomic.Int64
	_, err := profile.Repeats(func(yield func(*profile.Profile, error) bool) {
		for i := range runs {
			p := aRun(t, i+1, 10, i)
			runtime.AddCleanup(p, func(*atomic.Int64) { ended.Add(1) }, &ended)
			if !yield(p, nil) {
				return
			}
		}
		for range 5000 {
			if runtime.GC(); ended.Load() >= runs-1 {
				return
			}
			time.Sleep(time.Millisecond)
		}
		t.Errorf("%d of %d runs are gone before the end, want all but the last", ended.Load(), runs)
	})
	if err != nil {
		t.Fatal(err)
	}
}
