// Command startstop starts and stops sampling many times while it runs, also at the same moment, and asks its own
// handler for samples.
package main

import (
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stemma-go/stemma"
	"github.com/stemma-go/stemma/stemmahttp"
)

var sink int

//go:noinline
func rec(n int) int {
	if n == 0 {
		return 1
	}
	return rec(n-1) + rec(n/2)/2
}

func fatal(args ...any) {
	fmt.Println(args...)
	os.Exit(3)
}

func main() {
	if _, active := stemma.Sampling(); active {
		fatal("it samples from the start")
	}
	stop := make(chan bool)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					sink += rec(20 + n%10)
				}
			}
		})
	}
	for i := range 15 {
		if err := stemma.StartSampling(stemma.SamplingOptions{Every: time.Duration(20+i) * time.Microsecond}); err != nil {
			fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
		if i%7 == 0 {
			stemma.RetrieveSamples()
		}
		stemma.StopSampling()
	}
	w := httptest.NewRecorder()
	stemmahttp.Samples().ServeHTTP(w, httptest.NewRequest("GET", "/?seconds=0.3&every=1ms&format=folded", nil))
	body, _ := io.ReadAll(w.Body)
	if w.Code != 200 || len(body) == 0 {
		fatal("handler:", w.Code, string(body))
	}
	fmt.Printf("%s", body)
	if _, active := stemma.Sampling(); active {
		fatal("it samples after the request")
	}
	meanwhile()
	close(stop)
	wg.Wait()
	together()
	fmt.Println("ok")
}

// meanwhile starts sampling while a request samples as well: what the program has started goes on when the request ends.
func meanwhile() {
	done := make(chan bool)
	go func() {
		defer close(done)
		stemmahttp.Samples().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/?seconds=0.2&every=1ms", nil))
	}()
	for active := false; !active; _, active = stemma.Sampling() {
		time.Sleep(time.Millisecond)
	}
	stemma.StartSampling(stemma.SamplingOptions{})
	<-done
	if _, active := stemma.Sampling(); !active {
		fatal("a request has ended what the program had started")
	}
	stemma.StopSampling()
}

// together starts and stops sampling at the same moment. If it goes on after that, threads are sampled.
func together() {
	for range 100 {
		stemma.StartSampling(stemma.SamplingOptions{})
		var at atomic.Int32
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				at.Add(1)
				for at.Load() < 2 {
				}
				if i == 0 {
					stemma.StopSampling()
				} else if err := stemma.StartSampling(stemma.SamplingOptions{}); err != nil {
					fatal(err)
				}
			})
		}
		wg.Wait()
		if _, active := stemma.Sampling(); active {
			for before, end := samples(), used()+40*time.Millisecond; samples() == before; {
				if used() > end {
					fatal("sampling is on, and no thread is sampled")
				}
				for next := used() + 5*time.Millisecond; used() < next; {
					sink += rec(10)
				}
			}
		}
	}
	stemma.StopSampling()
}

// used returns the CPU time of the process.
func used() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// samples returns how many samples there are on CPU.
func samples() (n int) {
	stemma.RetrieveSamples()
	w := httptest.NewRecorder()
	stemmahttp.Samples().ServeHTTP(w, httptest.NewRequest("GET", "/?seconds=0&format=folded&metric=samples", nil))
	if w.Code != 200 {
		fatal("handler:", w.Code, w.Body.String())
	}
	for line := range strings.Lines(w.Body.String()) {
		var of int
		fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &of)
		n += of
	}
	return n
}
