package cli

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/exit"
	"github.com/stemma-go/stemma/internal/export"
	"github.com/stemma-go/stemma/internal/lookup"
	"github.com/stemma-go/stemma/internal/process"
	"github.com/stemma-go/stemma/internal/report"
)

// completionCommand prints what a shell needs to complete command lines.
func completionCommand() *command {
	return &command{
		name:  "completion",
		args:  "bash|zsh|fish",
		short: "print a script that completes stemma's command lines in a shell",
		long: `
Completion prints a script that makes a shell complete commands, flags and their
values. For this shell:

	source <(stemma completion bash)          # in ~/.bashrc
	source <(stemma completion zsh)           # in ~/.zshrc, behind compinit
	stemma completion fish | source           # in ~/.config/fish/config.fish`,
		run: runCompletion,
	}
}

// shells are the shells that there is a script for.
var shells = []string{"bash", "fish", "zsh"}

// runCompletion prints the script for one shell.
func runCompletion(e *process.Env, args []string) error {
	args, err := parseMixed(e, flag.NewFlagSet("completion", flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	if len(args) != 1 || !slices.Contains(shells, args[0]) {
		return exit.Usagef("completion: want one of %s; see 'stemma help completion'", strings.Join(shells, ", "))
	}
	var b strings.Builder
	map[string]func(*strings.Builder){"bash": bashScript, "fish": fishScript, "zsh": zshScript}[args[0]](&b)
	_, err = io.WriteString(e.Stdout, b.String())
	return err
}

// A flagHelp is a flag as help, completion and the manual show it.
type flagHelp struct {
	name, value string   // value: what it takes, "" if nothing
	text        string   // what it does, with its default
	values      []string // all that it takes, if that is known
}

// flagsOf returns the flags of a command, from the declarations that parsing has. A flag
// without a text is hidden.
func flagsOf(c *command) (list []flagHelp) {
	if c.flags == nil {
		return nil
	}
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	c.flags(fs)
	fs.VisitAll(func(f *flag.Flag) {
		if f.Usage == "" {
			return // hidden
		}
		value, text := flag.UnquoteUsage(f)
		text = strings.TrimPrefix(text, value+": ") // the whole value stands before it
		switch f.DefValue {
		case "", "0", "false": // nothing, or as the text says
		default:
			text += " (default " + f.DefValue + ")"
		}
		list = append(list, flagHelp{f.Name, value, text, flagValues(c.name, f.Name, value)})
	})
	if c.pages {
		list = append(list, flagHelp{name: process.NoPager, text: "do not show a long output on a terminal with $STEMMA_PAGER, $PAGER or less"})
	}
	return list
}

// flagValues returns what a flag of a command takes, nil if that is not a list.
func flagValues(command, name, value string) []string {
	switch {
	case strings.Contains(value, "|"):
		return strings.Split(value, "|")
	case name == "engine":
		return engine.Names()
	case name == "metric":
		return report.Metrics()
	case name == "format" && command == "export":
		return export.Formats()
	case name == "format" && command == "decode":
		return []string{string(lookup.FormatLine), string(lookup.FormatShort), string(lookup.FormatStack)}
	}
	return nil
}

// argumentsOf returns what the argument of a command may be if it is no file.
func argumentsOf(c *command) []string {
	switch c.name {
	case "help":
		return commandNames()
	case "completion":
		return shells
	}
	return nil
}

// bashScript completes the first word, flags behind a dash, and the values of flags behind a
// space or "=", which bash makes a word of its own. Everything else is left to bash: files.
func bashScript(b *strings.Builder) {
	fmt.Fprintf(b, `# Completion of stemma for bash.
_stemma() {
	local cur=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD-1]} words=
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		COMPREPLY=($(compgen -W %q -- "$cur"))
		return
	fi
	if [ "$cur" = "=" ]; then
		cur=
	elif [ "$flag" = "=" ]; then
		flag=${COMP_WORDS[COMP_CWORD-2]}
	fi
	case "${COMP_WORDS[1]} ${flag/#--/-}" in
`, strings.Join(commandNames(), " "))
	for _, c := range commands() {
		for _, f := range flagsOf(c) {
			if f.values != nil {
				fmt.Fprintf(b, "\t%q) words=%q ;;\n", c.name+" -"+f.name, strings.Join(f.values, " "))
			}
		}
	}
	fmt.Fprintf(b, "\t*)\n\t\tcase \"${COMP_WORDS[1]} $cur\" in\n")
	for _, c := range commands() {
		if list := flagsOf(c); list != nil {
			var names []string
			for _, f := range list {
				names = append(names, "-"+f.name)
			}
			fmt.Fprintf(b, "\t\t%q*) words=%q ;;\n", c.name+" -", strings.Join(names, " "))
		}
		if list := argumentsOf(c); list != nil {
			fmt.Fprintf(b, "\t\t%q*) words=%q ;;\n", c.name+" ", strings.Join(list, " "))
		}
	}
	fmt.Fprintf(b, "\t\tesac ;;\n\tesac\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -o default -F _stemma stemma\n")
}

// zshScript gives zsh's _arguments a line for each flag.
func zshScript(b *strings.Builder) {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	text := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`).Replace
	fmt.Fprintf(b, "#compdef stemma\n# Completion of stemma for zsh.\n_stemma() {\n\tlocal context state line curcontext=$curcontext\n\tlocal -a commands\n\tcommands=(\n")
	for _, c := range commands() {
		fmt.Fprintf(b, "\t\t%s\n", quote(c.name+":"+text(c.short)))
	}
	fmt.Fprintf(b, "\t)\n\t_arguments -C '1:command:->command' '*::argument:->argument'\n\tcase $state in\n\tcommand) _describe command commands ;;\n\targument)\n\t\tcase $words[1] in\n")
	for _, c := range commands() {
		fmt.Fprintf(b, "\t\t%s) _arguments", c.name)
		for _, f := range flagsOf(c) {
			spec := "-" + f.name
			if f.value != "" {
				spec += "="
			}
			spec += "[" + text(f.text) + "]"
			if f.value != "" {
				spec += ":" + text(f.value) + ":"
				if f.values != nil {
					spec += "(" + strings.Join(f.values, " ") + ")"
				} else {
					spec += "_files"
				}
			}
			fmt.Fprintf(b, " \\\n\t\t\t%s", quote(spec))
		}
		rest := "*:file:_files"
		if list := argumentsOf(c); list != nil {
			rest = "1:argument:(" + strings.Join(list, " ") + ")"
		}
		fmt.Fprintf(b, " \\\n\t\t\t%s ;;\n", quote(rest))
	}
	fmt.Fprintf(b, "\t\tesac ;;\n\tesac\n}\nif [ \"$funcstack[1]\" = _stemma ]; then\n\t_stemma \"$@\"\nelse\n\tcompdef _stemma stemma\nfi\n")
}

// fishScript gives fish a line for each flag.
func fishScript(b *strings.Builder) {
	quote := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'" }
	fmt.Fprintf(b, "# Completion of stemma for fish.\ncomplete -c stemma -e\n")
	for _, c := range commands() {
		fmt.Fprintf(b, "complete -c stemma -n __fish_use_subcommand -f -a %s -d %s\n", c.name, quote(c.short))
	}
	for _, c := range commands() {
		in := quote("__fish_seen_subcommand_from " + c.name)
		for _, f := range flagsOf(c) {
			fmt.Fprintf(b, "complete -c stemma -n %s -o %s", in, f.name)
			switch {
			case f.values != nil:
				fmt.Fprintf(b, " -x -a %s", quote(strings.Join(f.values, " ")))
			case f.value != "":
				fmt.Fprintf(b, " -r")
			}
			fmt.Fprintf(b, " -d %s\n", quote(f.text))
		}
		if list := argumentsOf(c); list != nil {
			fmt.Fprintf(b, "complete -c stemma -n %s -f -a %s\n", in, quote(strings.Join(list, " ")))
		}
	}
}
