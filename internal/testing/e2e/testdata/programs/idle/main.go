// Program idle has goroutines that wait as long as it runs, each kind in a function of its own.
package main

import (
	"net"
	"sync"
	"time"
)

const long = time.Second

//go:noinline
func receive(c chan int) { <-c }

//go:noinline
func send(c chan int) { c <- 1 }

//go:noinline
func choose(a, b chan int) {
	select {
	case <-a:
	case <-b:
	}
}

//go:noinline
func sleep() { time.Sleep(2 * long) }

//go:noinline
func lock(mu *sync.Mutex) { mu.Lock() }

//go:noinline
func condition(c *sync.Cond) {
	c.L.Lock()
	c.Wait()
}

//go:noinline
func group(wg *sync.WaitGroup) { wg.Wait() }

//go:noinline
func read(c net.Conn) { c.Read(make([]byte, 1)) }

func main() {
	var mu sync.Mutex
	mu.Lock()
	var wg sync.WaitGroup
	wg.Add(1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	go receive(make(chan int))
	go send(make(chan int))
	go choose(make(chan int), make(chan int))
	go sleep()
	go lock(&mu)
	go condition(sync.NewCond(new(sync.Mutex)))
	go group(&wg)
	go read(c)
	time.Sleep(long)
}
