package decode

import (
	"flag"
	"os"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/outside"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/terminal"
)

// Command is the command that decodes context IDs.
func Command() *base.Command {
	return &base.Command{
		Name:  "decode",
		Args:  "[-format F] [-fingerprint] [FILE|LIVEDIR...] [ID...]",
		Short: "replace context IDs by the stacks that they stand for",
		Long: `Decode prints the stacks of the context IDs that are its arguments. Without
any, it copies standard input to standard output and replaces the IDs that it
finds in it by their stacks. The rest of the text stays as it is. So do IDs that are
damaged, or whose run has no record; their number is printed on standard error.

FILE is the record of a run: a sealed file or a live directory. The program may
still be running. FILE may also be a directory of any number of records, and there
may be several FILEs: each ID names its run, and is decoded with the record of that
run. Without FILE, decode uses all *.stemma and stemma.out/* in the working
directory, or $STEMMA_OUT/* if that is set. It can be started before the program:

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
standard input the stacks follow the line with the IDs. With -format=fingerprint an
ID is replaced by the 16 digits of its context's fingerprint, which is the same in
every process and build.

With -fingerprint decode prints a line for each ID, and nothing else of the text:
the fingerprint, and the functions that it stands for. So contexts of any number of
processes and builds can be counted:

	stemma decode -fingerprint stemma.out <srv.log | sort | uniq -c

It exits 1 if an argument is no ID of the program.
`,
		Flags: func(fs *flag.FlagSet) { decodeFlags(fs, new(flags)) },
		Run:   runDecode,
	}
}

// flags are those of decode.
type flags struct {
	format      string
	fingerprint bool
	store       outside.Store
}

// decodeFlags declares the flags, for parsing and for the help text.
func decodeFlags(fs *flag.FlagSet, f *flags) {
	base.ChoiceVar(fs, &f.format, "format", "", "print stacks as `F`: line, short, stack or fingerprint",
		base.Of(string(FormatLine), string(FormatShort), string(FormatStack), string(FormatFingerprint)))
	fs.BoolVar(&f.fingerprint, "fingerprint", false,
		"print a line for each ID: the fingerprint of the context, and its functions")
	f.store.Declare(fs)
}

// runDecode takes the first arguments for records, up to one that looks like an ID.
func runDecode(e *base.Env, args []string) error {
	fs := flag.NewFlagSet("decode", flag.ContinueOnError)
	var f flags
	decodeFlags(fs, &f)
	ids, err := base.Parse(fs, args)
	if err != nil {
		return err
	}
	stored, err := f.store.Given("decode")
	if err != nil {
		return err
	}
	var paths []string
	for len(ids) > 0 && !strings.HasPrefix(ids[0], ctxid.Prefix) && !ctxid.IsOld(ids[0]) {
		paths, ids = append(paths, ids[0]), ids[1:]
	}
	format := Format(f.format)
	switch {
	case f.fingerprint && format != "":
		return base.Usagef("decode: -fingerprint prints lines of its own; leave -format out")
	case f.fingerprint:
		format = formatCounted
	case format == "":
		format = FormatLine
		if len(ids) > 0 {
			format = FormatStack
		}
	}
	if err := format.checkDecode(); err != nil && !f.fingerprint {
		return err
	}
	if err := noLogs(fs, paths); err != nil {
		return err
	}
	set, err := Open(paths...)
	if err != nil {
		return err
	}
	if stored {
		set.Store = f.store.String()
		set.Fetch = func(runs ...uint64) ([]string, error) { return f.store.Runs(e.Stderr, runs...) }
	}
	if len(ids) > 0 {
		if err := set.Empty(); err != nil && !stored {
			return err
		}
		work := progress.Begin(e.Stderr, "decode")
		defer work.End()
		return set.WriteStacks(work.Output(e.Stdout), work.Output(e.Stderr), format, ids)
	}
	return translate(e, set, format)
}

// translate decodes a log. How far it is can be told of a file that is decoded into another; what a program is still
// writing, or what is seen as it comes, has only records to wait for.
func translate(e *base.Env, set *Set, format Format) error {
	var size int64
	if f, ok := e.Stdin.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
	}
	if f, ok := e.Stdout.(*os.File); size == 0 || ok && terminal.Is(f) {
		defer progress.BeginLines(e.Stderr, "decode").End()
		return set.Translate(e.Stdout, e.Stderr, e.Stdin, format)
	}
	work := progress.Begin(e.Stderr, "decode")
	defer work.End()
	from := progress.NewReader(e.Stdin)
	defer work.Step("", "bytes", from.Of(size))()
	return set.Translate(e.Stdout, work.Output(e.Stderr), from, format)
}
