package tree

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// TestDeterministic runs a program whose calls depend on all that the runtime draws at random:
// all contexts have the same counts in each run, beside a busy loop and whatever GOMAXPROCS
// says. Without the variable no two runs agree.
func TestDeterministic(t *testing.T) {
	e2e.NeedMore(t)
	exe, runs := e2e.Build(t, "random"), 4
	if e2e.Full() {
		runs = 10
	}
	busy := exec.Command("nice", "sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	defer busy.Wait()
	defer busy.Process.Kill()
	// On a machine with more to do than CPUs a run in some hundreds may differ.
	var first string
	e2e.Retry(t, func() (err error) {
		first, err = repeats(t, exe, runs, "STEMMA_DETERMINISTIC=1")
		return err
	})
	e2e.Retry(t, func() error {
		_, err := repeats(t, exe, 3, "STEMMA_DETERMINISTIC=clock")
		return err
	})
	for _, env := range []string{"STEMMA_DETERMINISTIC=0", "STEMMA_DETERMINISTIC="} {
		if r := e2e.Run(t, exe, env); contexts(r.Read(t)) == first {
			t.Errorf("%s: the same counts; want others, as the program is random", env)
		}
	}
}

// repeats runs a program, whatever GOMAXPROCS says, and returns the counts that all runs must have.
func repeats(t *testing.T, exe string, runs int, env ...string) (first string, err error) {
	for n := range runs {
		r := e2e.Run(t, exe, append(env, fmt.Sprint("GOMAXPROCS=", n+1))...)
		r.OK(t)
		counts := contexts(r.Read(t))
		if first == "" {
			first = counts
		}
		if counts != first {
			return "", fmt.Errorf("%v, run %d: %s", env, n, firstDifference(first, counts))
		}
	}
	return first, nil
}

// TestDeterministicHashes runs a program with and without the processor's instructions for AES. With them, each
// architecture would hash in its own way.
func TestDeterministicHashes(t *testing.T) {
	exe := e2e.Build(t, "random")
	var counts [2]string
	for i, aes := range []string{"on", "off"} {
		r := e2e.Run(t, exe, "STEMMA_DETERMINISTIC=1", "GODEBUG=cpu.aes="+aes)
		r.OK(t)
		counts[i] = contexts(r.Read(t))
	}
	if counts[0] != counts[1] {
		t.Errorf("without AES: %s", firstDifference(counts[0], counts[1]))
	}
}

// TestDeterministicMallocs runs a program with C: what malloc returns does not depend on the thread. The program sees
// the environment of its user.
func TestDeterministicMallocs(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.Build(t, "mallocs")
	const users = "glibc.malloc.perturb=0:glibc.malloc.trim_threshold=100000"
	for _, env := range []string{"", users} {
		r := e2e.Run(t, exe, "STEMMA_DETERMINISTIC=1", "GLIBC_TUNABLES="+env)
		r.OK(t)
		if r.Stdout == "random\n" {
			t.Skip("the kernel does not allow personality(ADDR_NO_RANDOMIZE), as in containers; run it elsewhere")
		}
		if want := fmt.Sprintf("%q\n%q\n", env, env); r.Stdout != want {
			t.Errorf("GLIBC_TUNABLES is %s, want %s", r.Stdout, want)
		}
	}
	for _, env := range []string{"OTHER=", "GLIBC_TUNABLES=" + users} {
		e2e.Retry(t, func() error {
			_, err := repeats(t, exe, 5, "STEMMA_DETERMINISTIC=1", env)
			return err
		})
	}
}

// contexts returns all contexts with their counts.
func contexts(p *profile.Profile) string {
	tree := cct.New(p)
	var b strings.Builder
	for i, n := range tree.Nodes {
		if n.Count > 0 {
			fmt.Fprintf(&b, "%d %v\n", n.Count, tree.Stack(uint32(i)))
		}
	}
	return b.String()
}

func firstDifference(a, b string) string {
	for line := range strings.Lines(a) {
		if !strings.Contains(b, line) {
			return "not there: " + line
		}
	}
	return "more contexts"
}

// TestDeterministicWaits runs goroutines that wait for one another by looking at memory, and for
// a child in a system call: they must lose the P although there is one and nobody else wants it.
func TestDeterministicWaits(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.Build(t, "waits")
	cmd := e2e.Command(t, t.TempDir(), exe, "STEMMA_DETERMINISTIC=1")
	timer := time.AfterFunc(5*time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	out, err := cmd.Output()
	if err != nil || string(out) != "spun\nread\n" {
		t.Errorf("have %v and %q, want both waits to end", err, out)
	}
}

// TestDeterministicSeries runs a program that starts more goroutines if it is told to: what the others draw stays.
func TestDeterministicSeries(t *testing.T) {
	exe := e2e.Build(t, "series")
	var outputs []string
	for _, env := range []string{"LESS=1", "MORE=1"} {
		r := e2e.Run(t, exe, "STEMMA_DETERMINISTIC=1", env)
		r.OK(t)
		outputs = append(outputs, r.Stdout)
	}
	if outputs[0] != outputs[1] {
		t.Errorf("have\n%swith more goroutines, want\n%s", outputs[1], outputs[0])
	}
}
