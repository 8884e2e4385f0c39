// Hello does nothing but start and end: what it takes is start-up.
package main

import (
	"fmt"
	"os"
	"regexp"
)

func main() {
	fmt.Println("hello 1 run")
	if len(os.Args) > 1 && os.Args[1] == "memory" {
		memory()
	}
}

// memory prints how much memory is resident now. The high-water mark would have that of the process
// that started this one.
func memory() {
	status, err := os.ReadFile("/proc/self/status")
	if m := regexp.MustCompile(`(?m)^VmRSS:\s*(\d+) kB$`).FindSubmatch(status); err == nil && m != nil {
		fmt.Printf("resident %s kB\n", m[1])
	}
}
