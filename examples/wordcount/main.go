// Wordcount counts the words of its standard input, in two ways: with a map, and with a list that is searched from the
// beginning. Both are quick on a short text; the number of calls of same shows which of them will not stay so.
//
//	stemma run ./examples/wordcount <ARCHITECTURE.md
//	stemma report -func=main.same
package main

import (
	"bufio"
	"fmt"
	"os"
)

// A counter counts words.
type counter interface {
	add(word string)
	words() int
}

// mapped counts in a map.
type mapped map[string]int

func (m mapped) add(word string) { m[word]++ }
func (m mapped) words() int      { return len(m) }

// listed counts in a list.
type listed []entry

type entry struct {
	word string
	n    int
}

func (l *listed) add(word string) {
	for i := range *l {
		if same((*l)[i].word, word) {
			(*l)[i].n++
			return
		}
	}
	*l = append(*l, entry{word, 1})
}

func (l *listed) words() int { return len(*l) }

// same is a function of its own, so that the comparisons are calls.
func same(a, b string) bool { return a == b }

func main() {
	counters := []counter{mapped{}, &listed{}}
	in := bufio.NewScanner(os.Stdin)
	in.Split(bufio.ScanWords)
	for in.Scan() {
		for _, c := range counters {
			c.add(in.Text())
		}
	}
	fmt.Println(counters[0].words(), "words")
}
