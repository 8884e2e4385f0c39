package base

import (
	"fmt"
	"io"
	"strings"
)

// A CommandHelp is what help says of a command.
type CommandHelp struct {
	Name, Args, Short, Long string
	Flags                   []FlagHelp
	Arguments               []string // what its argument may be if that is no file
}

// A FlagHelp is what help says of a flag.
type FlagHelp struct {
	Name, Value string   // Value: what it takes, "" if nothing
	Text        string   // what it does, with its default
	Values      []string // all that it takes, if that is known
	Optional    bool     // the value may be left out
}

// form is how the flag is typed.
func (f FlagHelp) form() string {
	switch {
	case f.Value == "":
		return "-" + f.Name
	case f.Optional:
		return "-" + f.Name + "[=" + f.Value + "]"
	}
	return "-" + f.Name + " " + f.Value
}

// names returns the names of commands.
func names(list []CommandHelp) (names []string) {
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}

// Help writes the usage line, the text and the flags of a command.
func (c *CommandHelp) Help(w io.Writer) {
	fmt.Fprintf(w, "usage: stemma %s\n", strings.TrimSpace(c.Name+" "+c.Args))
	if c.Long != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.Long))
	}
	if len(c.Flags) > 0 {
		fmt.Fprintf(w, "\nflags:\n")
		c.HelpFlags(w)
	}
}

// HelpFlags writes the flags of a command.
func (c *CommandHelp) HelpFlags(w io.Writer) {
	for _, f := range c.Flags {
		fmt.Fprintf(w, "  %s\n\t%s\n", f.form(), f.Text)
	}
}

// ManualPage writes the manual page of a version, as troff.
func ManualPage(w io.Writer, version string, list []CommandHelp) error {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH STEMMA 1 \"\" %q\n.SH NAME\nstemma \\- calling contexts of Go programs\n",
		roff("stemma "+version))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B stemma\n.I command\n.RI [ arguments ]\n.SH DESCRIPTION\nstemma gives every "+
		"moment of a Go program its calling context.\n.SH COMMANDS\n")
	for _, c := range list {
		fmt.Fprintf(&b, ".SS %s\n.B stemma %s\n%s\n.PP\n", c.Name, roff(c.Name), roff(c.Args))
		fmt.Fprintf(&b, "%s\n", roffLine(strings.ToUpper(c.Short[:1])+c.Short[1:]+"."))
		if c.Long != "" {
			fmt.Fprintf(&b, ".PP\n.nf\n")
			for line := range strings.Lines(strings.TrimSpace(c.Long)) {
				fmt.Fprintf(&b, "%s\n", roffLine(strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    ")))
			}
			fmt.Fprintf(&b, ".fi\n")
		}
		for _, f := range c.Flags {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(f.form()), roffLine(f.Text))
		}
	}
	fmt.Fprintf(&b, ".SH ENVIRONMENT\n")
	for _, v := range Variables {
		if v.Manual {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", v.Name, roffLine(v.Text))
		}
	}
	fmt.Fprintf(&b, ".SH EXIT STATUS\n0, or 1 if something failed, or 2 for a command line that cannot be. run and "+
		"test pass on the code of the program.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// roff writes s so that troff shows it as it is, in a line that has begun.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...", "·", `\(bu`, "←", `\(<-`, "'", `\(aq`, "`", `\(ga`,
		"^", `\(ha`, "~", `\(ti`).Replace(s)
}

// roffLine is roff for a whole line: a dot would begin a request.
func roffLine(s string) string {
	if s = roff(s); strings.HasPrefix(s, ".") {
		return `\&` + s
	}
	return s
}
