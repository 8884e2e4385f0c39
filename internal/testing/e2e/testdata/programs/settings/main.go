// Program settings does a little of all that a GODEBUG setting may change, and ends as it is told to.
package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"time"
)

var parts = []func() error{panics, goroutines, maps, timers, finalizers, stacks, collections, packages, network}

func main() {
	if os.Getenv("TRACED") != "" {
		trace.Start(io.Discard)
	}
	for i, part := range parts {
		leaf()
		if err := part(); err != nil {
			fmt.Println(i, err)
		}
	}
	if os.Getenv("TRACED") != "" {
		trace.Stop()
	}
	switch os.Getenv("END") {
	case "panic":
		pprof.Do(context.Background(), pprof.Labels("which", "last"), func(context.Context) { worker() })
	case "fault":
		var p *int
		*p = leafs
	case "exit":
		os.Exit(7)
	}
	fmt.Println("leafs", leafs)
}

var leafs int

//go:noinline
func leaf() { leafs++ }

// worker panics on a goroutine that another one has started.
func worker() {
	done := make(chan bool)
	go func() {
		go func() { panic("the last one") }()
		<-done
	}()
	<-done
}

// panics recovers from panics, also of nil and in a deferred function.
func panics() error {
	var got []string
	for _, f := range []func(){
		func() { panic("one") },
		func() { panic(nil) },
		func() { defer func() { panic("two") }(); panic("three") },
		func() { var m map[string]int; m["x"] = 1 },
		func() { var a []int; _ = a[leafs] },
		runtime.Goexit,
	} {
		said := make(chan string)
		go func() {
			defer func() { leaf(); said <- fmt.Sprint(recover()) }()
			f()
		}()
		got = append(got, <-said)
	}
	fmt.Println(got)
	return nil
}

// goroutines starts many, which wait for each other.
func goroutines() error {
	var all sync.WaitGroup
	var mu sync.Mutex
	sum := 0
	items := make(chan []int)
	for range 20 {
		all.Go(func() {
			for s := range items {
				mu.Lock()
				leaf()
				sum += len(s)
				mu.Unlock()
			}
		})
	}
	for i := range 500 {
		items <- make([]int, i)
	}
	close(items)
	all.Wait()
	fmt.Println(sum)
	return nil
}

func maps() error {
	m := map[string][]byte{}
	for i := range 2000 {
		m[fmt.Sprint(i%700)] = append(m[fmt.Sprint(i%300)], byte(i))
	}
	for i := range 500 {
		delete(m, fmt.Sprint(i))
	}
	n := 0
	for _, v := range m {
		n += len(v)
	}
	fmt.Println(len(m), n)
	return nil
}

func timers() error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 10 {
		<-tick.C
	}
	called := make(chan bool)
	time.AfterFunc(time.Millisecond, func() { called <- true })
	<-called
	t := time.NewTimer(time.Hour)
	fmt.Println(len(t.C), cap(t.C), t.Stop(), t.Reset(time.Hour), t.Stop())
	select {
	case <-time.After(time.Millisecond):
	case <-t.C:
		return errors.New("a stopped timer")
	}
	return nil
}

type thing struct {
	next *thing
	data [4]int
}

// finalizers waits for some, unless they never run. It prints nothing of what collections decide.
func finalizers() error {
	ran := make(chan bool, 200)
	for range 50 {
		t := new(thing)
		runtime.SetFinalizer(t, func(*thing) { ran <- true })
		u := new(thing)
		runtime.AddCleanup(u, func(int) { ran <- true }, 1)
	}
	for range 3 {
		runtime.GC()
	}
	select {
	case <-ran:
	case <-time.After(100 * time.Millisecond):
	}
	return nil
}

// stacks grow and shrink.
func stacks() error {
	done := make(chan int)
	go func() { done <- deep(5000) }()
	n := <-done
	runtime.GC()
	fmt.Println(n)
	return nil
}

//go:noinline
func deep(n int) int {
	var a [10]int
	a[n%10] = n
	if n == 0 {
		return 0
	}
	return 1 + deep(n-1) + a[(n+1)%10]
}

var kept [][]byte

func collections() error {
	for i := range 2000 {
		b := make([]byte, 4096)
		if i%100 == 0 {
			kept = append(kept, b)
		}
	}
	var st runtime.MemStats
	runtime.ReadMemStats(&st)
	fmt.Println(len(kept), st.HeapAlloc > 0)
	return nil
}

// packages calls into some that have settings.
func packages() error {
	r := rand.New(rand.NewSource(1))
	rand.Seed(1)
	fmt.Println(r.Intn(1000), len(fmt.Sprint(rand.Int())) > 0)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	w.WriteHeader(&tar.Header{Name: "../x", Size: 1, Mode: 0o600})
	w.Write([]byte("x"))
	w.Close()
	h, err := tar.NewReader(&b).Next()
	fmt.Println(h != nil, err)
	_, err = exec.LookPath("no such command")
	fmt.Println(err)
	out, err := exec.Command("/bin/sh", "-c", "echo $((6*7))").Output()
	fmt.Printf("%s%v\n", out, err)
	var v any
	fmt.Println(json.Unmarshal([]byte(`{"a":[1,2,{"b":null}]}`), &v), v)
	fmt.Printf("%x\n", sha256.Sum256([]byte("abc")))
	files, err := filepath.Glob("/dev/nul*")
	fmt.Println(slices.Contains(files, "/dev/null"), err, strings.Repeat("x", 3))
	return nil
}

func network() error {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err == nil {
			io.Copy(c, c)
			c.Close()
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	fmt.Fprint(c, "hello")
	c.(*net.TCPConn).CloseWrite()
	b, err := io.ReadAll(c)
	fmt.Println(string(b), err)
	return c.Close()
}
