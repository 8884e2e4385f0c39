// Timers has ten thousand functions of timers ask for their context, on goroutines that the runtime's timers start, and
// prints how many know what started them, and how many do not.
package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/stemma-go/stemma"
)

func main() {
	var mu sync.Mutex
	asked := map[stemma.ID]int{}
	for range 200 {
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Add(1)
			time.AfterFunc(time.Duration(i%7)*50*time.Microsecond, func() {
				defer wg.Done()
				id := stemma.Here()
				mu.Lock()
				defer mu.Unlock()
				asked[id]++
			})
		}
		wg.Wait()
	}
	known, unknown := 0, 0
	for id, n := range asked {
		s, err := stemma.Decode(id)
		if text := s.String(); err == nil && strings.Contains(text, "time.goFunc") && strings.Contains(text, "[timer]") {
			known += n
			continue
		}
		unknown += n
		fmt.Printf("%d times %v: %v\n", n, s, err)
	}
	fmt.Println(known, unknown)
}
