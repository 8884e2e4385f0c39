package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

var vocabulary = strings.Fields(`stone river cloud maple lantern harbor winter copper
	meadow signal thread orchard ember canyon pebble feather compass hollow`)

// author writes one page of Markdown.
type author struct {
	strings.Builder
	rng *rand.Rand
}

// source returns page i, the same each time.
func source(i int) []byte {
	a := &author{rng: rand.New(rand.NewPCG(uint64(i), 3))}
	fmt.Fprintf(a, "# Page %d about %s\n\nIntro[^a] text.\n\n[^a]: A note with %s.\n\n", i, a.word(), a.inline())
	for s := range 6 + i%5 {
		fmt.Fprintf(a, "## %s %d {.c%d}\n\n%s\n\n", a.word(), s, s, a.line(40))
		a.list(4, "")
		a.table(6)
		fmt.Fprintf(a, "### %s\n\n> %s\n>\n> > %s\n\n", a.word(), a.line(12), a.line(9))
		fmt.Fprintf(a, "```go\nfor i := range %d {\n\tuse(i)\n}\n```\n\n", s)
		fmt.Fprintf(a, "%s\n: %s\n\n- [x] %s\n- [ ] %s\n\n", a.word(), a.line(8), a.line(3), a.line(3))
	}
	return []byte(a.String())
}

func (a *author) word() string { return vocabulary[a.rng.IntN(len(vocabulary))] }

// inline returns a word or a construct made of words.
func (a *author) inline() string {
	w, v := a.word(), a.word()
	switch a.rng.IntN(16) {
	case 0:
		return "*" + w + " **" + v + "***"
	case 1:
		return "`" + w + "`"
	case 2:
		return "[" + w + " *" + v + "*](/" + v + " 'about \"" + w + "\"')"
	case 3:
		return "![" + w + "](img/" + v + ".png)"
	case 4:
		return "~~" + w + "~~ -- \"" + v + "\"..."
	case 5:
		return "www.example.org/" + w + "?" + v + " &amp; <i>" + w + "</i>"
	}
	return w
}

func (a *author) line(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = a.inline()
	}
	return strings.Join(parts, " ")
}

func (a *author) list(depth int, indent string) {
	if depth == 0 {
		return
	}
	for range 2 {
		fmt.Fprintf(a, "%s1. %s\n", indent, a.line(5))
	}
	a.list(depth-1, indent+"   ")
	if indent == "" {
		a.WriteByte('\n')
	}
}

func (a *author) table(rows int) {
	a.WriteString("| left | mid | right |\n|:--|:-:|--:|\n")
	for range rows {
		fmt.Fprintf(a, "| %s | %s | %s |\n", a.line(2), a.inline(), a.line(2))
	}
	a.WriteByte('\n')
}
