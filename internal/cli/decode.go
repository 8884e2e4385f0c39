package cli

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/profile"
)

// decodeCommand tells what context IDs stand for.
func decodeCommand() *command {
	return &command{
		name:  "decode",
		args:  "[-format F] [FILE|LIVEDIR] [ID...]",
		short: "replace context IDs by the stacks that they stand for",
		long: `Decode prints the stacks of the context IDs that are its arguments. Without
any, it copies standard input to standard output and replaces the IDs that it
finds in it by their stacks. The rest of the text stays as it is, and so do IDs
that are damaged or of another process; how many there were is said on standard
error.

FILE is the record of the program: a sealed file, or a live directory, also that
of a program that is still running and whose output is read, or a directory of
live directories of several programs. Without it, decode takes the newest
*.stemma or stemma.out/* in the working directory.

With -format=line, the default for standard input, a stack is one line, innermost
frame first; it has neither quotes nor backslashes, and fits a JSON string:

	main.pay pay.go:12 ← main.serve serve.go:40 ←go main.main serve.go:9 ← [main]

A file and line tell where the function calls what stands before it, "←go" a go
statement, and the name in brackets what called the program. With -format=short
outer frames are left out of long ones. With -format=stack, the default for
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
	if len(ids) > 0 && !strings.HasPrefix(ids[0], ctxid.Prefix) {
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
	set, err := loadContexts(path)
	if err != nil {
		return err
	}
	if len(ids) > 0 {
		return decodeArgs(e, set, format, ids)
	}
	r := newReplacer(e.stdout, set, format)
	if err := r.copy(e.stdin); err != nil {
		return err
	}
	r.summarize(e.stderr)
	return nil
}

// decodeArgs prints the stack of each argument, all that can be decoded. The reason
// for each one that cannot goes to standard error, and the exit code is 1 then: who
// gives an ID as an argument wants it decoded, where a log may have others in it.
func decodeArgs(e *env, set *contextSet, format stackFormat, ids []string) error {
	w := bufio.NewWriter(e.stdout)
	refused := 0
	for _, text := range ids {
		var id profile.ContextID
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
func printStack(w io.Writer, set *contextSet, format stackFormat, text string, id profile.ContextID) error {
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
// size nor a line of any length needs more memory than a chunk and what the decoder keeps. An ID
// is looked for by its prefix; the last bytes of a chunk, which may be the beginning
// of an ID, are kept for the next one.

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

	replaced, damaged, unknown uint64
	why                        error // the first one that is unknown
}

func newReplacer(w io.Writer, set *contextSet, format stackFormat) *replacer {
	return &replacer{w: bufio.NewWriterSize(w, chunkSize), set: set, format: format}
}

// copy replaces what it finds in in. The error is that of reading or of writing. What has come so far is written before more is
// waited for: in may be the output of a running program.
func (r *replacer) copy(in io.Reader) error {
	buf := make([]byte, chunkSize)
	kept := 0
	for {
		n, err := in.Read(buf[kept:])
		done := r.chunk(buf[:kept+n], err != nil)
		kept = copy(buf, buf[done:kept+n])
		if n < chunkSize/2 || err != nil {
			if ferr := r.w.Flush(); ferr != nil {
				return ferr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// chunk replaces what it finds in b and returns how much of it is done with; at the
// end of the text that is all.
func (r *replacer) chunk(b []byte, end bool) (done int) {
	for {
		rest := b[done:]
		i := bytes.Index(rest, []byte(ctxid.Prefix))
		if i < 0 {
			i = len(rest)
			if !end {
				i = max(0, len(rest)-len(ctxid.Prefix)+1)
			}
			r.text(rest[:i])
			return r.finish(done+i, end)
		}
		r.text(rest[:i])
		done += i
		rest = rest[i:]
		if len(rest) < ctxid.Len && !end {
			return done
		}
		done += r.id(rest)
	}
}

// finish writes the stacks of a last line that has no end, and returns done.
func (r *replacer) finish(done int, end bool) int {
	if end && len(r.pending) > 0 {
		r.text([]byte{'\n'})
	}
	return done
}

// id replaces the ID that b may begin with and returns the length of what it has
// dealt with: of what is no ID only the prefix, as one may begin right behind it.
func (r *replacer) id(b []byte) int {
	if len(b) >= ctxid.Len {
		if text, ok := r.lookup([ctxid.Len]byte(b)); ok {
			r.replaced++
			if r.format != formatStack {
				r.text(text)
				return ctxid.Len
			}
			r.text(b[:ctxid.Len])
			if len(r.pending) < maxPending {
				r.pending = append(r.pending, text...)
			}
			return ctxid.Len
		}
	} else {
		r.damaged++
	}
	r.text(b[:len(ctxid.Prefix)])
	return len(ctxid.Prefix)
}

// lookup returns what an ID is to be replaced by. It is valid until the next call.
func (r *replacer) lookup(text [ctxid.Len]byte) ([]byte, bool) {
	var id profile.ContextID
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
		fmt.Fprintf(w, "stemma: %s left as they are: damaged, or no IDs\n", plural(int(r.damaged), "text that begins like an ID", "texts that begin like IDs"))
	}
	if r.unknown > 0 {
		fmt.Fprintf(w, "stemma: %s left as they are; the first: %v\n", plural(int(r.unknown), "ID that cannot be decoded", "IDs that cannot be decoded"), r.why)
	}
}
