package view

import (
	"flag"
	"fmt"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/outside"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/safefile"
	"github.com/stemma-go/stemma/profile"
)

// Command shows a record in a browser.
func Command() *base.Command {
	return &base.Command{
		Name:  "view",
		Args:  "[-base BASE] [-http ADDR] [-o PAGE.html] [FILE|LIVEDIR...]",
		Short: "look at a profile in a browser",
		Long: `View serves a page on this machine and opens it in a browser. Without a profile it
takes the newest here, as report does. The page shows

	flame, icicle  all contexts; a box is as wide as its calls with those below it
	sandwich       what leads to a function, and what it leads to
	functions      a table, as report prints it
	source         the lines of a function with the calls that they make
	goroutines     what started which goroutines, and what each kind did
	timeline       the epochs of an encoding of contexts
	peek           the direct callers and callees of a function, as a table

Press ? on the page for its keys. A hatched box stands for what is too small to
draw, with the number of contexts and calls; Enter opens it. The link in
the browser's address line restores what is on screen.

A search takes a part of a function's name, or a regular expression between slashes.
Focus, ignore and hide leave contexts out, as those of report do.

With -base it shows one tree with what has changed: red has grown, blue has shrunk,
violet is new. BASE is a record or a baseline.

A program that runs is read again every few seconds. For a record of context IDs view
shows the events, and decodes IDs that you paste into the search field.

A path, or BASE, may be pyroscope://HOST:PORT?service=NAME&from=24h: what 'stemma
collect -to' has pushed to a Pyroscope.

With -o it writes one file that needs nothing else, without what was too small to draw.
`,
		Flags: func(fs *flag.FlagSet) { new(viewOptions).declare(fs) },
		Run:   runView,
	}
}

type viewOptions struct {
	base, addr, out string
	noBrowser       bool
	store           outside.Store
}

func (o *viewOptions) declare(fs *flag.FlagSet) {
	fs.StringVar(&o.base, "base", "", "compare with `BASE`, a record or a baseline")
	fs.StringVar(&o.addr, "http", "127.0.0.1:0", "serve at `ADDR`; port 0 stands for a free one")
	fs.StringVar(&o.out, "o", "", "write a page to `FILE`, or - for standard output, and serve nothing")
	fs.BoolVar(&o.noBrowser, "no-browser", false, "do not open a browser")
	o.store.Declare(fs)
}

func runView(e *base.Env, args []string) error {
	var o viewOptions
	fs := flag.NewFlagSet("view", flag.ContinueOnError)
	o.declare(fs)
	paths, err := base.Parse(fs, args)
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := base.OnlyFlags(fs, "a page in a file",
			append([]string{"o", "base"}, outside.StoreFlags...)...); err != nil {
			return err
		}
	}
	if paths, err = o.store.Paths(e, "view", paths); err != nil {
		return err
	}
	if o.base != "" {
		files, err := outside.Local(e, []string{o.base})
		if err != nil {
			return err
		}
		o.base = files[0]
	}
	work := progress.Begin(e.Stderr, "view")
	defer work.End()
	v, sources, err := Open(paths, o.base)
	if err != nil {
		return err
	}
	store.PrintSources(work.Output(e.Stderr), "stemma: ", sources)
	if o.out == "-" {
		work.End()
		return v.Write(e.Stdout)
	}
	if o.out != "" {
		if err := safefile.Write(o.out, safefile.Private, v.Write); err != nil {
			return err
		}
		work.End()
		fmt.Fprintf(e.Stderr, "stemma: wrote %s; open it in a browser\n", profile.Printable(o.out))
		return nil
	}
	work.End()
	return Serve(v, o.addr, !o.noBrowser, e.Stderr)
}
