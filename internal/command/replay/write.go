package replay

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/stemma-go/stemma/internal/encoder"
)

// A writer writes events as the text that [NewReader] reads.
type writer struct {
	*bufio.Writer
	in    *Reader
	funcs int // that have been defined, with the root
	sites int
	g     encoder.Goroutine
}

// WriteEvents writes the events of r as an event file. Functions and sites are
// defined before their first use; those of recorded calls have their names.
func WriteEvents(w io.Writer, r *Reader) error {
	out := &writer{Writer: bufio.NewWriter(w), in: r, funcs: 1}
	fmt.Fprintln(out, Magic)
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		out.define()
		out.event(e)
	}
	for _, note := range r.Notes() {
		fmt.Fprintln(out, "# note:", note)
	}
	return out.Flush()
}

// define writes what has been added to the program.
func (w *writer) define() {
	p := w.in.Program()
	for ; w.funcs < p.Funcs; w.funcs++ {
		fmt.Fprintln(w, "func", w.funcs, w.in.Name(encoder.Func(w.funcs)))
	}
	for ; w.sites < len(p.Sites); w.sites++ {
		s := p.Sites[w.sites]
		fmt.Fprintln(w, strings.TrimSpace(fmt.Sprintln("site", w.sites, s.Caller, s.Kind,
			w.in.Place(encoder.Site(w.sites)))))
	}
}

// Name returns the name of a function that has been defined. Those of a file are
// not kept.
func (r *Reader) Name(f encoder.Func) string {
	if r.rec != nil && f != encoder.Root && r.rec.names[f-1] != "" {
		return r.rec.names[f-1]
	}
	return fmt.Sprint("function.", f)
}

// Place returns the position of a site that has been defined, "" if it is not known.
func (r *Reader) Place(s encoder.Site) string {
	if r.rec != nil {
		return r.rec.places[s]
	}
	return ""
}

// event writes one event.
func (w *writer) event(e Event) {
	if e.G != w.g && e.Kind != Start && e.Kind != Reencode {
		fmt.Fprintln(w, "on", e.G)
		w.g = e.G
	}
	switch e.Kind {
	case Call:
		fmt.Fprintln(w, "call", e.Call.Site, e.Call.Func)
	case Unwind:
		fmt.Fprintln(w, "unwind", e.Depth)
	case Go:
		fmt.Fprintln(w, "go", e.Child, e.Call.Site, e.Call.Func)
	case Start:
		fmt.Fprintln(w, "start", e.G)
	case Exit:
		fmt.Fprintln(w, "exit")
	case Reencode:
		fmt.Fprintln(w, "reencode")
	}
}
