// Hello does nothing but start and end: what it takes is start-up.
package main

import "fmt"

func main() { fmt.Println("hello 1 run") }
