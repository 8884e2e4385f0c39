package decode

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/humanize"
)

// How text is read.
//
// Text comes in chunks, whatever its lines are like, so that neither a log of any
// size nor a line of any length needs more memory than some chunks and what the decoder
// keeps. An ID is looked for by its prefix; what may be the beginning of an ID at the end
// of a chunk is kept for the next one, and nothing else is: a line is never held back.
// Chunks are read while the last one is worked on, and what was written goes out as soon
// as there is no other chunk.

// Bounds of what a replacer keeps.
const (
	chunkSize  = 1 << 18
	maxPending = 1 << 24 // bytes of stacks that wait for the end of a line
)

// A replacer copies text and replaces context IDs in it.
type replacer struct {
	w       *bufio.Writer
	set     *Set
	format  Format
	buf     []byte // for a stack; decoding one that is known is faster than keeping its text
	pending []byte // stacks that follow the line, in FormatStack
	line    logLine
	ahead   []byte // what of the chunk line has not passed

	replaced, damaged, old, unknown uint64
	why                             error // the first one that is unknown
}

func NewReplacer(w io.Writer, set *Set, format Format) *replacer {
	r := &replacer{w: bufio.NewWriterSize(w, chunkSize), set: set, format: format}
	set.ahead = r.runs
	return r
}

// runs yields the runs of the IDs in the chunk that is worked on, from where line has not passed.
func (r *replacer) runs(yield func(uint64) bool) {
	for b := r.ahead; ; b = b[len(idFamily):] {
		i := bytes.Index(b, idFamily)
		if i < 0 || len(b)-i < ctxid.Len {
			return
		}
		b = b[i:]
		if id, err := ctxid.Parse(b[:ctxid.Len]); err == nil && !yield(id.Run) {
			return
		}
	}
}

// A textChunk is text that was read, behind room for what is kept of the one before.
type textChunk struct {
	buf []byte // of ctxid.Len + chunkSize bytes
	n   int    // bytes that were read
	err error
}

// readChunks reads in, into two chunks by turns, until an error, io.EOF for one. It ends
// when done is closed, after the read that it is in.
func readChunks(in io.Reader, done <-chan struct{}) (full <-chan textChunk, free chan<- []byte) {
	chunks, empty := make(chan textChunk), make(chan []byte, 2)
	for range 2 {
		empty <- make([]byte, ctxid.Len+chunkSize)
	}
	go func() {
		for {
			c := textChunk{buf: <-empty}
			c.n, c.err = in.Read(c.buf[ctxid.Len:])
			select {
			case chunks <- c:
			case <-done:
				return
			}
			if c.err != nil {
				return
			}
		}
	}()
	return chunks, empty
}

// Copy replaces what it finds in in. The error is that of reading or of writing, or that in is compressed.
func (r *replacer) Copy(in io.Reader) error {
	done := make(chan struct{})
	defer close(done)
	full, free := readChunks(in, done)
	var kept []byte
	for first := true; ; first = false {
		var c textChunk
		select {
		case c = <-full:
		default:
			// in may be the output of a running program, which says no more for long.
			if err := r.w.Flush(); err != nil {
				return err
			}
			c = <-full
		}
		if command := compressed(c.buf[ctxid.Len : ctxid.Len+c.n]); first && command != "" {
			return base.Usagef("decode: the text is compressed; decompress it: %s LOG | stemma decode", command)
		}
		b := c.buf[ctxid.Len-len(kept) : ctxid.Len+c.n]
		copy(b, kept)
		kept = append(kept[:0], b[r.chunk(b, c.err != nil):]...)
		free <- c.buf
		if c.err != nil {
			if err := r.w.Flush(); err != nil || errors.Is(c.err, io.EOF) {
				return err
			}
			return c.err
		}
	}
}

// idFamily is what the texts of IDs of all versions begin with.
var idFamily = []byte(ctxid.Prefix[:len(ctxid.Prefix)-1])

// chunk replaces what it finds in b and returns how much of it is done with: what is
// left may be the beginning of an ID. At the end of the text all is done with.
func (r *replacer) chunk(b []byte, end bool) (done int) {
	r.ahead = b
	defer func() {
		r.line.pass(r.ahead[:len(r.ahead)-len(b)+done])
		r.ahead = nil // it is read over
	}()
	for {
		rest := b[done:]
		i := bytes.Index(rest, idFamily)
		if i < 0 {
			i = len(rest)
			for k := len(idFamily) - 1; k > 0 && !end; k-- {
				if bytes.HasSuffix(rest, idFamily[:k]) {
					i -= k
					break
				}
			}
			r.text(rest[:i])
			return r.finish(done+i, end)
		}
		r.text(rest[:i])
		done += i
		if rest = rest[i:]; !end && mayBeID(rest) {
			return done
		}
		done += r.id(rest)
	}
}

// mayBeID reports whether b, which is too short for an ID, may be the beginning of one.
func mayBeID(b []byte) bool {
	return len(b) < ctxid.Len && ctxid.DigitsIn(b) == len(b)
}

// finish writes the stacks of a last line that has no end, and returns done.
func (r *replacer) finish(done int, end bool) int {
	if end && len(r.pending) > 0 {
		r.text([]byte{'\n'})
	}
	return done
}

// id replaces the ID that b may begin with and returns the length of what it has
// dealt with: of what is no ID only its first letters, as one may begin right behind them.
func (r *replacer) id(b []byte) int {
	switch {
	case len(b) >= ctxid.OldLen && ctxid.IsOld(b[:ctxid.OldLen]):
		r.old++
		r.text(b[:ctxid.OldLen])
		return ctxid.OldLen
	case !bytes.HasPrefix(b, []byte(ctxid.Prefix)):
	case len(b) < ctxid.Len:
		r.damaged++
	default:
		text, ok := r.lookup([ctxid.Len]byte(b))
		if !ok {
			break
		}
		r.replaced++
		if r.format == formatCounted {
			r.w.Write(text)
			return ctxid.Len
		}
		if r.format != FormatStack {
			r.inLine(text, b)
			return ctxid.Len
		}
		r.text(b[:ctxid.Len])
		if len(r.pending) < maxPending {
			r.pending = append(r.pending, text...)
		}
		return ctxid.Len
	}
	r.text(b[:len(idFamily)])
	return len(idFamily)
}

// inLine writes a stack instead of the ID that b begins with. Most IDs stand in quotes or
// on their own; only where there is a = before one the line matters, or where the stack has
// what must be escaped in quotes: names of files may.
func (r *replacer) inLine(stack, b []byte) {
	before := r.ahead[:len(r.ahead)-len(b)]
	special := bytes.ContainsAny(stack, `"\`)
	if special || len(before) == 0 || before[len(before)-1] == '=' {
		r.line.pass(before)
		r.ahead = b
		value := r.line.isValue(b[ctxid.Len:])
		if value {
			r.text([]byte{'"'})
			defer r.text([]byte{'"'})
		}
		if special && (value || r.line.quoted) {
			stack = quoteEscaper.ReplaceAll(stack, []byte(`\$0`))
		}
	}
	r.text(stack)
}

// quoteEscaper matches what must be escaped in quotes, in JSON as in key="value".
var quoteEscaper = regexp.MustCompile(`["\\]`)

// lookup returns what an ID is to be replaced by. It is valid until the next call.
func (r *replacer) lookup(text [ctxid.Len]byte) ([]byte, bool) {
	id, err := ctxid.Parse(text[:])
	if err != nil {
		r.damaged++
		return nil, false
	}
	s, err := r.set.Decode(id)
	if err != nil {
		if r.unknown++; r.why == nil {
			r.why = fmt.Errorf("%s: %w", text[:], err)
		}
		return nil, false
	}
	r.buf = r.set.append(r.buf[:0], r.format, s, "\t")
	return r.buf, true
}

// text writes text unless only fingerprints are asked for, and behind the end of a line the stacks of the IDs in it. An
// error stays in the writer.
func (r *replacer) text(b []byte) {
	if r.format == formatCounted {
		return
	}
	if len(r.pending) > 0 {
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			r.w.Write(b[:i+1])
			r.w.Write(r.pending)
			r.pending, b = r.pending[:0], b[i+1:]
		}
	}
	r.w.Write(b)
}

// Summarize says what was left as it was.
func (r *replacer) Summarize(w io.Writer) {
	r.set.reportCollisions(w)
	if r.damaged > 0 {
		fmt.Fprintf(w, "stemma: %s\n",
			humanize.Plural(r.damaged, "text begins like an ID but is none, or is damaged; it was left as it is",
				"texts begin like IDs but are none, or are damaged; they were left as they are"))
	}
	if r.old > 0 {
		fmt.Fprintf(w, "stemma: %s the stemma that built the program\n",
			humanize.Plural(r.old, "ID is of an earlier version and was left as it is: decode it with",
				"IDs are of an earlier version and were left as they are: decode them with"))
	}
	if r.unknown > 0 {
		fmt.Fprintf(w, "stemma: %s %v\n", humanize.Plural(r.unknown, "ID cannot be decoded and was left as it is:",
			"IDs cannot be decoded and were left as they are; the first:"), r.why)
	}
}
