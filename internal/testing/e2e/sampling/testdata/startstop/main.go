// Command startstop starts and stops sampling many times while it runs, and asks its own
// handler for samples.
package main

import (
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"sync"
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
	close(stop)
	wg.Wait()
	fmt.Println("ok")
}
