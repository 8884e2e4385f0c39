// Std calibrates tables of costs. It runs code of the standard library that none of bench's programs spends its time
// in, and loops of operations that most programs seldom execute but some live on: rotations, swapped bytes, products of
// two words, floating point.
package main

import (
	"flag"
	"fmt"
	"hash/crc64"
)

// tasks are what the program does. Each returns bytes that depend on all that it has computed.
var tasks = []struct {
	name string
	run  func() []byte
}{
	{"suffixes", suffixes}, {"pictures", pictures}, {"lzw", words}, {"json", objects}, {"xml", elements},
	{"csv", records}, {"floats", floats}, {"sort", sorted}, {"times", times}, {"urls", urls}, {"text", columns},
	{"gob", gobs}, {"heap", heaps}, {"bits", bitwise}, {"wide", wide}, {"orbits", orbits}, {"fractal", fractal},
	{"bytes", packed}, {"waves", waves}, {"cipher", cipher}, {"matrix", matrix}, {"division", division},
	{"shifts", shifts}, {"narrow", narrow}, {"distant", distant}, {"framed", framed},
}

func main() {
	n := flag.Int("n", 3, "how often to do all")
	only := flag.String("only", "", "do this task only")
	flag.Parse()
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	for range *n {
		for _, t := range tasks {
			if *only == "" || *only == t.name {
				sum.Write(t.run())
			}
		}
	}
	fmt.Printf("checksum std %016x\n", sum.Sum64())
}
