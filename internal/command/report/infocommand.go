package report

import (
	"bufio"
	"flag"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/outside"
	"github.com/stemma-go/stemma/internal/record/store"
)

// InfoCommand shows the raw profile, before package cct has interpreted it.
func InfoCommand() *base.Command {
	return &base.Command{
		Name:  "info",
		Args:  "[-text] [FILE|LIVEDIR...]",
		Short: "show where a profile comes from and what is in it",
		Long: `Info prints the processes, sizes and losses of a profile as it was recorded,
before inlined calls are expanded. With -text it prints the whole profile in
the text form that profile/FORMAT.md describes. Without a profile it takes the
newest here, as report does.
`,
		Flags: func(fs *flag.FlagSet) { new(infoOptions).declare(fs) },
		Pages: true,
		Run:   runInfo,
	}
}

// infoOptions are the flags of info.
type infoOptions struct {
	text  bool
	store outside.Store
}

func (o *infoOptions) declare(fs *flag.FlagSet) {
	fs.BoolVar(&o.text, "text", false, "print the text form")
	o.store.Declare(fs)
}

// runInfo prints the profile itself, not its expansion: it helps when the two
// seem to disagree.
func runInfo(e *base.Env, args []string) error {
	fs := flag.NewFlagSet("info", flag.ContinueOnError)
	var o infoOptions
	o.declare(fs)
	paths, err := base.Parse(fs, args)
	if err != nil {
		return err
	}
	if paths, err = o.store.Paths(e, "info", paths); err != nil {
		return err
	}
	rec, p, err := store.LoadSum(paths)
	if err != nil {
		return err
	}
	if o.text {
		return p.WriteText(e.Stdout)
	}
	w := bufio.NewWriter(e.Stdout)
	store.PrintSources(w, "", rec.Sources)
	Info(w, p)
	return w.Flush()
}
