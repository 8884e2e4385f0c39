package contexts

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// paces are the environments in which the programs of the tests below run: with
// re-encoding at their own pace, and forced.
var paces = []struct{ name, env string }{{"own", "STEMMA_REENCODE_US=0"}, {"forced", "STEMMA_REENCODE_US=1000"}}

// noChecks is the environment of a program that has the checker, and does not use it: so all tests here share the
// standard library of such a build.
const noChecks = "STEMMA_CHECK_EVERY=1000000000"

// buildEncoded builds a program with context IDs and the checker.
func buildEncoded(t *testing.T, name string) string {
	t.Helper()
	return e2e.Build(t, name, "-engine=dacce", "-verify")
}

// TestEncoded checks the context at every function entry and go statement of the
// programs that TestComplete and TestExact run.
func TestEncoded(t *testing.T) {
	for _, name := range e2e.Few(5, "calls", "defers", "cgo", "here", "asm", "goroutines", "initorder") {
		exe := buildEncoded(t, name)
		for _, pace := range paces {
			t.Run(name+"/"+pace.name, func(t *testing.T) {
				every := "STEMMA_CHECK_EVERY=1"
				if name == "goroutines" {
					every = "STEMMA_CHECK_EVERY=97" // it runs for long
				}
				r := e2e.Run(t, exe, pace.env, every)
				n, _ := r.Verify(t)
				t.Logf("%d contexts", n)
			})
		}
	}
}

// TestEncodedStorms disturbs a program while it is re-encoded every millisecond.
func TestEncodedStorms(t *testing.T) {
	exe := buildEncoded(t, "exact")
	for _, env := range e2e.Few(3,
		"GOMAXPROCS=2 DISTURB_GC=1 GOGC=1", "GOMAXPROCS=64", "DISTURB_PROCS=1 DISTURB_PREEMPT=1 DISTURB_GC=1",
		"GOMAXPROCS=1", "GOMAXPROCS=8 DISTURB_PREEMPT=1", "GODEBUG=gcstoptheworld=1 GOGC=1", "GODEBUG=gccheckmark=1",
		"GODEBUG=adaptivestackstart=0 DISTURB_GC=1",
	) {
		t.Run(env, func(t *testing.T) {
			r := e2e.Run(t, exe, append(strings.Fields(env), "STEMMA_REENCODE_US=1000", "STEMMA_CHECK_EVERY=97")...)
			r.OK(t)
			n, _ := r.Verify(t)
			s := r.Record(t).IDs.Stats
			t.Logf("%d checks, %d re-encodings, %d goroutines rewritten, longest stop %v", n, s.Reencodings,
				s.Rewrites, s.MaxPause)
			if s.Reencodings == 0 || s.Rewrites == 0 {
				t.Error("no re-encoding, or no goroutine that was rewritten")
			}
		})
	}
}

// checkSaid compares the IDs in the output of program here with the stacks that
// it printed beside them; it returns how many there were, and how many were cut.
func checkSaid(t *testing.T, dir, said string) (ids, cut int) {
	t.Helper()
	p, err := record.Open(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	d := decode.New(p)
	for line := range strings.Lines(said) {
		var id ctxid.ID
		var frames string
		if !strings.HasSuffix(line, "\n") {
			break // the program was killed
		}
		if n, _ := fmt.Sscanf(line, "%x %x %x %s", &id.Hi, &id.Lo, &id.Run, &frames); n != 4 {
			t.Fatalf("output %q", line)
		}
		s, err := d.Decode(id)
		if err != nil {
			t.Fatalf("%v; want %s", err, frames)
		}
		if ids++; s.Cut() != "" {
			cut++
		}
		want, open := callers(t, d.Walker(), frames)
		have := shortPath(s.Path())
		if open && len(have) > len(want) {
			have = have[:len(want)]
		}
		if s.Cut() != "" && len(want) > len(have) {
			want = want[:len(have)]
		}
		if strings.Join(have, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%x: have\n\t%s\nwant\n\t%s", id, strings.Join(have, "\n\t"), strings.Join(want, "\n\t"))
		}
	}
	return ids, cut
}

// callers reads what runtime.Callers said, without what contexts do not have.
// open tells that there may be more.
func callers(t *testing.T, w *cct.Walker, said string) (frames []string, open bool) {
	t.Helper()
	said, open = strings.CutSuffix(said, "?")
	var path []cct.PathFrame
	for f := range strings.SplitSeq(strings.TrimSuffix(said, ";"), ";") {
		parts := strings.Split(f, "|")
		line, err := strconv.Atoi(parts[1])
		if err != nil || len(parts) != 3 {
			t.Fatalf("frame %q", f)
		}
		path = append(path, cct.PathFrame{Func: cct.DisplayName(parts[0]), Line: line, Inlined: parts[2] == "true"})
	}
	return shortPath(w.Known(path)), open
}

func shortPath(path []cct.PathFrame) (list []string) {
	for _, f := range path {
		list = append(list, fmt.Sprintf("%s:%d", f.Func, f.Line))
	}
	return list
}

// TestHere decodes contexts that a program captured in all sorts of places.
func TestHere(t *testing.T) {
	exe := buildEncoded(t, "here")
	for _, pace := range paces {
		r := e2e.Run(t, exe, pace.env, "STEMMA_CHECK_EVERY=1000000")
		r.OK(t)
		if n, cut := checkSaid(t, r.Dir, r.Stdout); n < 30 || cut > 0 {
			t.Errorf("%s: %d contexts, %d of them cut", pace.name, n, cut)
		}
	}
}

// TestHereDeep recurs deeper than a ccStack can be: the contexts down there are
// cut, and say why.
func TestHereDeep(t *testing.T) {
	e2e.NeedFull(t)
	r := e2e.Run(t, buildEncoded(t, "here"), "HERE=deep", noChecks)
	r.OK(t)
	if n, cut := checkSaid(t, r.Dir, r.Stdout); n < 35 || cut != 1 {
		t.Errorf("%d contexts, %d of them cut", n, cut)
	}
}

// TestHereKilled kills a program that is re-encoded every millisecond: each ID
// that it had printed decodes.
func TestHereKilled(t *testing.T) {
	exe := buildEncoded(t, "here")
	ids := 0
	for runs := 0; runs < 20 || ids < 100 && runs < 400; runs++ { // on a machine that others use many print nothing
		out := t.TempDir()
		cmd := e2e.Command(t, out, exe, "STEMMA_REENCODE_US=1000", "HERE=loop")
		var said strings.Builder
		cmd.Stdout = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		life := time.Duration(10+rand.IntN(150)) * time.Millisecond * e2e.Slowness()
		kill := time.AfterFunc(life, func() { cmd.Process.Kill() })
		cmd.Wait()
		kill.Stop()
		if said.Len() > 0 {
			n, _ := checkSaid(t, e2e.LiveDir(out, cmd), said.String())
			ids += n
		}
	}
	t.Logf("%d IDs", ids)
	if ids < 100 {
		t.Errorf("only %d IDs were printed", ids)
	}
}

// TestHereNoDirectory runs a program that cannot record: it runs anyway.
func TestHereNoDirectory(t *testing.T) {
	exe := buildEncoded(t, "calls")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if r := e2e.RunIn(t, filepath.Join(file, "below"), exe); r.Err != nil {
		t.Fatalf("%v\n%s", r.Err, e2e.Tail(r.Stderr))
	}
}

// TestStacksFull gives thousands of recursions together less memory for ccStacks than
// they need: a context that found none is cut, and reports it. No capture reads what is
// not its own.
func TestStacksFull(t *testing.T) {
	if _, whole := cutStacks(t, buildEncoded(t, "stacks"), "STEMMA_CCSTACK_SIZE=25000000"); whole < 100 {
		t.Errorf("%d contexts are whole, want more", whole)
	}
}

// TestNodesFull records fewer contexts than thousands of recursions have.
func TestNodesFull(t *testing.T) {
	type bound struct {
		engine string
		nodes  int
	}
	for _, b := range e2e.Few(1, bound{"dacce", 1000}, bound{"lucce", 120}) {
		t.Run(b.engine, func(t *testing.T) {
			exe := e2e.Build(t, "stacks", "-engine="+b.engine, "-verify", fmt.Sprint("-nodes=", b.nodes))
			p, _ := cutStacks(t, exe, "")
			if n := len(p.IDs.Interned); n != b.nodes {
				t.Errorf("%d contexts are on record, want %d", n, b.nodes)
			}
		})
	}
}

// cutStacks runs program stacks, which has not enough room for its contexts: those that are decoded are whole, or show
// that they are cut.
func cutStacks(t *testing.T, exe, env string) (p *record.Record, whole int) {
	t.Helper()
	r := e2e.Run(t, exe, env, noChecks)
	r.OK(t)
	p = r.Record(t)
	d := decode.New(p)
	cut := 0
	for line := range strings.Lines(r.Stdout) {
		var id ctxid.ID
		var depth int
		if n, _ := fmt.Sscanf(line, "%x %x %x %d", &id.Hi, &id.Lo, &id.Run, &depth); n != 4 {
			t.Fatalf("output %q", line)
		}
		s, err := d.Decode(id)
		if err != nil {
			t.Fatal(err)
		}
		if s.Cut() != "" {
			cut++
			continue
		}
		whole++
		own := 0
		for _, f := range s.Path() {
			if f.Func == "main.down" {
				own++
			}
		}
		if own != depth+1 {
			t.Fatalf("a goroutine %d calls deep: %x is decoded to %d", depth, id, own)
		}
	}
	t.Logf("%d contexts are whole, %d are cut", whole, cut)
	if whole+cut != 1500 || cut < 100 || p.IDs.Stats.Truncated == 0 {
		t.Errorf("%d contexts are whole, %d are cut, %d counted", whole, cut, p.IDs.Stats.Truncated)
	}
	return p, whole
}
