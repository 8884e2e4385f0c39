// Command scraped does known work while it is asked what it does, by the handlers of stemmahttp. It prints what is
// wrong, and what has been recorded in the end. With an argument it serves until its standard input ends.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/stemmahttp"
)

var sink *[8]int

//go:noinline
func leaf() { sink = new([8]int) }

//go:noinline
func work(n int) {
	for range n {
		leaf()
	}
}

// orders are how often to call leaf. A worker takes them, which is recorded, unlike what a handler calls.
var orders, done = make(chan int), make(chan bool)

func worker() {
	for n := range orders {
		work(n)
		done <- true
	}
}

// A during does work between the two snapshots of a request: a handler that has the first one asks for Done.
type during struct {
	context.Context
	calls int
}

func (d during) Done() <-chan struct{} {
	if d.calls > 0 {
		orders <- d.calls
		<-done
	}
	return d.Context.Done()
}

var handler = stemmahttp.Handler()

// get asks for a page, and does work meanwhile.
func get(query string, calls int) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/debug/stemma/"+query, nil)
	handler.ServeHTTP(w, r.WithContext(during{r.Context(), calls}))
	if w.Code != http.StatusOK {
		fmt.Println("wrong:", query, w.Code, w.Body)
		os.Exit(1)
	}
	return w
}

// own reports whether the innermost function of a stack with leaf is what leaf does, and not what the runtime does for
// itself when it allocates, such as starting the collector.
func own(innermost, metric string) bool {
	if metric == "calls" {
		return innermost == "main.leaf"
	}
	return innermost == "new([8]int)"
}

// of returns what a profile has for leaf of a metric.
func of(answer io.Reader, metric string) (sum int64) {
	p, err := profile.Parse(answer)
	if err != nil {
		panic(err)
	}
	k := -1
	var types []string
	for i, t := range p.SampleType {
		types = append(types, t.Type+"/"+t.Unit)
		if t.Type == metric {
			k = i
		}
	}
	if k < 0 || p.DefaultSampleType != metric {
		fmt.Println("wrong: types of", metric, types, "usual", p.DefaultSampleType)
		os.Exit(1)
	}
	for _, s := range p.Sample {
		for _, l := range s.Location {
			fn := l.Line[0].Function.Name
			if fn == "main.leaf" && own(s.Location[0].Line[0].Function.Name, metric) {
				sum += s.Value[k]
				break
			}
			if strings.Contains(fn, "stemmahttp") && strings.Contains(fn, "serve") {
				fmt.Println("wrong: the handler is recorded:", fn)
			}
		}
	}
	return sum
}

func want(what string, have, want int64) {
	if have != want {
		fmt.Println("wrong:", what, have, "want", want)
	}
}

func main() {
	if len(os.Args) > 1 {
		serve()
		return
	}
	go worker()
	total := int64(0)
	for _, n := range []int{1, 1000, 12345} {
		want("calls", of(get("pprof?metric=calls&seconds=0.01", n).Body, "calls"), int64(n))
		want("bytes", of(get("pprof?metric=alloc_space&seconds=0.01", n).Body, "alloc_space"), int64(n)*64)
		want("objects", of(get("pprof?metric=alloc_objects,calls&seconds=0.01", n).Body, "alloc_objects"), int64(n))
		want("all", of(get("pprof?seconds=0.01", n).Body, "calls"), int64(n))
		want("none", of(get("pprof?metric=calls&seconds=0.01", 0).Body, "calls"), 0)
		total += 4 * int64(n)
		want("all so far", of(get("pprof?metric=calls", 0).Body, "calls"), total)
	}
	text := get("pprof?metric=calls&seconds=0.01&debug=1", 77).Body.String()
	total += 77
	if !strings.Contains(text, "\n77\n#\tmain.leaf\t") {
		fmt.Println("wrong: text:", text)
	}
	if page := get("", 0).Body.String(); !strings.Contains(page, `href="pprof?metric=alloc_space"`) {
		fmt.Println("wrong: page:", page)
	}
	get("pprof?metric=inuse_space&gc=1", 0)
	total += together()
	want("in the end", of(get("pprof?metric=calls", 0).Body, "calls"), total)
	fmt.Println("calls", total)
}

// together has three clients at a time, each with questions of two kinds, while work is done. None disturbs the others:
// a difference is no more than what lies between the totals before it and after it.
func together() (total int64) {
	stop := make(chan bool)
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			metric, each := "calls", int64(1)
			if i == 2 {
				metric, each = "alloc_space", 64
			}
			before := of(get("pprof?metric="+metric, 0).Body, metric)
			sum := int64(0)
			for range 5 {
				d := of(get("pprof?seconds=0.01&metric="+metric, 0).Body, metric)
				after := of(get("pprof?metric="+metric, 0).Body, metric)
				if sum += d; d < 0 || d%each != 0 || after-before < sum {
					fmt.Println("wrong:", d, "of", sum, metric, "from", before, "to", after)
				}
			}
		})
	}
	go func() {
		wg.Wait()
		close(stop)
	}()
	for {
		select {
		case <-stop:
			return total
		default:
			orders <- 100
			<-done
			total += 100
		}
	}
}

// serve does work during each request: as many calls as a parameter says.
func serve() {
	go worker()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls := 0
		fmt.Sscan(r.URL.Query().Get("calls"), &calls)
		handler.ServeHTTP(w, r.WithContext(during{r.Context(), calls}))
	}))
	fmt.Println(server.URL)
	io.Copy(io.Discard, os.Stdin)
}
