// Random makes calls whose number depends on what the runtime draws: orders of maps, their
// seeds, math/rand, select, which goroutine runs first, who gets a mutex, when a timer comes in between,
// pools that are emptied when the garbage is collected, finalizers, and where the kernel places memory; and on the
// clock if that is the program's own.
package main

import (
	crand "crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand"
	randv2 "math/rand/v2"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

//go:noinline
func hit(kind string, n int) int { return n }

//go:noinline
func calls(kind string, n int) (sum int) {
	for i := range n {
		sum += hit(kind, i)
	}
	return sum
}

func main() {
	for _, f := range []func(){maps, pointers, numbers, selects, phase, goroutines, locks, timers, pools, interfaces, files,
		addresses, stopped, clock, bubble} {
		f()
	}
}

func maps() {
	m := make(map[string]int)
	for i := range 100 {
		m[fmt.Sprint("key", i)] = i
	}
	for range 5 {
		for _, v := range m { // how far it goes depends on the order
			if calls("maps", v%7); v > 90 {
				break
			}
		}
	}
	calls("maphash", int(maphash.String(maphash.MakeSeed(), "text")%100))
}

func pointers() {
	m := make(map[*[64]byte]int)
	for i := range 50 {
		m[new([64]byte)] = i
	}
	n := 0
	for _, v := range m {
		if n++; v%17 == 3 {
			break
		}
	}
	calls("pointers", n)
}

func numbers() {
	calls("rand", rand.Intn(100))
	calls("rand/v2", randv2.IntN(100))
	list := randv2.Perm(200)
	sort.Slice(list, func(i, j int) bool { return hit("sort", list[i]) < list[j] })
}

func selects() {
	a, b := make(chan int, 100), make(chan int, 100)
	for range 100 {
		a <- 1
		b <- 2
	}
	for range 50 {
		select {
		case n := <-a:
			calls("select", n)
		case n := <-b:
			calls("select", n)
		}
	}
}

// phase gives up its P to many goroutines: each 61st time the scheduler looks elsewhere first, so that what it did
// since the program began decides when it goes on.
func phase() {
	var ran atomic.Int64
	for range 200 {
		go ran.Add(1)
	}
	runtime.Gosched()
	calls("phase", int(ran.Load()))
}

// locks has goroutines that wait for a mutex about as long as it takes until it is theirs by right.
func locks() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	order := 0
	for i := range 10 {
		wg.Go(func() {
			for range 20 {
				mu.Lock()
				order = (order*31 + i) % 97
				calls("lock", 20_000)
				runtime.Gosched()
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	calls("locks", order)
}

// timers has goroutines that wake up while others are busy.
func timers() {
	var wg sync.WaitGroup
	var turn atomic.Int64
	for i := range 10 {
		wg.Go(func() {
			time.Sleep(time.Duration(i+1) * time.Millisecond)
			calls("woken", int(turn.Load())%100)
		})
	}
	for range 5 {
		wg.Go(func() {
			for range 100 {
				calls("busy", 20_000)
				turn.Add(1)
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
}

// goroutines has workers whose calls depend on what was there before them, and that are long
// enough to lose their P.
func goroutines() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var order []int
	var turn atomic.Int64
	for i := range 20 {
		wg.Go(func() {
			calls("long", 200_000)
			if i%3 == 0 {
				runtime.Gosched()
			}
			mu.Lock()
			order = append(order, i+rand.Intn(10))
			mu.Unlock()
			calls("turn", i*int(turn.Add(1)))
		})
	}
	wg.Wait()
	for k, i := range order {
		calls("order", i*k%10)
	}
}

var sink []byte

func pools() {
	pool := sync.Pool{New: func() any { hit("new", 0); return new([1024]byte) }}
	var ended atomic.Int64
	for i := range 3000 {
		p := pool.Get()
		sink = make([]byte, 10_000)
		if i%100 == 0 {
			obj := &struct{ p [4]*int }{}
			runtime.SetFinalizer(obj, func(any) { ended.Add(1); hit("finalizer", 0) })
		}
		if i%500 == 0 {
			runtime.Gosched()
		}
		pool.Put(p)
	}
	calls("finalizers", int(ended.Load()))
}

type shape interface{ area() int }
type side int

func (s side) area() int { return int(s) }

// interfaces has assertions that the runtime remembers now and then.
func interfaces() {
	n := 0
	for i := range 5000 {
		var x any = side(i)
		if s, ok := x.(shape); ok {
			n += s.area()
		}
	}
	calls("interfaces", n%7)
}

func files() {
	dir, err := os.MkdirTemp("", "random")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	calls("files", len(strings.Trim(dir, "0123456789")))
}

// noRandomize is the personality of a process with fixed addresses.
const noRandomize = 0x0040000

// addresses looks at what is not in Go's heap. Where the kernel does not let a program fix it, nothing is to be seen.
func addresses() {
	now, _, _ := syscall.RawSyscall(syscall.SYS_PERSONALITY, 0xffffffff, 0, 0)
	if _, _, refused := syscall.RawSyscall(syscall.SYS_PERSONALITY, now|noRandomize, 0, 0); refused != 0 && deterministic() {
		return
	}
	mem, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		panic(err)
	}
	calls("addresses", int(uintptr(unsafe.Pointer(&mem[0]))>>12%100))
}

// stopped has timers that are stopped, and are due at times that nobody decides. How long they stay in the runtime's
// list depends on that, and so when the list grows, and what can be collected.
func stopped() {
	var late [1500]byte
	crand.Read(late[:])
	var timers []*time.Timer
	places := uintptr(0)
	for i := range late {
		page := new([9000]byte)
		places = places*31 + uintptr(unsafe.Pointer(page))>>13
		timers = append(timers, time.AfterFunc(time.Hour+time.Duration(late[i])*time.Second, func() { page[0]++ }))
		if i%2 == 1 {
			timers[i/2].Stop()
			timers[i/2] = nil
		}
	}
	for _, t := range timers[len(late)/2:] {
		t.Stop()
	}
	calls("stopped", int(places%1000))
}

// clock looks at the clock in all ways, where it is the program's own. The program waits all the same.
func clock() {
	if os.Getenv("STEMMA_DETERMINISTIC") != "clock" {
		return
	}
	start := time.Now()
	if start.UTC().Year() != 2026 || start.UTC().YearDay() != 1 {
		panic(fmt.Sprint("it is ", start.UTC()))
	}
	calls("clock", start.Nanosecond()/1000%1000)
	for time.Since(start) < time.Millisecond {
		hit("look", 0)
	}
	poll(time.NewTimer(time.Millisecond))
	spin()
	ticks()
	before := real()
	start = time.Now()
	time.Sleep(20 * time.Millisecond)
	calls("slept", int(time.Since(start).Microseconds()))
	readers()
	if waited := real() - before; waited < 40*time.Millisecond {
		panic(fmt.Sprint("two waits of 20 ms took ", waited))
	}
}

// real returns what the kernel's clock says.
func real() time.Duration {
	var t syscall.Timeval
	if err := syscall.Gettimeofday(&t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// poll looks at a timer that nobody waits for, and stops one that is not due.
func poll(t *time.Timer) {
	for {
		select {
		case <-t.C:
			if !time.NewTimer(time.Hour).Stop() {
				panic("an hour is over")
			}
			return
		default:
			hit("poll", 0)
		}
	}
}

// spin gives up its P until a timer has run.
func spin() {
	var rang atomic.Bool
	time.AfterFunc(time.Millisecond, func() { rang.Store(true) })
	for !rang.Load() {
		hit("spin", 0)
		runtime.Gosched()
	}
}

// ticks has timers that are due at different times, with work between that takes longer or shorter.
func ticks() {
	var wg sync.WaitGroup
	order := 0
	for i := range 5 {
		wg.Go(func() {
			t := time.NewTicker(time.Duration(1000+i*37) * time.Microsecond)
			defer t.Stop()
			for range 20 {
				<-t.C
				order = (order*31 + i) % 97
				calls("tick", order*100)
			}
		})
	}
	wg.Wait()
}

// readers has deadlines of pipes, of which one brings nothing.
func readers() {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	defer r.Close()
	defer w.Close()
	start := time.Now()
	r.SetReadDeadline(start.Add(20 * time.Millisecond))
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		panic(err)
	}
	calls("deadline", int(time.Since(start).Microseconds()))
}

// bubble has goroutines with a time of their own, while others can run. It ends the program.
func bubble() {
	for range 3 {
		go func() {
			for {
				runtime.Gosched()
			}
		}()
	}
	sleep := testing.InternalTest{Name: "sleep", F: func(t *testing.T) {
		before := real()
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			time.Sleep(time.Hour)
			calls("bubble", int(time.Since(start).Minutes()))
		})
		if waited := real() - before; waited > 5*time.Second {
			t.Errorf("an hour of the bubble took %v", waited)
		}
	}}
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{sleep}, nil, nil)
}

// deterministic tells whether the program is asked to repeat, and may not be able to.
func deterministic() bool {
	asked := os.Getenv("STEMMA_DETERMINISTIC")
	return asked != "" && asked != "0"
}
