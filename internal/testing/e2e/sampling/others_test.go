package sampling

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// TestOthers asks for samples of other goroutines, which wait, run, make system calls, and ask for samples themselves:
// each is found where it is, down to its outermost frame, and no goroutine without the label is.
func TestOthers(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.BuildDir(t, "testdata/others", "-engine=sample")
	for _, env := range e2e.Few(2,
		[]string{"STEMMA_SAMPLING=start=off"},
		[]string{"STEMMA_SAMPLING=every=20us", "STEMMA_TRACE_CHECK=throw", "GOMAXPROCS=4"},
		[]string{"STEMMA_SAMPLING=start=off", "GOMAXPROCS=1"},
		[]string{"STEMMA_SAMPLING=sampler=sps", "GOGC=1"},
	) {
		t.Run(strings.Join(env, ","), func(t *testing.T) {
			r := e2e.Run(t, exe, env...)
			r.OK(t)
			if r.Stdout != "took 1200 and 0\n" {
				t.Errorf("output %q, want 200 times 6 goroutines", r.Stdout)
			}
			checkOthers(t, r.Read(t))
		})
	}
}

// checkOthers looks for each of the six functions in each of the 200 requests.
func checkOthers(t *testing.T, p *profile.Profile) {
	t.Helper()
	for id := range uint64(200) {
		list := p.RequestsOf(id + 1)
		if len(list) != 6 {
			t.Fatalf("request %d has %d samples, want 6", id+1, len(list))
		}
		where := ""
		for _, q := range list {
			stack := namesOf(p, q)
			if q.Pending || !strings.HasSuffix(stack, "runtime/pprof.Do main.labelled.func1") {
				t.Fatalf("request %d: %+v has the stack %s", id+1, q, e2e.Tail(stack))
			}
			where += stack + "\n"
		}
		for _, f := range []string{"parked", "locked", "reading", "spinning", "calling", "asking"} {
			if strings.Count(where, " main."+f+" ")+strings.Count(where, "\nmain."+f+" ") == 0 &&
				!strings.HasPrefix(where, "main."+f+" ") {
				t.Fatalf("request %d: nobody is in %s:\n%s", id+1, f, where)
			}
		}
	}
}

// namesOf returns the functions of a request, innermost first.
func namesOf(p *profile.Profile, q profile.Request) string {
	var names []string
	for _, f := range p.Stack(q.Node) {
		names = append(names, p.String(f.Func))
	}
	return strings.Join(names, " ")
}
