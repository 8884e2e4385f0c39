package stemma

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/fingerprint"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/internal/record/pinned"
)

// A Stack is what an ID decodes to.
type Stack struct {
	// Sections are the goroutine's own frames, then those of the goroutine that
	// started it, at the go statement, and so on.
	Sections []Section
	// Root is what called the outermost function, for example main, "" if it is not known.
	Root string
	// Truncated is the reason why the outer part is not known, "" if it is known.
	Truncated string

	sum fingerprint.Sum
}

// A Fingerprint names a calling context by 64 bits that are the same in every process and every build of a program. So
// contexts can be counted, or compared, whatever process they are from. It is made of the names of functions; those
// between functions of the standard library do not count. The zero Fingerprint stands for none.
type Fingerprint uint64

// String returns 16 hexadecimal digits, or "" for the zero Fingerprint.
func (f Fingerprint) String() string { return fingerprint.Value(f).String() }

// Fingerprint returns the fingerprint of the context that the stack was decoded from, zero for a stack that was not
// decoded. Changes to the stack do not change it.
func (s Stack) Fingerprint() Fingerprint { return Fingerprint(s.sum.Functions) }

// LineFingerprint returns the fingerprint of all functions of the context, and of the lines of their calls. It is the
// same in every process of one build, and in rebuilds of the same source.
func (s Stack) LineFingerprint() Fingerprint { return Fingerprint(s.sum.Lines) }

// A Section is a part of a stack that is one goroutine's, innermost frame first.
type Section []Frame

// A Frame is a function, and the place in it where it calls the one before it.
type Frame struct {
	Func, File string
	Line       int
	Inlined    bool // into the next frame

	// PC is the program counter of the frame as runtime.Callers returns it, for runtime.CallersFrames and what builds
	// on it. It means something in this process only. It is 0 if it is not known.
	PC uintptr
}

// String returns the stack in the form of a traceback: two lines for each frame.
func (s Stack) String() string {
	var b strings.Builder
	for i, section := range s.Sections {
		if i > 0 {
			b.WriteString("started by\n")
		}
		for _, f := range section {
			b.WriteString(f.Func + "\n\t" + f.File + ":" + strconv.Itoa(f.Line) + "\n")
		}
	}
	if s.Truncated != "" {
		return b.String() + "[truncated: " + s.Truncated + "]\n"
	}
	return b.String() + "[" + s.Root + "]\n"
}

// Decode returns the stack that the ID of a context of this process stands for,
// without the functions of this package at its top. It reads what the program has
// recorded, as the command stemma decode does. The first call takes milliseconds
// and memory; later calls read what is new. Use it to show a stack at once, for
// example on a debug page. For logs use the command.
//
// Decode returns an error for the zero ID, for an ID of another run, and in a normal
// build.
func Decode(id ID) (Stack, error) {
	switch {
	case id.IsZero():
		return Stack{}, errors.New("the zero ID has no stack")
	case runtimeAPI == nil:
		return Stack{}, errors.New("the program is not built to decode IDs: use stemma build " +
			engine.Giving(engine.IDs))
	}
	own.mu.Lock()
	defer own.mu.Unlock()
	return own.decode(ctxid.ID{Hi: id.hi, Lo: id.lo, Run: id.run})
}

// own decodes the IDs of this process.
var own ownDecoder

// An ownDecoder keeps what was read of the live directory, and of segments beside it.
type ownDecoder struct {
	mu           sync.Mutex
	records      []*decode.Run // by when they were used: at most maxOwn, the last one first
	fingerprints decode.Fingerprints
	other        uint64    // a run that no segment had when that was looked for last
	looked       time.Time // when that was
}

// lookEvery is how often at most a segment of one run is looked for.
const lookEvery = time.Second

// maxOwn is how many segments are kept open. IDs of a moment are of one, or of two where one has just begun.
const maxOwn = 3

// decode returns the stack of an ID.
func (o *ownDecoder) decode(id ctxid.ID) (Stack, error) {
	s, err := o.stack(id)
	if err != nil {
		return Stack{}, err
	}
	s = s.Trim()
	out := stackOf(s)
	out.sum = o.fingerprints.Of(s)
	return out, nil
}

// stack decodes an ID by the segment that it is of.
func (o *ownDecoder) stack(id ctxid.ID) (decode.Stack, error) {
	for i, run := range o.records {
		if run.Number() != id.Run {
			continue
		}
		o.records = slices.Insert(slices.Delete(o.records, i, i+1), 0, run)
		return run.Decode(id)
	}
	if len(o.records) > 0 && o.other == id.Run && time.Since(o.looked) < lookEvery {
		return o.records[0].Decode(id) // which says that it is of another run
	}
	o.other, o.looked = id.Run, time.Now()
	run, err := openOwn(id.Run)
	if err != nil {
		return decode.Stack{}, err
	}
	o.records = slices.Insert(o.records, 0, run)
	o.records = o.records[:min(len(o.records), maxOwn)]
	return run.Decode(id)
}

// openOwn reads the segment of this process that has a run number: the live directory, or one beside it. They may
// change their names meanwhile. Of an ID of another process it reads the live directory, which says that.
func openOwn(number uint64) (*decode.Run, error) {
	dir := runtimeAPI.Dir()
	if dir == "" {
		return nil, errors.New("the program has nowhere to record")
	}
	open := func(dir string) (*decode.Run, error) {
		rec, err := record.Open(pinned.Files(dir))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		return decode.NewRun(rec)
	}
	const tries = 3
	for range tries {
		for _, path := range append([]string{dir}, segmentsOf(dir)...) {
			if has, err := ids.LiveRun(os.DirFS(path)); err != nil || has != number {
				continue
			}
			if run, err := open(path); err == nil && run.Number() == number {
				return run, nil
			}
		}
	}
	return open(dir)
}

// segmentsOf returns the segments beside a live directory, the newest first.
func segmentsOf(dir string) (paths []string) {
	up, name := filepath.Split(dir)
	entries, _ := os.ReadDir(up) // sorted; in part, if it fails
	for _, e := range slices.Backward(entries) {
		if number, ok := strings.CutPrefix(e.Name(), name+"."); ok && strings.Trim(number, "0123456789") == "" {
			paths = append(paths, up+e.Name())
		}
	}
	return paths
}

// stackOf copies a decoded stack.
func stackOf(s decode.Stack) Stack {
	out := Stack{Sections: []Section{sectionOf(nil, s.Group)}}
	l := s.Up
	for ; l.Up != nil; l = l.Up {
		if l.Via == decode.ViaGo {
			out.Sections = append(out.Sections, nil)
		}
		last := &out.Sections[len(out.Sections)-1]
		*last = sectionOf(*last, l.Group)
	}
	if l.Via == decode.ViaCut {
		out.Truncated = l.End
	} else {
		out.Root = l.End
	}
	return out
}

// sectionOf appends the frames of a group to a section.
func sectionOf(s Section, g *decode.Group) Section {
	first := len(s)
	for _, f := range g.Frames {
		s = append(s, Frame{Func: f.Func, File: f.File, Line: f.Line, Inlined: f.Inlined})
	}
	setPCs(s[first:], uintptr(g.Return))
	return s
}

// setPCs sets the program counters of the frames of one compiled function that makes a call that returns to an address.
// That is the one of the innermost frame. Those of the functions that it is inlined into are addresses that package
// runtime makes up, so they are asked from there. The frames may lack some of the innermost ones. An address that does
// not lead to the functions of the frames is not one of theirs.
func setPCs(frames []Frame, returns uintptr) {
	if returns == 0 || len(frames) == 0 {
		return
	}
	// An address that follows makes package runtime go through the functions that the first is inlined into.
	found := runtime.CallersFrames([]uintptr{returns, returns})
	var pcs []uintptr
	var names []string
	for more := true; more; {
		var f runtime.Frame
		f, more = found.Next()
		pcs, names = append(pcs, f.PC+1), append(names, f.Function)
		if f.Func != nil {
			break // the function itself
		}
	}
	skip := len(pcs) - len(frames)
	if skip < 0 {
		return
	}
	for i := range frames {
		if names[skip+i] == frames[i].Func {
			frames[i].PC = pcs[skip+i]
		}
	}
}
