// Crypto compresses, hashes, encrypts and signs: short calls of assembly
// leaves below long chains of io.Reader and io.Writer.
package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"hash"
	"math/rand/v2"
	"os"
)

func main() {
	n := flag.Int("n", 5, "repetitions")
	size := flag.Int("size", 3<<20, "bytes of input")
	flag.Parse()
	input := prose(*size)
	sum := sha256.New()
	for i := range *n {
		if err := round(sum, input, i); err != nil {
			fmt.Fprintln(os.Stderr, "crypto:", err)
			os.Exit(1)
		}
	}
	fmt.Printf("checksum crypto %x\n", sum.Sum(nil)[:12])
}

// round does each kind of work once and adds the results to sum.
func round(sum hash.Hash, input []byte, i int) error {
	for _, c := range codecs {
		back, err := c.roundTrip(input)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if !bytes.Equal(back, input) {
			return fmt.Errorf("%s: output differs from input", c.name)
		}
		fmt.Fprintln(sum, c.name, len(back))
	}
	key := digests(sum, input, i)
	if err := seal(sum, key, input); err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	if err := sign(sum, key); err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	return agree(sum, key)
}

// prose returns size bytes that compress like text.
func prose(size int) []byte {
	rng := rand.New(rand.NewPCG(5, 8))
	words := make([]string, 3000)
	for i := range words {
		w := make([]byte, 2+rng.IntN(10))
		for j := range w {
			w[j] = byte('a' + rng.IntN(26))
		}
		words[i] = string(w) + " "
	}
	var b bytes.Buffer
	for b.Len() < size {
		// The product of two uniform numbers prefers small ones.
		b.WriteString(words[rng.IntN(len(words))*rng.IntN(len(words))/len(words)])
	}
	return b.Bytes()[:size]
}
