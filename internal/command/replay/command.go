package replay

import (
	"bufio"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/humanize"
)

// Command compares the encoders on events of any program, also of one that
// is not in Go.
func Command() *base.Command {
	return &base.Command{
		Name:  "replay",
		Args:  "[-encoders LIST] [-check N] [-format FORMAT] [-events] FILE|LIVEDIR",
		Short: "drive every context encoder with one stream of calls and returns",
		Long: `Replay reads the calls and returns of a program's run and drives the calling
context encoders with them:

	cct             the exact tree
	pcc             the hash
	pcce            one static numbering, without a profile
	pcce-profile    the same, with a profile of the same run
	dacce-edges     DACCE with an addition value for each edge
	dacce-counts    the same with counts of repetitions, as published
	dacce           DACCE with an addition value for each site, as in stemma
	lucce-versions  Lucce nearly as published
	lucce           Lucce as in stemma: the numbers of an edge do not change

It prints a table with a row for each:

	nodes, edges      functions and edges of the call graph; of the edges, those
	                  encoded (for dacce: static edges and dynamic sites)
	left out          edges that would make ids too large
	numCC, maxID      contexts that the encoding has ids for; the largest id
	ccStack           pushes; depth and max are its depth after a call
	compares          calls that had to look their target up
	epochs            numberings, or graph versions; costs(us) is their time
	interned          ccStack entries that captured contexts needed
	log, log bytes    what decoding needs beside the contexts
	memory            bytes that the encoder holds, without stacks
	truncated         calls whose context had no room
	collisions        contexts with the value of another one
	checked, wrong    contexts that were decoded and compared with the stack

LIVEDIR is the live directory of a program built with -record=calls. Its calls are
replayed in the order in which they were made, up to the end of its log, without
inlined calls and natives, which no encoder sees. A sealed profile has no single
calls. With -events, replay writes the calls to an event file for later use.

FILE is in the format that 'go doc github.com/stemma-go/stemma/internal/command/replay'
describes, or the output of uftrace dump; "-" is standard input, which can be read
only once and so leaves out pcce and pcce-profile. The exit code is 1 if any context
was decoded wrongly.
`,
		Flags: func(fs *flag.FlagSet) { new(replayOptions).declare(fs) },
		Run:   runReplay,
	}
}

// replayOptions are the flags of replay.
type replayOptions struct {
	Options
	encoders, format string
	events           bool
}

// declare declares the flags with their defaults, which it sets.
func (o *replayOptions) declare(fs *flag.FlagSet) {
	o.Options = DefaultOptions()
	fs.StringVar(&o.encoders, "encoders", strings.Join(o.Encoders, ","), "run the encoders of this `LIST`")
	base.ChoiceVar(fs, &o.format, "format", "text",
		"print the table as `FORMAT`: "+strings.Join(Formats(), ", "), Formats)
	fs.BoolVar(&o.events, "events", false, "write the events as an event file, and run no encoder")
	fs.IntVar(&o.Check, "check", o.Check, "decode and compare the context of every `N`th call; 0 for none")
	fs.Uint64Var(&o.MaxID, "maxid", o.MaxID,
		"keep the ids of dacce and dacce-edges up to `N`; 0 for what they can hold")
	fs.IntVar(&o.NewEdges, "newedges", o.NewEdges, "re-encode after `N` new edges; 0 only where the events ask for it")
	fs.IntVar(&o.Budget, "budget", o.Budget, "give lucce-versions a log of at most `N` entries")
}

// runReplay checks the flags before it reads, since traces are large.
func runReplay(e *base.Env, args []string) error {
	var o replayOptions
	fs := flag.NewFlagSet("replay", flag.ContinueOnError)
	o.declare(fs)
	files, err := base.Parse(fs, args)
	if err != nil {
		return err
	}
	if o.events {
		if err := base.OnlyFlags(fs, "a list of events", "events"); err != nil {
			return err
		}
	}
	o.Encoders = strings.Split(o.encoders, ",")
	if err := o.CheckValid(); err != nil {
		return base.Usagef("replay: %w", err)
	}
	if !slices.Contains(Formats(), o.format) {
		return base.Usagef("replay: -format: have %q, want one of %s", o.format, strings.Join(Formats(), ", "))
	}
	if len(files) != 1 {
		return base.Usagef("replay: have %s, want one; name a live directory, or a file of calls and returns",
			humanize.Plural(len(files), "file"))
	}
	source := NewSource(files[0], e.Stdin)
	defer source.Close()
	if o.events {
		return writeEvents(e, source)
	}
	result, err := Run(source.Open, o.Options)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(e.Stdout)
	if err := result.Write(w, o.format); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if n := result.Mismatches(); n > 0 {
		return fmt.Errorf("%s: %s decoded wrongly", files[0], humanize.Plural(n, "context was", "contexts were"))
	}
	return nil
}

// writeEvents writes the events to standard output.
func writeEvents(e *base.Env, source *Source) error {
	r, err := source.Open()
	if err != nil {
		return err
	}
	return WriteEvents(e.Stdout, r)
}
