package main

import (
	"context"
	"encoding/json"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"text/template"
	"time"
)

type celsius float64

//go:noinline
func (c celsius) MarshalJSON() ([]byte, error) { leaf(); return []byte("1"), nil }

// Callbacks by way of interfaces that packages of the standard library look for.
//
//want:context [main];main.main;main.contexts;**;encoding/json~;main.celsius.MarshalJSON 6
//want:context **;main.celsius.MarshalJSON;main.leaf 6
//want:context [main];main.main;main.contexts;**;text/template.~;**;main.contexts.func1 3
//want:context [main];main.main;main.contexts;**;go main.contexts.func2 2
//want:context **;go main.contexts.func2 2
//want:context [main];main.main;main.contexts;runtime/pprof.Do;main.contexts.func3 4
//want:context [main];main.main;main.contexts;runtime/pprof.Do;main.contexts.func3;main.leaf 4
//go:noinline
func contexts() {
	for range 2 {
		json.Marshal(map[string]any{"a": celsius(1), "b": []celsius{1, 2}})
	}
	t := template.Must(template.New("t").Funcs(template.FuncMap{"f": func(s string) string { return s }}).Parse(`{{range .}}{{f .}}{{end}}`))
	var b strings.Builder
	t.Execute(&b, []string{"a", "b", "c"})
	for range 2 {
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Add(1)
		context.AfterFunc(ctx, func() { leaf(); wg.Done() })
		cancel()
		wg.Wait()
	}
	for range 4 {
		pprof.Do(context.Background(), pprof.Labels("a", "b"), func(context.Context) { leaf() })
	}
}

// What leaves and enters the runtime in unusual ways.
//
//want:context [main];main.main;main.tests;main.locked 2
//want:context [main];main.main;main.tests;main.locked;go main.locked.func1 2
//want:context [main];main.main;main.tests;main.deepStack 1
//want:context@default [main];main.main;main.tests;main.deepStack;main.grow 1
//want:context@default [main];main.main;main.tests;main.deepStack;main.grow;main.grow 5000
//want:func main.grow 5001
//go:noinline
func tests() {
	locked()
	locked()
	deepStack()
	debug.FreeOSMemory()
	time.Sleep(time.Millisecond)
	if _, err := os.Stat("/nonexistent"); err == nil {
		os.Exit(1)
	}
}

//go:noinline
func locked() {
	done := make(chan bool)
	go func() {
		leaf()
		close(done)
	}()
	<-done
}

//go:noinline
func deepStack() { grow(5000) }

//go:noinline
func grow(n int) [20]int {
	if n == 0 {
		return [20]int{}
	}
	a := grow(n - 1)
	a[n%20]++
	return a
}
