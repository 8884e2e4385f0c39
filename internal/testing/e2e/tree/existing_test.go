package tree

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// TestExisting compares the goroutines that exist when a program ends, while it runs, and after it was killed, with
// those that package runtime prints: their reasons to wait, their functions, and the function that started each.
func TestExisting(t *testing.T) {
	exe := e2e.Build(t, "existing", "-metrics=calls,wait,existing")
	for _, env := range []string{"GOMAXPROCS=1", "GOMAXPROCS=4 GOGC=1", "GODEBUG=asyncpreemptoff=1"} {
		t.Run(env, func(t *testing.T) {
			begin := time.Now()
			r := e2e.Run(t, exe, strings.Fields(env)...)
			r.OK(t)
			p := r.Read(t)
			e2e.NoLoss(t, p)
			compareGoroutines(t, p, r.Stdout, time.Since(begin))
		})
	}
	t.Run("running", func(t *testing.T) { testRunning(t, exe) })
}

// testRunning reads the record of the program while it runs, and when it was killed.
func testRunning(t *testing.T, exe string) {
	begin, out := time.Now(), t.TempDir()
	cmd := e2e.Command(t, out, exe, "KEEP=1")
	stdout, in := e2e.Ready(t, cmd)
	defer in.Close()
	for _, when := range []string{"while it runs", "when it was killed"} {
		r, err := record.Open(os.DirFS(e2e.LiveDir(out, cmd)))
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		compareGoroutines(t, r.Profile, stdout, time.Since(begin))
		if when == "while it runs" {
			cmd.Process.Kill()
			cmd.Wait()
		}
	}
}

// compareGoroutines compares what p says of goroutines with the stacks that the program printed. None of them waits
// for longer than life.
func compareGoroutines(t *testing.T, p *profile.Profile, stacks string, life time.Duration) {
	t.Helper()
	have, want := goroutinesOf(t, p), goroutinesIn(t, stacks)
	if len(want) < 10 {
		t.Fatalf("the program has told of %d kinds of goroutines:\n%s", len(want), stacks)
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if have[key] != want[key] {
			t.Errorf("%s: have %d goroutines, want %d", key, have[key], want[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(have)) {
		if want[key] == 0 {
			t.Errorf("%s: have %d goroutines, want none", key, have[key])
		}
	}
	existing, idle := p.Column(profile.Existing.Name), p.Column(profile.Idle.Name)
	for i, n := range existing.Values {
		name := p.String(p.Funcs[p.Nodes[i].Func].Name)
		if most := n * uint64(life); idle.Values[i] > most || n > 0 && name != "running" && idle.Values[i] == 0 {
			t.Errorf("%s: %d goroutines have waited for %d ns, want more than 0 and at most %d", name, n,
				idle.Values[i], most)
		}
	}
}

// goroutinesOf returns how many goroutines there are of each kind: what they wait for, their functions of package main,
// and who started them. The main goroutine, which goes on after it has told, is left out.
func goroutinesOf(t *testing.T, p *profile.Profile) map[string]uint64 {
	t.Helper()
	tree, err := cct.Of(p, profile.Existing.Name)
	if err != nil {
		t.Fatal(err)
	}
	list := make(map[string]uint64)
	for i, n := range tree.Nodes {
		if n.Count == 0 {
			continue
		}
		stack := tree.Stack(uint32(i))
		key := strings.TrimSuffix(strings.TrimPrefix(stack[0].Func, "goroutine("), ")")
		end := slices.IndexFunc(stack, func(f cct.Frame) bool { return f.Via == cct.ViaGo })
		if end < 0 {
			continue
		}
		for _, f := range stack[1 : end+1] {
			key = addFunction(key, f.Func)
		}
		list[key+" by "+stack[end+1].Func] += n.Count
	}
	return list
}

// addFunction adds a function to a key, if it is of package main. Of recursion it has one call.
func addFunction(key, name string) string {
	if !strings.HasPrefix(name, "main.") || strings.HasSuffix(key, " "+name) {
		return key
	}
	return key + " " + name
}

// The lines of a goroutine that package runtime prints.
var (
	headLine    = regexp.MustCompile(`^goroutine \d+ \[([^],]*)`)
	frameLine   = regexp.MustCompile(`^(main\..*)\(.*\)$`)
	creatorLine = regexp.MustCompile(`^created by (\S+)`)
)

// goroutinesIn is goroutinesOf for the stacks that package runtime prints.
func goroutinesIn(t *testing.T, stacks string) map[string]uint64 {
	t.Helper()
	list, key := make(map[string]uint64), ""
	for line := range strings.Lines(stacks) {
		line = strings.TrimSuffix(line, "\n")
		if m := headLine.FindStringSubmatch(line); m != nil {
			key = m[1]
		} else if m := frameLine.FindStringSubmatch(line); m != nil {
			key = addFunction(key, m[1])
		} else if m := creatorLine.FindStringSubmatch(line); m != nil {
			list[key+" by "+m[1]]++
		}
	}
	return list
}
