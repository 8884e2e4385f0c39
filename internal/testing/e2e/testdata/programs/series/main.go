// Series prints what goroutines draw at random. With MORE in the environment it starts others, too.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
)

func main() {
	draw("main")
	for range 3 {
		more()
		wait(work)
		draw("main")
	}
	wait(other)
	draw("main")
}

// wait waits for a goroutine.
func wait(f func(done chan bool)) {
	done := make(chan bool)
	go f(done)
	<-done
}

func more() {
	if os.Getenv("MORE") != "" {
		done := make(chan bool)
		go func() {
			rand.Uint64()
			close(done)
		}()
		<-done
	}
}

func work(done chan bool) {
	draw("work")
	close(done)
}

func other(done chan bool) {
	draw("other")
	close(done)
}

// draw prints a number, and in which order a map comes.
func draw(who string) {
	fmt.Print(who, " ", rand.Uint64())
	for k := range map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true} {
		fmt.Print(" ", k)
	}
	fmt.Println()
}
