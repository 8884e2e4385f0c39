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
the text form that profile/FORMAT.md describes.
`,
		Flags: func(fs *flag.FlagSet) { infoFlags(fs) },
		Pages: true,
		Run:   runInfo,
	}
}

// infoFlags declares the flags, for parsing and for the help text.
func infoFlags(fs *flag.FlagSet) *bool {
	return fs.Bool("text", false, "print the text form")
}

// runInfo prints the profile itself, not its expansion: it helps when the two
// seem to disagree.
func runInfo(e *base.Env, args []string) error {
	fs := flag.NewFlagSet("info", flag.ContinueOnError)
	text := infoFlags(fs)
	paths, err := base.Parse(fs, args)
	if err != nil {
		return err
	}
	if paths, err = outside.Local(e, paths); err != nil {
		return err
	}
	rec, p, err := store.LoadSum(paths)
	if err != nil {
		return err
	}
	if *text {
		return p.WriteText(e.Stdout)
	}
	w := bufio.NewWriter(e.Stdout)
	store.PrintSources(w, "", rec.Sources)
	Info(w, p)
	return w.Flush()
}
