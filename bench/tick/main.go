// Tick measures what a timer's interrupt costs a thread on this machine: the least that a sampling profiler
// takes, whatever it does. A loop of fixed work runs in slices, by turns without a timer, with one of the kernel's
// that only counts (perf_event_open on the CPU clock, no signal), with one that sends a signal which an empty
// handler of the Go runtime takes, and without one again, which shows the noise. Built by stemma with
// -metrics=calls,cpu or -engine=sample it also has the samples that stemma takes, all in all.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stemma-go/stemma"
)

func main() {
	every := flag.Duration("every", time.Millisecond, "how often the timer goes off")
	rounds := flag.Int("slices", 600, "how many slices each way gets")
	size := flag.Int("size", 1, "how many times about 15 ms a slice is; 20 for samples, because the first comes late")
	flag.Parse()
	if err := run(*every, *rounds, *size); err != nil {
		fmt.Fprintln(os.Stderr, "tick:", err)
		os.Exit(1)
	}
}

// A way is what goes on while a slice runs.
type way struct {
	name        string
	start, stop func()
	took        []time.Duration // of CPU, for each slice
}

func run(every time.Duration, rounds, size int) error {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	event, err := counting(every)
	if err != nil {
		return fmt.Errorf("%w (perf_event_open needs kernel.perf_event_paranoid of at most 2)", err)
	}
	timer, err := signalling()
	if err != nil {
		return err
	}
	none := func() {}
	ways := []*way{
		{name: "no timer", start: none, stop: none},
		{name: "interrupt", start: event(unix.PERF_EVENT_IOC_ENABLE), stop: event(unix.PERF_EVENT_IOC_DISABLE)},
		{name: "interrupt and signal", start: timer(every), stop: timer(0)},
		{name: "no timer again", start: none, stop: none},
	}
	if stemma.StartSampling(stemma.SamplingOptions{Every: every}) == nil {
		stemma.StopSampling()
		start := func() { stemma.StartSampling(stemma.SamplingOptions{Every: every}) }
		ways = append(ways, &way{name: "a sample", start: start, stop: stemma.StopSampling})
	}
	for range rounds {
		for _, w := range ways {
			w.start()
			begin := threadCPU()
			for range size {
				work()
			}
			w.took = append(w.took, threadCPU()-begin)
			w.stop()
		}
	}
	plain := median(ways[0].took)
	fmt.Printf("| every %v | CPU time | for each |\n| --- | --- | --- |\n", every)
	for _, w := range ways {
		ratio := float64(median(w.took)) / float64(plain)
		fmt.Printf("| %s | %.4f | %.1f µs |\n", w.name, ratio, (1-1/ratio)*float64(every)/1e3)
	}
	return nil
}

// counting makes a counter of this thread's CPU time that interrupts at every interval, and returns what
// starts and stops it.
func counting(every time.Duration) (func(request uint) func(), error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Sample: uint64(every), Sample_type: unix.PERF_SAMPLE_IP, Wakeup: 1 << 30,
		Bits: unix.PerfBitDisabled | unix.PerfBitExcludeKernel,
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
	if err != nil {
		return nil, fmt.Errorf("perf_event_open: %w", err)
	}
	if _, err := unix.Mmap(fd, 0, 129*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	return func(request uint) func() {
		return func() { unix.IoctlSetInt(fd, request, 0) }
	}, nil
}

// signalling makes a timer that sends this thread SIGURG, which the runtime takes and, since it has asked for
// nothing, forgets. It returns what sets it.
func signalling() (func(every time.Duration) func(), error) {
	// struct sigevent of amd64 and arm64: value, signal, how, thread.
	event := struct {
		value       uint64
		signo, how  int32
		thread, pad int32
		rest        [40]byte
	}{signo: int32(unix.SIGURG), how: 4, thread: int32(unix.Gettid())} // SIGEV_THREAD_ID
	var id int32
	_, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC,
		uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&id)))
	if errno != 0 {
		return nil, fmt.Errorf("timer_create: %w", errno)
	}
	return func(every time.Duration) func() {
		spec := [2]unix.Timespec{unix.NsecToTimespec(int64(every)), unix.NsecToTimespec(int64(every))}
		return func() {
			unix.Syscall6(unix.SYS_TIMER_SETTIME, uintptr(id), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
		}
	}, nil
}

func threadCPU() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

var seen [1 << 20]byte

// work takes about 15 ms, in memory that fits into the second cache.
func work() {
	x := uint64(1)
	for range 15_000_000 {
		x = x*6364136223846793005 + 1
		seen[x>>44]++
	}
}

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}
