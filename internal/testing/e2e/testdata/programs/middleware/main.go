// Program middleware chains handlers as net/http, and as routers in the styles of chi and of
// gorilla/mux do: each middleware is reached through http.HandlerFunc.ServeHTTP. It also has
// recursion through that adapter. Where it gets context IDs it prints one at the end of each chain, with what
// runtime.Callers says there. DEPTH is how deep the recursion is. With -full it is also
// built with net/http.
package main

//stemma:default
//stemma-full:full -recursion=full
//stemma-full:nethttp -tags=nethttp
//stemma-full:full -tags=nethttp -recursion=full
//stemma-full:noinline -tags=nethttp -inlined=off

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	_ "unsafe"

	"example.com/e2e/middleware/http"
)

// api is what an instrumented runtime provides if it has context IDs.
//
//go:linkname api runtime.stemmaAPI2
var api *struct{ here func() (hi, lo, run uint64) }

// said prints a context of its caller, and the stack as function|line|inlined.
//
//go:noinline
func said(hi, lo, run uint64) {
	pcs := make([]uintptr, 1<<17)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	var b strings.Builder
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		fmt.Fprintf(&b, "%s|%d|%v;", f.Function, f.Line, f.Func == nil)
	}
	fmt.Printf("%x %x %x %s\n", hi, lo, run, b.String())
}

var depth = 1000

func main() {
	if n, err := strconv.Atoi(os.Getenv("DEPTH")); err == nil {
		depth = n
	}
	plain()
	likeChi()
	likeGorilla()
	passing()
	structs()
	mixed()
	deep()
	mutual()
	throughPassing()
	adaptersOnly()
	captured()
}

//go:noinline
func leaf() {}

//go:noinline
func handler(http.ResponseWriter, *http.Request) {
	leaf()
	if api != nil {
		said(api.here())
	}
}

//go:noinline
func logger(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaf()
		next.ServeHTTP(w, r)
	})
}

//go:noinline
func auth(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		leaf()
	})
}

//go:noinline
func limit(next http.Handler) http.Handler {
	fn := func(w http.ResponseWriter, r *http.Request) {
		defer leaf()
		next.ServeHTTP(w, r)
	}
	return http.HandlerFunc(fn)
}

// Three middlewares around a handler.
//
//want:context [main];main.main;main.plain;~http.HandlerFunc.ServeHTTP;main.logger.func1;~http.HandlerFunc.ServeHTTP;main.auth.func1;~http.HandlerFunc.ServeHTTP;main.limit.func1;~http.HandlerFunc.ServeHTTP;main.handler;main.leaf 5
//want:context [main];main.main;main.plain;~http.HandlerFunc.ServeHTTP;main.logger.func1;main.leaf 5
//want:context [main];main.main;main.plain;~http.HandlerFunc.ServeHTTP;main.logger.func1;~http.HandlerFunc.ServeHTTP;main.auth.func1;main.leaf 5
//go:noinline
func plain() {
	h := logger(auth(limit(http.HandlerFunc(handler))))
	for range 5 {
		h.ServeHTTP(nil, nil)
	}
}

// mux is a router as chi has it.
type mux struct {
	middlewares []func(http.Handler) http.Handler
	handler     http.Handler
	routes      map[string]http.Handler
}

// chainHandler is what chi makes of a route with middlewares of its own.
type chainHandler struct {
	endpoint, chain http.Handler
}

func (c *chainHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.chain.ServeHTTP(w, r) }

//go:noinline
func (mx *mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if mx.handler == nil {
		mx.handler = chain(mx.middlewares, http.HandlerFunc(mx.routeHTTP))
	}
	mx.handler.ServeHTTP(w, r)
}

//go:noinline
func (mx *mux) routeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := mx.routes[r.URL.Path]; h != nil {
		h.ServeHTTP(w, r)
	}
}

//go:noinline
func chain(middlewares []func(http.Handler) http.Handler, endpoint http.Handler) http.Handler {
	h := middlewares[len(middlewares)-1](endpoint)
	for i := len(middlewares) - 2; i >= 0; i-- {
		h = middlewares[i](h)
	}
	return h
}

// A router with two middlewares, a route with another one.
//
//want:context [main];main.main;main.likeChi;main.serve;main.(*mux).ServeHTTP;~http.HandlerFunc.ServeHTTP;main.logger.func1;~http.HandlerFunc.ServeHTTP;main.auth.func1;~http.HandlerFunc.ServeHTTP;main.(*mux).routeHTTP;main.(*chainHandler).ServeHTTP;~http.HandlerFunc.ServeHTTP;main.limit.func1;~http.HandlerFunc.ServeHTTP;main.handler;main.leaf 7
//go:noinline
func likeChi() {
	endpoint := http.HandlerFunc(handler)
	mx := &mux{middlewares: []func(http.Handler) http.Handler{logger, auth}, routes: map[string]http.Handler{
		"/": &chainHandler{endpoint, chain([]func(http.Handler) http.Handler{limit}, endpoint)}}}
	r, _ := http.NewRequest("GET", "/", nil)
	for range 7 {
		serve(mx, r)
	}
}

// serve is where mx is any handler.
//
//go:noinline
func serve(h http.Handler, r *http.Request) { h.ServeHTTP(nil, r) }

// middlewareFunc and router are as gorilla/mux has them: middlewares are put around the handler for each request.
type middlewareFunc func(http.Handler) http.Handler

func (mw middlewareFunc) Middleware(h http.Handler) http.Handler { return mw(h) }

type middleware interface {
	Middleware(http.Handler) http.Handler
}

type router struct {
	middlewares []middleware
	handler     http.Handler
}

//go:noinline
func (r *router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h := r.handler
	for i := len(r.middlewares) - 1; i >= 0; i-- {
		h = r.middlewares[i].Middleware(h)
	}
	h.ServeHTTP(w, req)
}

// A router with three middlewares.
//
//want:context [main];main.main;main.likeGorilla;main.serve;main.(*router).ServeHTTP;~http.HandlerFunc.ServeHTTP;main.logger.func1;~http.HandlerFunc.ServeHTTP;main.auth.func1;~http.HandlerFunc.ServeHTTP;main.limit.func1;~http.HandlerFunc.ServeHTTP;main.handler;main.leaf 3
//want:context [main];main.main;main.likeGorilla;main.serve;main.(*router).ServeHTTP;main.middlewareFunc.Middleware;main.limit 3
//go:noinline
func likeGorilla() {
	r := &router{[]middleware{middlewareFunc(logger), middlewareFunc(auth), middlewareFunc(limit)},
		http.HandlerFunc(handler)}
	for range 3 {
		serve(r, nil)
	}
}

// first, second and third are middlewares that only pass calls on, as those do that are switched off.
//
//go:noinline
func first(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r) })
}

//go:noinline
func second(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r) })
}

//go:noinline
func third(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r) })
}

// around, beside and under are middlewares of their own types. Another name for beside's method is a wrapper that
// has it inlined, that of within is a wrapper alone.
type (
	around struct{ next http.Handler }
	beside struct {
		next http.Handler
		name string
	}
	under  struct{ next http.Handler }
	within struct {
		http.Handler
		name string
	}
)

func (m *around) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.next.ServeHTTP(w, r) }
func (m beside) ServeHTTP(w http.ResponseWriter, r *http.Request)  { m.next.ServeHTTP(w, r) }
func (m *under) ServeHTTP(w http.ResponseWriter, r *http.Request)  { m.next.ServeHTTP(w, r) }

// Three middlewares that only pass calls on.
//
//want:context [main];main.main;main.passing;~http.HandlerFunc.ServeHTTP;main.first.func1;~http.HandlerFunc.ServeHTTP;main.second.func1;~http.HandlerFunc.ServeHTTP;main.third.func1;~http.HandlerFunc.ServeHTTP;main.handler;main.leaf 2
//go:noinline
func passing() {
	h := first(second(third(http.HandlerFunc(handler))))
	for range 2 {
		h.ServeHTTP(nil, nil)
	}
}

// Three that are structs.
//
//want:context [main];main.main;main.structs;main.(*around).ServeHTTP;main.beside.ServeHTTP;main.(*under).ServeHTTP;~http.HandlerFunc.ServeHTTP;main.handler;main.leaf 2
//go:noinline
func structs() {
	var h http.Handler = &around{beside{&under{http.HandlerFunc(handler)}, ""}}
	for range 2 {
		h.ServeHTTP(nil, nil)
	}
}

// Both, and logger, which does something.
//
//want:context [main];main.main;main.mixed;~http.HandlerFunc.ServeHTTP;main.first.func1;main.(*around).ServeHTTP;~http.HandlerFunc.ServeHTTP;main.second.func1;main.beside.ServeHTTP;~http.HandlerFunc.ServeHTTP;main.third.func1;main.(*under).ServeHTTP;~http.HandlerFunc.ServeHTTP;main.logger.func1;~http.HandlerFunc.ServeHTTP;main.handler;main.leaf 2
//go:noinline
func mixed() {
	h := first(&around{second(beside{within{third(&under{logger(http.HandlerFunc(handler))}), ""}, ""})})
	for range 2 {
		h.ServeHTTP(nil, nil)
	}
}

// What calls itself through the adapter.
var (
	left                  int
	again, there, andBack http.Handler
)

//go:noinline
func countdown(w http.ResponseWriter, r *http.Request) {
	leaf()
	if left--; left > 0 {
		again.ServeHTTP(w, r)
	} else if api != nil {
		said(api.here())
	}
}

// A handler that calls itself.
//
//want:context@!full [main];main.main;main.deep;~http.HandlerFunc.ServeHTTP;main.countdown 1
//want:context@!full [main];main.main;main.deep;~http.HandlerFunc.ServeHTTP;main.countdown;main.leaf 1000
//want:context@!full [main];main.main;main.deep;~http.HandlerFunc.ServeHTTP;main.countdown;~http.HandlerFunc.ServeHTTP 999
//want:context@!full [main];main.main;main.deep;~http.HandlerFunc.ServeHTTP;main.countdown;~http.HandlerFunc.ServeHTTP;main.countdown 999
//go:noinline
func deep() {
	left, again = depth, http.HandlerFunc(countdown)
	again.ServeHTTP(nil, nil)
}

//go:noinline
func ping(w http.ResponseWriter, r *http.Request) {
	if left--; left > 0 {
		there.ServeHTTP(w, r)
	}
}

//go:noinline
func pong(w http.ResponseWriter, r *http.Request) {
	leaf()
	if left--; left > 0 {
		andBack.ServeHTTP(w, r)
	} else if api != nil {
		said(api.here())
	}
}

// Two that call each other.
//
//want:context@!full [main];main.main;main.mutual;~http.HandlerFunc.ServeHTTP;main.ping 1
//want:context@!full [main];main.main;main.mutual;~http.HandlerFunc.ServeHTTP;main.ping;~http.HandlerFunc.ServeHTTP;main.pong 500
//want:context@!full [main];main.main;main.mutual;~http.HandlerFunc.ServeHTTP;main.ping;~http.HandlerFunc.ServeHTTP;main.pong;main.leaf 500
//want:context@!full [main];main.main;main.mutual;~http.HandlerFunc.ServeHTTP;main.ping;~http.HandlerFunc.ServeHTTP;main.pong;~http.HandlerFunc.ServeHTTP;main.ping 499
//go:noinline
func mutual() {
	left, there, andBack = depth, http.HandlerFunc(pong), http.HandlerFunc(ping)
	andBack.ServeHTTP(nil, nil)
}

// A handler that calls itself through middlewares that only pass calls on.
//
//want:context@!full [main];main.main;main.throughPassing;~http.HandlerFunc.ServeHTTP;main.first.func1;main.(*around).ServeHTTP;~http.HandlerFunc.ServeHTTP;main.countdown 1
//want:context@!full [main];main.main;main.throughPassing;~http.HandlerFunc.ServeHTTP;main.first.func1;main.(*around).ServeHTTP;~http.HandlerFunc.ServeHTTP;main.countdown;main.leaf 1000
//want:context@!full [main];main.main;main.throughPassing;~http.HandlerFunc.ServeHTTP;main.first.func1;main.(*around).ServeHTTP;~http.HandlerFunc.ServeHTTP;main.countdown;~http.HandlerFunc.ServeHTTP 999
//go:noinline
func throughPassing() {
	left, again = depth, first(&around{http.HandlerFunc(countdown)})
	again.ServeHTTP(nil, nil)
}

// forward and backward are adapters, one of a function, the other of a method that is promoted.
type forward func(n int)

//go:noinline
func (f forward) run(n int) { f(n) }

type runner interface{ run(n int) }

type backward struct{ next runner }

//go:noinline
func (b backward) run(n int) { b.next.run(n) }

// Chains of adapters alone are bounded.
//
//want:context@full [main];main.main;main.adaptersOnly;main.backward.run;main.forward.run 1
//want:context@!full [main];main.main;main.adaptersOnly;main.backward.run;main.forward.run 1
//want:context@!full [main];main.main;main.adaptersOnly;main.backward.run;main.forward.run;main.backward.run 299
//want:context@!full [main];main.main;main.adaptersOnly;main.backward.run;main.forward.run;main.backward.run;main.forward.run 299
//want:context@!full [main];main.main;main.adaptersOnly;main.backward.run;main.forward.run;main.number 1
//want:func main.forward.run 300
//want:func main.backward.run 300
//go:noinline
func adaptersOnly() {
	var r runner = forward(number)
	for range 299 {
		r = forward(backward{r}.run)
	}
	backward{r}.run(1)
}

//go:noinline
func number(int) {
	leaf()
	if api != nil {
		said(api.here())
	}
}

// A function that captures what it calls.
//
//want:context [main];main.main;main.captured;main.through.func1;main.captured.func2;main.double;main.through.func1;main.captured.func1;main.triple;main.leaf 1
//want:context [main];main.main;main.captured;main.through.func1;main.captured.func3;main.double;main.through.func1;main.captured.func1;main.triple;main.leaf 1
//want:func main.triple 2
//go:noinline
func captured() {
	inner := through(func(n int) { triple(n) })
	through(func(n int) { double(n, inner) })(1)
	through(func(n int) { double(n, inner) })(2)
}

//go:noinline
func through(f func(int)) func(int) { return func(n int) { f(n) } }

//go:noinline
func double(n int, f func(int)) { f(n + n) }

//go:noinline
func triple(int) {
	leaf()
	if api != nil {
		said(api.here())
	}
}
