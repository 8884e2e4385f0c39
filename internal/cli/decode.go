package cli

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/stemma-go/stemma/internal/ctxid"
)

// decodeCommand tells what context IDs stand for.
func decodeCommand() *command {
	return &command{
		name:  "decode",
		args:  "[-format F] [FILE|LIVEDIR] [ID...]",
		short: "replace context IDs by the stacks that they stand for",
		long: `Decode prints the stacks of the context IDs that are its arguments. Without
any, it copies standard input to standard output and replaces the IDs that it
finds in it by their stacks. The rest of the text stays as it is. So do IDs that are
damaged, or whose run has no record; their number is printed on standard error.

FILE is the record of the run: a sealed file or a live directory. The program may
still be running. FILE may also be a directory of any number of records: each ID
names its run, and is decoded with the record of that run. Without FILE, decode
uses all *.stemma and stemma.out/* in the working directory. It can be started
before the program:

	./srv 2>&1 | stemma decode stemma.out
	tail -f srv.log | stemma decode stemma.out

With -format=line, the default for standard input, a stack is one line, innermost
frame first. It has no quotes or backslashes, so it fits into a JSON string. An ID
without quotes, as slog's text handler writes it, becomes a stack in quotes:

	main.pay pay.go:12 ← main.serve serve.go:40 ←go main.main serve.go:9 ← [main]

File and line are those of the call of the function before it. "←go" is a go
statement. The name in brackets is what called the program. -format=short leaves
outer frames out of long stacks. With -format=stack, the default for
arguments, each frame has two lines as in a panic's trace, with whole paths; in
standard input the stacks follow the line with the IDs.

It exits 1 if an argument is no ID of the program.
`,
		flags: func(fs *flag.FlagSet) { decodeFlags(fs) },
		run:   runDecode,
	}
}

// decodeFlags declares the flags, for parsing and for the help text.
func decodeFlags(fs *flag.FlagSet) *string {
	return fs.String("format", "", "print stacks as `F`: line, short or stack")
}

// runDecode takes the first argument for the record unless it looks like an ID.
func runDecode(e *env, args []string) error {
	fs := flag.NewFlagSet("decode", flag.ContinueOnError)
	flagFormat := decodeFlags(fs)
	ids, err := parseMixed(e, fs, args)
	if err != nil {
		return err
	}
	path := ""
	if len(ids) > 0 && !strings.HasPrefix(ids[0], ctxid.Prefix) && !ctxid.IsOld(ids[0]) {
		path, ids = ids[0], ids[1:]
	}
	format := stackFormat(*flagFormat)
	if format == "" {
		format = formatLine
		if len(ids) > 0 {
			format = formatStack
		}
	}
	if err := format.check(); err != nil {
		return err
	}
	set, err := openContexts(path)
	if err != nil {
		return err
	}
	if len(ids) > 0 {
		if err := set.empty(); err != nil {
			return err
		}
		return decodeArgs(e, set, format, ids)
	}
	return decodeText(e, set, format)
}

// decodeText replaces the IDs in standard input. Its program may begin after this one,
// so that it is no error before the end if there is no record.
func decodeText(e *env, set *contextSet, format stackFormat) error {
	before := set.empty()
	if before != nil {
		fmt.Fprintf(e.stderr, "stemma: no record yet: %v; waiting for IDs and their record\n", before)
	}
	r := newReplacer(e.stdout, set, format)
	if err := r.copy(e.stdin); err != nil {
		return err
	}
	r.summarize(e.stderr)
	if err := set.empty(); err != nil && before != nil {
		return errors.New("the text has ended, and there is still no record")
	} else if err != nil {
		return err
	}
	return nil
}

// decodeArgs prints the stack of each argument, all that can be decoded. The reason
// for each one that cannot goes to standard error, and the exit code is 1 then: who
// gives an ID as an argument wants it decoded, where a log may have others in it.
func decodeArgs(e *env, set *contextSet, format stackFormat, ids []string) error {
	w := bufio.NewWriter(e.stdout)
	refused := 0
	for _, text := range ids {
		var id ctxid.ID
		var err error
		if id.Hi, id.Lo, id.Run, err = ctxid.Parse(text); err == nil {
			err = printStack(w, set, format, text, id)
		}
		if err != nil {
			refused++
			fmt.Fprintf(e.stderr, "stemma: %s: %v\n", text, err)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if refused > 0 {
		return &exitError{code: exitFailure}
	}
	return nil
}

// printStack prints one stack, in several lines below its ID.
func printStack(w io.Writer, set *contextSet, format stackFormat, text string, id ctxid.ID) error {
	s, err := set.decode(id)
	if err != nil {
		return err
	}
	b := []byte(text + "\n")
	if format != formatStack {
		b = nil
	}
	if b = format.append(b, s, "\t"); format != formatStack {
		b = append(b, '\n')
	}
	_, err = w.Write(b)
	return err
}

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
	set     *contextSet
	format  stackFormat
	buf     []byte // for a stack; decoding one that is known is faster than keeping its text
	pending []byte // stacks that follow the line, in formatStack
	line    logLine
	ahead   []byte // what of the chunk line has not passed

	replaced, damaged, old, unknown uint64
	why                             error // the first one that is unknown
}

func newReplacer(w io.Writer, set *contextSet, format stackFormat) *replacer {
	return &replacer{w: bufio.NewWriterSize(w, chunkSize), set: set, format: format}
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

// copy replaces what it finds in in. The error is that of reading or of writing.
func (r *replacer) copy(in io.Reader) error {
	done := make(chan struct{})
	defer close(done)
	full, free := readChunks(in, done)
	var kept []byte
	for {
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
	defer func() { r.line.pass(r.ahead[:len(r.ahead)-len(b)+done]) }()
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
		if r.format != formatStack {
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

// inLine writes a stack in place of the ID that b begins with. Most IDs stand in quotes or
// by themselves; only where there is a = before one the line matters, or where the stack has
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
	var id ctxid.ID
	var err error
	if id.Hi, id.Lo, id.Run, err = ctxid.Parse(text[:]); err != nil {
		r.damaged++
		return nil, false
	}
	s, err := r.set.decode(id)
	if err != nil {
		if r.unknown++; r.why == nil {
			r.why = fmt.Errorf("%s: %w", text[:], err)
		}
		return nil, false
	}
	r.buf = r.format.append(r.buf[:0], s, "\t")
	return r.buf, true
}

// text writes text, and behind the end of a line the stacks of the IDs in it. An
// error stays in the writer.
func (r *replacer) text(b []byte) {
	if len(r.pending) > 0 {
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			r.w.Write(b[:i+1])
			r.w.Write(r.pending)
			r.pending, b = r.pending[:0], b[i+1:]
		}
	}
	r.w.Write(b)
}

// summarize says what was left as it was.
func (r *replacer) summarize(w io.Writer) {
	if r.damaged > 0 {
		fmt.Fprintf(w, "stemma: %s\n", plural(r.damaged, "text begins like an ID but is none, or is damaged; it was left as it is",
			"texts begin like IDs but are none, or are damaged; they were left as they are"))
	}
	if r.old > 0 {
		fmt.Fprintf(w, "stemma: %s the stemma that built the program\n", plural(r.old, "ID is of an earlier version and was left as it is: decode it with",
			"IDs are of an earlier version and were left as they are: decode them with"))
	}
	if r.unknown > 0 {
		fmt.Fprintf(w, "stemma: %s %v\n", plural(r.unknown, "ID cannot be decoded and was left as it is:",
			"IDs cannot be decoded and were left as they are; the first:"), r.why)
	}
}
