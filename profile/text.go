package profile

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"time"
)

// textMagic is the first line of the text form; the number is its version.
const textMagic = "stemma profile 1"

var (
	funcKindNames = [numFuncKinds]string{"ordinary", "root", "overflow", "fault"}
	siteKindNames = [numSiteKinds]string{SiteCall: "call", SiteGo: "go", SiteDefer: "defer", SiteNative: "native",
		SitePanic: "panic", SiteDeferReturn: "deferreturn", SiteUnknown: "unknown"}
)

// String returns the word that the text form has for k.
func (k FuncKind) String() string {
	if k < numFuncKinds {
		return funcKindNames[k]
	}
	return fmt.Sprintf("FuncKind(%d)", uint8(k))
}

// String returns the word that the text form has for k.
func (k SiteKind) String() string {
	if k > 0 && k < numSiteKinds {
		return siteKindNames[k]
	}
	return fmt.Sprintf("SiteKind(%d)", uint8(k))
}

// WriteText writes p in the text form, which FORMAT.md describes. It returns
// an error if p is not valid.
func (p *Profile) WriteText(w io.Writer) error {
	if err := p.CheckValid(); err != nil {
		return err
	}
	if p.Contexts != nil {
		return fmt.Errorf("a record of context IDs has no text form")
	}
	t := &textWriter{bufio.NewWriter(w), p}
	t.line(textMagic)
	for _, proc := range p.Processes {
		t.process(proc)
	}
	for i := range p.Funcs {
		t.function(i, &p.Funcs[i])
	}
	for i, n := range p.Nodes {
		fmt.Fprintf(t.w, "node %d parent %d cell %d func %d counts", i, n.Parent, n.Cell, n.Func)
		for _, c := range p.NodeCounts(i) {
			fmt.Fprintf(t.w, " %d", c)
		}
		t.line("")
	}
	return t.w.Flush()
}

// A textWriter writes lines about p. Errors stay in w until its Flush.
type textWriter struct {
	w *bufio.Writer
	p *Profile
}

// line writes one line.
func (t *textWriter) line(format string, args ...any) { fmt.Fprintf(t.w, format+"\n", args...) }

// process writes the lines of a process; what is zero has none.
func (t *textWriter) process(proc Process) {
	t.line("process")
	for _, a := range proc.Args {
		t.line("\targ %q", a)
	}
	if proc.Run != 0 {
		t.line("\trun %016x", proc.Run)
	}
	t.line("\tpid %d", proc.PID)
	if !proc.Start.IsZero() {
		t.line("\tstart %s", proc.Start.UTC().Format(time.RFC3339Nano))
	}
	t.line("\tgo %q", proc.GoVersion)
	t.line("\tengine %q", proc.Engine)
	if proc.Full {
		t.line("\tfull")
	}
	if proc.Checked {
		t.line("\tchecked")
	}
	for _, l := range proc.Losses {
		t.line("\tlost %q %d", l.Kind, l.Count)
	}
	for _, n := range proc.Notes {
		t.line("\tnote %q", n)
	}
}

// function writes the lines of function i.
func (t *textWriter) function(i int, f *Func) {
	flags := ""
	if f.Flags&FuncWrapper != 0 {
		flags += " wrapper"
	}
	if f.Flags&FuncAsm != 0 {
		flags += " asm"
	}
	s := t.p.String
	t.line("func %d %v %q at %q %d cells %d counters %d%s", i, f.Kind, s(f.Name), s(f.File), f.Line, f.Cells, f.Counters, flags)
	for k, in := range f.Inlined {
		begin := ""
		if in.CalleeFile != 0 || in.CalleeLine != 0 {
			begin = fmt.Sprintf(" begins %q %d", s(in.CalleeFile), in.CalleeLine)
		}
		t.line("\tinlined %d in %s %q at %q %d counter %s%s", k, index(in.Parent), s(in.Callee), s(in.File), in.Line, index(in.Counter), begin)
	}
	for k, c := range f.Sites {
		t.line("\tsite %d %v in %s %q at %q %d cell %s counter %s", k, c.Kind, index(c.Inlined), s(c.Callee), s(c.File), c.Line, index(c.Cell), index(c.Counter))
	}
	for _, fr := range f.Frames {
		t.line("\tframe %q at %q %d", s(fr.Func), s(fr.File), fr.Line)
	}
}

// index formats an index that may be None.
func index(i int32) string {
	if i == None {
		return "-"
	}
	return strconv.Itoa(int(i))
}
