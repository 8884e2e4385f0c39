// Package replay drives every calling context encoder with the same stream of calls and returns.
//
// # Format
//
// An event file is text, one event or definition a line. Its first line is
//
//	stemma-events 1
//
// Fields are separated by single spaces; empty lines, and those that begin with #,
// are skipped. Numbers are decimal and below 1<<32. Definitions come before use,
// anywhere in the file:
//
//	func F NAME         function F is called NAME, which is the rest of the line
//	site S F KIND [AT]  call site S lies in function F; KIND is static (one
//	                    target, ever), dynamic or go; AT is the rest of the line,
//	                    a position for readers
//
// Functions are numbered from 1 in the order of definition, sites from 0. Function
// 0 is the root: what calls a program from outside. Its sites are the places from
// which main, init functions, timers, or callbacks from C are entered.
//
// Events concern the current goroutine. That is number 0 at the beginning, and
// stands at the root.
//
//	on G                goroutine G is the current one from here on
//	call S F            function F is entered from site S of the current function
//	ret [N]             N frames are left, 1 if N is not given
//	unwind N            frames are left until N remain (a panic that was recovered,
//	                    longjmp); the root is no frame
//	go G S F            goroutine G starts with a call of F, from a go site of the
//	                    current function
//	start G             goroutine G starts at the root
//	exit                the current goroutine ends, from whatever depth; nothing but
//	                    "on" and "start" can follow
//	reencode            encoders that can give out new addition values do so
//
// A goroutine that "go" has started cannot leave its first frame: it exits. Numbers
// of goroutines may be used again after an exit. A panic that nothing recovers, or
// runtime.Goexit, is an exit; calls of deferred functions are calls.
//
// The text that uftrace dump writes is read as well. Each task is a goroutine that
// starts at the root. It has no call sites: for each pair of caller and callee
// there is one static site.
//
// # Recorded calls
//
// [NewRecorded] reads what a program built with -record=calls has logged: every
// entry of a function that stemma instruments, in order. Its events differ from
// those of a file in what nobody observes: a function returns, at the latest, when its
// goroutine enters something that is not below it; there its Unwind stands.
// Inlined calls and natives are no events, and generated wrappers that are functions
// of their own are functions here. The runtime's own calls (of timers, finalizers,
// the collector's callbacks) begin at the root, in goroutines of their own where
// they interrupt another. [WriteEvents] makes a file of any stream.
package replay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/stemma-go/stemma/internal/encoder"
)

// Magic is the first line of an event file.
const Magic = "stemma-events 1"

// A Kind is a kind of [Event].
type Kind uint8

// The kinds of events. They are the methods of a [cce.Encoder].
const (
	Call Kind = iota
	Unwind
	Go
	Start
	Exit
	Reencode
)

// An Event is one thing that a program does. Fields that its kind does not have are zero.
type Event struct {
	Kind  Kind
	G     encoder.Goroutine
	Call  encoder.Call      // of Call and Go
	Depth int               // of Unwind: frames that remain
	Child encoder.Goroutine // of Go
}

// apply makes e happen in an encoder.
func (e Event) apply(enc encoder.Encoder) {
	switch e.Kind {
	case Call:
		enc.Call(e.G, e.Call.Site, e.Call.Func)
	case Unwind:
		enc.Unwind(e.G, e.Depth)
	case Go:
		enc.Go(e.G, e.Call.Site, e.Call.Func, e.Child)
	case Start:
		enc.Start(e.G)
	case Exit:
		enc.Exit(e.G)
	case Reencode:
		enc.Reencode()
	}
}

// check makes e happen in the shadow, or returns why it cannot happen.
func (e Event) check(s *encoder.Shadow) error {
	switch e.Kind {
	case Call:
		return s.Call(e.G, e.Call.Site, e.Call.Func)
	case Unwind:
		return s.Unwind(e.G, e.Depth)
	case Go:
		return s.Go(e.G, e.Call.Site, e.Call.Func, e.Child)
	case Start:
		return s.Start(e.G)
	case Exit:
		return s.Exit(e.G)
	}
	return nil
}

// A Reader reads events. It has checked what it returns against the program.
// Errors name file and line.
type Reader struct {
	p      *encoder.Program
	shadow *encoder.Shadow
	parse  func(line string) (Event, bool, error)

	in    *bufio.Scanner
	name  string
	line  int
	first string // a line that was read to find out the format
	again bool   // and is still to be parsed
	g     encoder.Goroutine
	dump  *dump

	queue []Event // that are to happen: a line can be several events
	rec   *recorded
}

// maxLine bounds a line, for which memory is taken.
const maxLine = 1 << 20

// NewReader finds out which format in has. Errors call it name.
func NewReader(in io.Reader, name string) (*Reader, error) {
	p := encoder.NewProgram()
	r := &Reader{p: p, shadow: encoder.NewShadow(p), in: bufio.NewScanner(in), name: name}
	r.in.Buffer(nil, maxLine)
	line, err := r.next()
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case line == Magic:
		r.parse = r.parseText
	case strings.HasPrefix(line, "stemma-events "):
		return nil, r.errorf("version %q, want 1", strings.TrimPrefix(line, "stemma-events "))
	case isDump(line):
		r.dump = newDump()
		r.parse, r.first, r.again = r.parseDump, line, true
	case strings.HasPrefix(line, "stemma\x00"):
		return nil, fmt.Errorf("%s: a sealed profile has no calls; name the live directory of a program built with "+
			"-record=calls", name)
	default:
		return nil, r.errorf("not an event file: the first line is %.40q, want %q, or the text of uftrace dump",
			line, Magic)
	}
	return r, nil
}

// Program returns what has been defined so far. It grows with reading.
func (r *Reader) Program() *encoder.Program { return r.p }

// errorf returns an error about the current line.
func (r *Reader) errorf(format string, args ...any) error {
	if r.rec != nil {
		return fmt.Errorf("%s: %w", r.name, r.rec.fail(fmt.Errorf(format, args...)))
	}
	return fmt.Errorf("%s:%d: %w", r.name, r.line, fmt.Errorf(format, args...))
}

// next returns the next line, or io.EOF.
func (r *Reader) next() (string, error) {
	if r.again {
		r.again = false
		return r.first, nil
	}
	if !r.in.Scan() {
		r.line++
		if errors.Is(r.in.Err(), bufio.ErrTooLong) {
			return "", r.errorf("line longer than %d bytes", maxLine)
		}
		if err := r.in.Err(); err != nil {
			return "", r.errorf("%w", err)
		}
		return "", io.EOF
	}
	r.line++
	return strings.TrimSuffix(r.in.Text(), "\r"), nil
}

// Next returns the next event, or io.EOF. The event has happened in Shadow.
func (r *Reader) Next() (Event, error) {
	for {
		if len(r.queue) > 0 {
			e := r.queue[0]
			r.queue = r.queue[1:]
			return r.happen(e)
		}
		if r.rec != nil {
			var err error
			if r.queue, err = r.rec.next(r.queue[:0]); err != nil {
				return Event{}, err
			}
			continue
		}
		line, err := r.next()
		if err != nil {
			return Event{}, err
		}
		e, ok, err := r.parse(line)
		if err != nil {
			return Event{}, r.errorf("%w", err)
		}
		if ok {
			return r.happen(e)
		}
	}
}

// happen checks an event.
func (r *Reader) happen(e Event) (Event, error) {
	if err := e.check(r.shadow); err != nil {
		return Event{}, r.errorf("%w", err)
	}
	return e, nil
}

// Shadow returns the stacks as they are after the last event.
func (r *Reader) Shadow() *encoder.Shadow { return r.shadow }

// parseText parses a line of the text format. It returns false if there is no
// event in it.
func (r *Reader) parseText(line string) (Event, bool, error) {
	if line == "" || line[0] == '#' {
		return Event{}, false, nil
	}
	word, rest, _ := strings.Cut(line, " ")
	f := &fields{rest: rest}
	e := Event{G: r.g}
	switch word {
	case "func", "site":
		return Event{}, false, r.define(word, f)
	case "on":
		r.g = encoder.Goroutine(f.number())
		return Event{}, false, f.end()
	case "call":
		e.Call = encoder.Call{Site: encoder.Site(f.number()), Func: encoder.Func(f.number())}
	case "ret":
		e.Kind, e.Depth = Unwind, r.shadow.Depth(r.g)-f.optional(1)
	case "unwind":
		e.Kind, e.Depth = Unwind, int(f.number())
	case "go":
		e.Kind, e.Child = Go, encoder.Goroutine(f.number())
		e.Call = encoder.Call{Site: encoder.Site(f.number()), Func: encoder.Func(f.number())}
	case "start":
		e.Kind, e.G = Start, encoder.Goroutine(f.number())
	case "exit":
		e.Kind = Exit
	case "reencode":
		e.Kind = Reencode
	default:
		return Event{}, false, fmt.Errorf("unknown word %.20q", word)
	}
	return e, true, f.end()
}

// define adds a function or a site to the program.
func (r *Reader) define(word string, f *fields) error {
	number := f.number()
	if word == "func" {
		if f.err == nil && int(number) != r.p.Funcs {
			return fmt.Errorf("function %d is defined, but %d is next", number, r.p.Funcs)
		}
		if f.err == nil && f.rest == "" {
			return fmt.Errorf("function %d has no name", number)
		}
		r.p.AddFunc()
		return f.err
	}
	caller := f.number()
	kind, err := siteKind(f.word())
	switch {
	case f.err != nil:
		return f.err
	case err != nil:
		return err
	case int(number) != len(r.p.Sites):
		return fmt.Errorf("site %d is defined, but %d is next", number, len(r.p.Sites))
	case int(caller) >= r.p.Funcs:
		return fmt.Errorf("site %d lies in function %d, which is not defined", number, caller)
	}
	r.p.AddSite(encoder.Func(caller), kind)
	return nil
}

func siteKind(word string) (encoder.SiteKind, error) {
	for _, k := range []encoder.SiteKind{encoder.Static, encoder.Dynamic, encoder.Go} {
		if k.String() == word {
			return k, nil
		}
	}
	return 0, fmt.Errorf("unknown kind of site %.20q; want static, dynamic or go", word)
}

// fields takes a line apart. The first error stays.
type fields struct {
	rest string
	err  error
}

// word returns the next field, "" at the end.
func (f *fields) word() string {
	var w string
	w, f.rest, _ = strings.Cut(f.rest, " ")
	return w
}

// number returns the next field as a number.
func (f *fields) number() uint32 {
	w := f.word()
	n, err := strconv.ParseUint(w, 10, 32)
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("have %.20q, want a number from 0 to %d", w, uint32(math.MaxUint32))
	}
	return uint32(n)
}

// optional returns the next field as a number, or what it stands for if missing.
func (f *fields) optional(missing int) int {
	if f.rest == "" {
		return missing
	}
	return int(f.number())
}

// end returns the first error, also that there is more on the line.
func (f *fields) end() error {
	if f.err == nil && f.rest != "" {
		return fmt.Errorf("unexpected %.20q at the end of the line", f.rest)
	}
	return f.err
}
