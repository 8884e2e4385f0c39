package testing

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	_ "unsafe" // for go:linkname
)

// Exact costs of benchmarks: what the functions of a benchmark count while its timer is on. The counters of all
// contexts are read when the timer starts and when it stops. The difference goes to the stemma tool, in a file: it
// knows what each counter means, and which contexts are the benchmark's. What it answers stands on the benchmark's
// line, beside or instead of what package testing has measured.
//
// A run of a benchmark holds benchmarkLock, so that one state will do. That of a benchmark with benchmarks within it is
// overwritten by theirs; it has no line.

// stemmaCounters is in package runtime.
//
//go:linkname stemmaCounters
func stemmaCounters(low uintptr, sum []uint64) (end uintptr)

// stemmaDirectory is in package runtime.
//
//go:linkname stemmaDirectory
func stemmaDirectory() string

// stemmaBypass is in package runtime. What is here to count is not to be in what was counted.
//
//go:linkname stemmaBypass
func stemmaBypass(f func())

var stemmaBench struct {
	tool string // the command that knows what counters mean; "" if nobody wants to know
	time string // what ns/op is called; "" if it is left out

	low      uintptr  // contexts of benchmarks lie behind it
	b        *B       // whose run it is
	on       bool     // its timer is
	function string   // of the benchmark
	at, now  []uint64 // counters when the timer started, and when it stopped
	sum      []uint64 // what they have grown by
}

// stemmaMagic begins the file that the tool reads.
const stemmaMagic = "stemma-bench-1"

// stemmaWords is how many counters there is room for at first.
const stemmaWords = 1 << 12

// stemmaRun begins a run of a benchmark.
func stemmaRun(b *B) {
	s := &stemmaBench
	if s.low == 0 {
		s.tool = os.Getenv("STEMMA_BENCH")
		switch name := os.Getenv("STEMMA_BENCH_TIME"); name {
		case "", "0":
		case "1":
			s.time = " instrumented-"
		case "ns/op": // for tools that read no line without it
			s.time = " "
		default:
			fmt.Fprintf(os.Stderr, "stemma: STEMMA_BENCH_TIME=%.60s is ignored: want 1 or ns/op\n", name)
		}
		if s.low = stemmaCounters(0, nil); s.low == 0 || stemmaDirectory() == "" {
			s.tool, s.low = "", 1
		}
	}
	if s.tool == "" {
		return
	}
	s.b, s.on, s.sum = b, false, s.sum[:0]
	s.function = ""
	if f := runtime.FuncForPC(reflect.ValueOf(b.benchFunc).Pointer()); f != nil {
		s.function = f.Name()
	}
}

// stemmaStart is called before the timer of b starts.
func stemmaStart(b *B) {
	if s := &stemmaBench; s.b == b {
		s.on = true
		stemmaBypass(stemmaBegin)
	}
}

// stemmaBegin reads the counters when the timer starts.
func stemmaBegin() { stemmaBench.at = stemmaRead(stemmaBench.at) }

// stemmaStop is called when the timer of b has stopped.
func stemmaStop(b *B) {
	s := &stemmaBench
	if s.b != b || !s.on {
		return
	}
	s.on = false
	stemmaBypass(stemmaAdd)
}

// stemmaAdd adds what the counters have grown by since the timer started.
func stemmaAdd() {
	s := &stemmaBench
	s.now = stemmaRead(s.now)
	for len(s.sum) < len(s.now) {
		s.sum = append(s.sum, 0)
	}
	for i, n := range s.now {
		if i < len(s.at) { // else the context is newer
			n -= s.at[i]
		}
		s.sum[i] += n
	}
}

// stemmaReset is called before the timer of b is set to 0, on or off.
func stemmaReset(b *B) {
	s := &stemmaBench
	if s.b != b {
		return
	}
	s.sum = s.sum[:0]
	if s.on {
		stemmaBypass(stemmaBegin)
	}
}

// stemmaRead reads the counters of all contexts behind low into buf, or a longer slice.
func stemmaRead(buf []uint64) []uint64 {
	low := stemmaBench.low
	buf = slices.Grow(buf[:0], stemmaWords)
	for {
		buf = buf[:cap(buf)]
		n := int(stemmaCounters(low, buf)-low) / 8
		if n <= len(buf) {
			return buf[:n]
		}
		buf = slices.Grow(buf[:0], 2*n)
	}
}

// stemmaUnits says before the first result that counts are exact, in the form that benchstat reads.
func stemmaUnits(w io.Writer) {
	if stemmaBench.tool == "" {
		return
	}
	for unit := range strings.SplitSeq(os.Getenv("STEMMA_BENCH_UNITS"), ",") {
		if unit != "" {
			fmt.Fprintf(w, "Unit %s assume=exact\n", unit)
		}
	}
}

// A stemmaCount is what a benchmark counts by operation: a number as text, and its unit.
type stemmaCount struct{ value, unit string }

// stemmaResult returns the result of b, with what was counted. Without the tool's answer it is as it was, and one line
// on standard error says why.
func stemmaResult(b *B, result string) string {
	s := &stemmaBench
	if s.b != b || b.N <= 0 {
		return result
	}
	s.b = nil
	var counts []stemmaCount
	var err error
	stemmaBypass(func() { counts, err = stemmaAsk(b.N) })
	if err != nil {
		fmt.Fprintf(os.Stderr, "stemma: %s: its calls are not known: %v\n", b.name, err)
		return result
	}
	var out []string
	for i, f := range strings.Split(result, "\t") {
		value, unit, _ := strings.Cut(strings.TrimSpace(f), " ")
		measured := i > 0 && (unit == "ns/op" || unit == "MB/s")
		counted := slices.ContainsFunc(counts, func(c stemmaCount) bool { return c.unit == unit })
		switch {
		case counted, measured && s.time == "": // what it takes to count is in there
			continue
		case measured:
			f = fmt.Sprintf("%10s%s%s", value, s.time, unit)
		}
		out = append(out, f)
	}
	for _, c := range counts {
		out = append(out, fmt.Sprintf("%10s %s", c.value, c.unit))
	}
	return strings.Join(out, "\t")
}

// stemmaAsk gives the tool what was counted in n operations, and returns what it makes of that.
func stemmaAsk(n int) (counts []stemmaCount, err error) {
	s, dir := &stemmaBench, stemmaDirectory()
	data := fmt.Appendf(nil, "%s %d %d\n%s\n", stemmaMagic, s.low, n, s.function)
	for _, w := range s.sum {
		data = append(data, byte(w), byte(w>>8), byte(w>>16), byte(w>>24), byte(w>>32), byte(w>>40), byte(w>>48),
			byte(w>>56))
	}
	file := dir + "/bench"
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, err
	}
	defer os.Remove(file)
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		w.Close()
		return nil, err
	}
	defer null.Close()
	p, err := os.StartProcess(s.tool, []string{s.tool, "benchunits", dir},
		&os.ProcAttr{Files: []*os.File{null, w, os.Stderr}})
	w.Close()
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(r)
	state, waitErr := p.Wait()
	switch {
	case err != nil:
		return nil, err
	case waitErr != nil:
		return nil, waitErr
	case !state.Success():
		return nil, fmt.Errorf("%s benchunits: %v", s.tool, state)
	}
	for line := range strings.Lines(string(answer)) {
		if value, unit, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			counts = append(counts, stemmaCount{value, unit})
		}
	}
	return counts, nil
}
