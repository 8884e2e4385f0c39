package cli

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/exit"
	"github.com/stemma-go/stemma/internal/lookup"
	"github.com/stemma-go/stemma/internal/process"
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
func runDecode(e *process.Env, args []string) error {
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
	format := lookup.Format(*flagFormat)
	if format == "" {
		format = lookup.FormatLine
		if len(ids) > 0 {
			format = lookup.FormatStack
		}
	}
	if err := format.Check(); err != nil {
		return err
	}
	set, err := lookup.Open(path)
	if err != nil {
		return err
	}
	if len(ids) > 0 {
		if err := set.Empty(); err != nil {
			return err
		}
		return decodeArgs(e, set, format, ids)
	}
	return decodeText(e, set, format)
}

// decodeText replaces the IDs in standard input. Its program may begin after this one,
// so that it is no error before the end if there is no record.
func decodeText(e *process.Env, set *lookup.Set, format lookup.Format) error {
	before := set.Empty()
	if before != nil {
		fmt.Fprintf(e.Stderr, "stemma: no record yet: %v; waiting for IDs and their record\n", before)
	}
	r := lookup.NewReplacer(e.Stdout, set, format)
	if err := r.Copy(e.Stdin); err != nil {
		return err
	}
	r.Summarize(e.Stderr)
	if err := set.Empty(); err != nil && before != nil {
		return errors.New("the text has ended, and there is still no record")
	} else if err != nil {
		return err
	}
	return nil
}

// decodeArgs prints the stack of each argument, all that can be decoded. The reason
// for each one that cannot goes to standard error, and the exit code is 1 then: who
// gives an ID as an argument wants it decoded, where a log may have others in it.
func decodeArgs(e *process.Env, set *lookup.Set, format lookup.Format, ids []string) error {
	w := bufio.NewWriter(e.Stdout)
	refused := 0
	for _, text := range ids {
		var id ctxid.ID
		var err error
		if id.Hi, id.Lo, id.Run, err = ctxid.Parse(text); err == nil {
			err = printStack(w, set, format, text, id)
		}
		if err != nil {
			refused++
			fmt.Fprintf(e.Stderr, "stemma: %s: %v\n", text, err)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if refused > 0 {
		return &exit.Error{Code: exit.Failure}
	}
	return nil
}

// printStack prints one stack, in several lines below its ID.
func printStack(w io.Writer, set *lookup.Set, format lookup.Format, text string, id ctxid.ID) error {
	s, err := set.Decode(id)
	if err != nil {
		return err
	}
	b := []byte(text + "\n")
	if format != lookup.FormatStack {
		b = nil
	}
	if b = format.Append(b, s, "\t"); format != lookup.FormatStack {
		b = append(b, '\n')
	}
	_, err = w.Write(b)
	return err
}
