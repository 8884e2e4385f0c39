// Package export writes calling context trees in the formats of other tools.
package export

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// A writer writes one format.
// It must not keep w, which is buffered and flushed by Write, nor change p or t. A
// format shows each context with its exact count, or, if it cannot show contexts,
// exact counts of callers and callees; contexts that were not entered have none.
type writer func(w io.Writer, p *profile.Profile, t *cct.Tree) error

// formats holds the writers by the names that the flag -format takes.
var formats = map[string]writer{
	"pprof":      writePprof,
	"pgo":        writePGO,
	"folded":     writeFolded,
	"speedscope": writeSpeedscope,
	"callgrind":  writeCallgrind,
}

// Formats returns the names of the formats, in alphabetical order.
func Formats() []string {
	var names []string
	for name := range formats {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Write writes t, the expansion of p, in the format of that name.
// t may be trimmed or folded: of p only the description of the program is used. An
// error is one of w, or says which formats there are; after that part of
// the output may have been written.
func Write(w io.Writer, format string, p *profile.Profile, t *cct.Tree) error {
	write := formats[format]
	if write == nil {
		return fmt.Errorf("unknown format %q (want %s)", format, strings.Join(Formats(), ", "))
	}
	bw := bufio.NewWriterSize(w, 1<<16)
	if err := write(bw, p, t); err != nil {
		return err
	}
	return bw.Flush()
}

// GoStart is the name of a frame that formats without marks for frames put
// between the go statement's function and the one that it starts.
const GoStart = "[go]"

// command returns the command line of the first process.
// Of a merged profile that is the one that started first.
func command(p *profile.Profile) string {
	if len(p.Processes) == 0 {
		return ""
	}
	return profile.Printable(strings.Join(p.Processes[0].Args, " "))
}

// A walk goes from context to context, and has the path to each. Contexts that follow each other in a tree mostly share
// most of it.
type walk struct {
	t    *cct.Tree
	path []uint32 // nodes, from the root to the context
	more []uint32 // of the path to the next one
}

func newWalk(t *cct.Tree) *walk { return &walk{t: t, path: []uint32{0}} }

// to makes x.path that of context n, and returns how many of its nodes are those of the path before.
func (x *walk) to(n uint32) (kept int) {
	x.more = x.more[:0]
	for {
		for x.path[len(x.path)-1] > n { // a parent comes before its children: no such node is above n
			x.path = x.path[:len(x.path)-1]
		}
		if x.path[len(x.path)-1] == n {
			break
		}
		x.more = append(x.more, n)
		n = x.t.Nodes[n].Parent
	}
	kept = len(x.path)
	for _, m := range slices.Backward(x.more) {
		x.path = append(x.path, m)
	}
	return kept
}
