package tree

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// TestManyFaults faults in more contexts than the runtime remembers: those beyond are counted as lost. What is deferred
// is counted anyway.
func TestManyFaults(t *testing.T) {
	r := e2e.Run(t, e2e.Build(t, "manyfaults", "-recursion=full"))
	r.OK(t)
	p := r.Read(t)
	const faults, most = 160 * 160, 1 << 15 / 4 * 3
	want := []profile.Loss{{Kind: profile.LossNodes, Count: faults - most}}
	if lost := p.Lost(); !slices.Equal(lost, want) {
		t.Errorf("%v was lost, want %v", lost, want)
	}
	nodes, calls := 0, uint64(0)
	tree := cct.New(p)
	for _, n := range tree.Nodes {
		switch tree.Funcs[n.Func].Name {
		case "runtime.sigpanic":
			nodes++
		case "main.deferred":
			calls += n.Count
		}
	}
	if nodes != most || calls != faults {
		t.Errorf("%d contexts of faults and %d deferred calls, want %d and %d", nodes, calls, most, faults)
	}
}

// TestFaults runs random functions that the program leaves anywhere: by each kind of fault that a program can
// recover from, between inlined calls that count themselves. What is behind a fault was not called. Then a build
// for the checker compares the counts of all inlined calls.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module faults\n\ngo 1.26\n")
	write("main.go", faultsMain)
	write("random.go", randomFaults(rand.New(rand.NewPCG(1, 2))))
	build := func(name string, flags ...string) string {
		exe := filepath.Join(dir, name)
		cmd := exec.Command(e2e.Tool(t), append(append([]string{"build", "-o", exe}, flags...), ".")...)
		cmd.Dir, cmd.Env = dir, e2e.TargetEnv(dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, e2e.Tail(string(out)))
		}
		return exe
	}
	exe := build("faults")
	r := e2e.Run(t, exe, "GOMAXPROCS=1")
	r.OK(t)
	p := r.Read(t)
	e2e.NoLoss(t, p)
	wants := r.Wants(t)
	if len(wants) < faultFuncs {
		t.Fatalf("the program expects %d things, want %d or more", len(wants), faultFuncs)
	}
	e2e.Check(t, cct.New(p), wants, "default")

	// The record counts what it cannot be exact about.
	r = e2e.Run(t, exe, "GOMAXPROCS=1", "FAULTS=bad")
	r.OK(t)
	lost, most := r.Read(t).Lost(), uint64(0)
	_, text, _ := strings.Cut(r.Stdout, "unreadable: ")
	fmt.Sscan(text, &most)
	if len(lost) != 1 || lost[0].Kind != profile.LossFaults || lost[0].Count > most || lost[0].Count < most/2 {
		t.Errorf("%v was lost, want most of %d faults: some are in natives", lost, most)
	}
	for line := range strings.Lines(r.Stdout) {
		if op, ok := strings.CutPrefix(line, "never: "); ok {
			t.Errorf("it never faulted at: %s", op)
		}
	}

	if !e2e.More() {
		return // -verify needs a standard library more
	}
	exe = build("verified", "-verify")
	for _, env := range []string{"", "bad"} {
		e2e.Retry(t, func() error { // on a busy machine another goroutine than main's may still run at the end
			r := e2e.Run(t, exe, "GOMAXPROCS=1", "FAULTS="+env)
			contexts, _ := r.Verify(t)
			t.Logf("%d contexts", contexts)
			return noneMidway(r.Dir)
		})
	}
}

// noneMidway returns an error unless it is on record that no goroutine was in the midst of something at the end.
func noneMidway(dir string) error {
	rec, err := record.Open(os.DirFS(dir))
	if err != nil {
		return err
	}
	ended, midway := false, uint64(0)
	err = rec.Checks(func(c *livedir.Check) error {
		if c.Ended {
			ended, midway = true, uint64(c.Events)
		}
		return nil
	})
	if err == nil && (!ended || midway != 0) {
		err = fmt.Errorf("end on record: %v, with %d goroutines midway; want none", ended, midway)
	}
	return err
}

// faultFuncs is how many random functions there are, and inlinedFuncs how many others are inlined into them.
const faultFuncs, inlinedFuncs = 120, 6

// faultOps are statements that may leave a function, with arguments in a.
var faultOps = []string{
	"n += *a.p", "*a.p = n", "n += a.s.near", "n += a.s.far", "a.s.far = n", "n += a.arr[3]", "n += a.sl[a.i&3]",
	"n += len(a.sl[a.i&3:])", "n += int(a.str[a.i&3])", "n += [2]int(a.sl)[1]", "n /= a.z", "n %= a.z", "a.m[n&3] = n",
	"n += a.e.(int)", "n += len(a.e.(fmt.Stringer).String())", "n += a.m1.M()", "n += a.fn()", "close(a.ch())",
	"*a.big = big{}", "n += use(*a.big)", "*a.pp = a.p", "if a.e == a.e2() { n++ }", "if a.k == a.k2() { n++ }",
	"keys[a.e2()] = n", "n += len(unsafe.Slice(a.p, a.neg))", "n += len(make([]int, a.neg))", "n += 1 << a.neg",
	"_, r := bits.Div64(uint64(a.z), 1, uint64(a.z)); n += int(r)", "if a.z == 0 { panic(a) }", "n += len(*a.ps)",
	"*a.psl = append(*a.psl, n)", "n += copy(a.sl, *a.psl)", "clear(*a.psl)", "f := a.m1.M; n += f()",
	"for i := range a.arr { n += a.arr[i] }", "n += len(*a.ps + a.str)", "sink = *a.ps", "n += min(*a.p, n)",
	"n += bits.OnesCount(uint(*a.p))", "func() { defer func() { n++ }(); n += *a.p }()",
	"if a.z == 0 { runtime.Goexit() }",

	// Operations instead of calls check no pointer.
	"atomic.AddInt64(a.p64, 1)", "n += int(atomic.LoadInt64(a.p64))", "atomic.StoreInt64(a.p64, 1)",
	"n += int(atomic.SwapInt64(a.p64, 1))", "atomic.CompareAndSwapInt64(a.p64, 1, 2)", "atomic.AndInt64(a.p64, 7)",
	"atomic.OrInt64(a.p64, 7)", "n += int(atomic.OrInt64(a.p64, 7))", "atomic.AddUint32(a.p32, 1)",
	"n += int(atomic.LoadUint32(a.p32))", "atomic.StoreUint32(a.p32, 1)", "atomic.CompareAndSwapUint32(a.p32, 1, 2)",
	"atomic.AndUint32(a.p32, 7)", "atomic.OrUint32(a.p32, 7)", "n += int(atomic.SwapUint32(a.p32, 1))",
	"sinkPointer = atomic.LoadPointer(a.pptr)", "atomic.StorePointer(a.pptr, unsafe.Pointer(a.p))",
	"sinkPointer = atomic.SwapPointer(a.pptr, nil)", "atomic.CompareAndSwapPointer(a.pptr, nil, nil)", "a.at.Add(1)",
	"n += int(a.at.Load())", "a.at.Store(1)", "a.at.CompareAndSwap(1, 2)", "a.at.Or(1)", "n += *a.ap.Load()",
	"a.ap.Store(a.p)", "a.ab.Store(true)", "a.at32.Add(1)",

	// With FAULTS=bad this memory is there, but cannot be read or written.
	"n += *a.bad", "*a.bad = n", "n += int(a.badString[a.i&3])", "n += a.badSlice[a.i&3]", "a.badSlice[a.i&3] = n",
	"atomic.AddInt64((*int64)(unsafe.Pointer(a.bad)), 1)", "n += use(*(*big)(unsafe.Pointer(a.bad)))",
	"*(*big)(unsafe.Pointer(a.bad)) = big{}", "if a.badString == a.str { n++ }", "n += copy(a.sl, a.badSlice)",
	"*(**int)(unsafe.Pointer(a.bad)) = a.p",
}

// randomFaults returns functions of inlined calls and operations that may leave them.
func randomFaults(random *rand.Rand) string {
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n\"fmt\"\n\"math/bits\"\n\"runtime\"\n\"sync/atomic\"\n\"unsafe\"\n)\n\n" +
		"var _ fmt.Stringer\nvar _ atomic.Int64\nvar _ unsafe.Pointer\nvar _ = bits.Len\nvar _ = runtime.GC\n")
	fmt.Fprintf(&b, "var ops = []string{")
	for _, op := range faultOps {
		fmt.Fprintf(&b, "%q,\n", op)
	}
	b.WriteString("}\n")
	for i := range inlinedFuncs {
		fmt.Fprintf(&b, "func in%d() { ran[at][%d]++ }\n", i, i)
	}
	for i := range faultFuncs {
		fmt.Fprintf(&b, "//go:noinline\nfunc g%d(a *args) (n int) {\n", i)
		if random.IntN(3) == 0 {
			b.WriteString("if a.p == nil || a.bad == nil { in0(); in1() }\n")
		}
		for k := range 1 + random.IntN(6) {
			for range random.IntN(4) {
				fmt.Fprintf(&b, "in%d()\n", random.IntN(inlinedFuncs))
			}
			op := random.IntN(len(faultOps))
			if k == 0 {
				op = i % len(faultOps)
			}
			fmt.Fprintf(&b, "last = %d\n{ %s }\nlast = -1\n", op, faultOps[op])
			for range 1 + random.IntN(2) {
				fmt.Fprintf(&b, "in%d()\n", random.IntN(inlinedFuncs))
			}
		}
		b.WriteString("return n\n}\n")
	}
	b.WriteString("var table = []func(*args) int{")
	for i := range faultFuncs {
		fmt.Fprintf(&b, "g%d,", i)
	}
	b.WriteString("}\n")
	return b.String()
}

// faultsMain is what calls the random functions.
const faultsMain = `package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"unsafe"
)

type big [40]int

type far struct {
	near int
	_    [1 << 16]byte
	far  int
}

type method interface{ M() int }

type value int

func (v value) M() int { return int(v) }

type args struct {
	p, bad         *int
	s              *far
	arr            *[8]int
	sl, badSlice   []int
	str, badString string
	i, z, neg      int
	m              map[int]int
	e              any
	e2             func() any
	k              error
	k2             func() error
	m1             method
	fn             func() int
	ch             func() chan int
	big            *big
	pp             **int
	ps             *string
	psl            *[]int
	p64            *int64
	p32            *uint32
	pptr           *unsafe.Pointer
	at             *atomic.Int64
	at32           *atomic.Uint32
	ap             *atomic.Pointer[int]
	ab             *atomic.Bool
}

type list []int

func (l list) Error() string { return "list" }

var (
	ran         [256][8]uint64 // by the function that calls and the one that is inlined
	at          uint8
	last        int
	keys        = map[any]int{}
	sink        string
	sinkPointer unsafe.Pointer
	faulted     = map[int]bool{}
	bad         = os.Getenv("FAULTS") == "bad"
	unreadable  int
)

//go:noinline
func use(b big) int { return b[7] }

// may returns a pointer to a new T, or nil.
func may[T any](r *rand.Rand) *T {
	if r.IntN(3) == 0 {
		return nil
	}
	return new(T)
}

func newArgs(r *rand.Rand, page []byte) *args {
	a := &args{p: may[int](r), s: may[far](r), arr: may[[8]int](r), big: may[big](r), pp: may[*int](r),
		ps: may[string](r), psl: may[[]int](r), p64: may[int64](r), p32: may[uint32](r), pptr: may[unsafe.Pointer](r),
		at: may[atomic.Int64](r), at32: may[atomic.Uint32](r), ap: may[atomic.Pointer[int]](r), ab: may[atomic.Bool](r),
		i: r.IntN(4), z: r.IntN(3), neg: r.IntN(4) - 1, sl: make([]int, r.IntN(4)), str: "abc"[:r.IntN(4)]}
	good := make([]int, 64)
	a.bad, a.badSlice, a.badString = &good[0], good[:4], "abcd"
	if bad && r.IntN(2) == 0 {
		a.bad = (*int)(unsafe.Pointer(&page[0]))
		a.badSlice = unsafe.Slice(a.bad, 4)
		a.badString = unsafe.String(&page[0], len(a.str))
	}
	if a.ap != nil && r.IntN(2) == 0 {
		a.ap.Store(new(int))
	}
	if r.IntN(2) == 0 {
		a.m, a.m1, a.fn = map[int]int{}, value(3), func() int { return 2 }
	}
	a.e = []any{1, nil, "x", big{}, list{}}[r.IntN(5)]
	a.e2 = func() any { return a.e }
	a.k = []error{nil, list{}, syscall.EINVAL}[r.IntN(3)]
	a.k2 = func() error { return a.k }
	ch := []chan int{nil, make(chan int)}[r.IntN(2)]
	a.ch = func() chan int { return ch }
	return a
}

func try(i int, a *args) {
	defer func() {
		if fault, ok := recover().(interface{ Addr() uintptr }); ok && fault.Addr() >= 1<<12 {
			unreadable++
		}
		if last >= 0 {
			faulted[last] = true
		}
	}()
	debug.SetPanicOnFault(true)
	at, last = uint8(i), -1
	table[i](a)
}

func main() {
	page, err := syscall.Mmap(-1, 0, 1<<12, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		for i := range table {
			a := newArgs(r, page)
			done := make(chan bool)
			go func() { // it may be left by Goexit
				defer close(done)
				try(i, a)
			}()
			<-done
		}
	}
	for i := range table {
		for k, n := range ran[i] {
			fmt.Printf("want:context **;main.g%d;inlined main.in%d %d\n", i, k, n)
		}
	}
	fmt.Println("unreadable:", unreadable)
	for i, op := range ops {
		if !faulted[i] {
			fmt.Println("never:", op)
		}
	}
}
`
