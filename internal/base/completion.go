package base

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

var scripts = map[string]func(*strings.Builder, []CommandHelp){"bash": bash, "fish": fish, "zsh": zsh}

// Shells returns the shells that there is a script for.
func Shells() []string { return slices.Sorted(maps.Keys(scripts)) }

// WriteCompletion writes the script that makes a shell complete command lines.
func WriteCompletion(w io.Writer, shell string, list []CommandHelp) error {
	var b strings.Builder
	scripts[shell](&b, list)
	_, err := io.WriteString(w, b.String())
	return err
}

// bash completes the first word, flags behind a dash, and the values of flags behind a
// space or "=", which bash makes a word of its own. Everything else is left to bash: files.
func bash(b *strings.Builder, list []CommandHelp) {
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
`, strings.Join(names(list), " "))
	for _, c := range list {
		for _, f := range c.Flags {
			if f.Values != nil {
				fmt.Fprintf(b, "\t%q) words=%q ;;\n", c.Name+" -"+f.Name, strings.Join(f.Values, " "))
			}
		}
	}
	fmt.Fprintf(b, "\t*)\n\t\tcase \"${COMP_WORDS[1]} $cur\" in\n")
	for _, c := range list {
		if c.Flags != nil {
			var flags []string
			for _, f := range c.Flags {
				flags = append(flags, "-"+f.Name)
			}
			fmt.Fprintf(b, "\t\t%q*) words=%q ;;\n", c.Name+" -", strings.Join(flags, " "))
		}
		if c.Arguments != nil {
			fmt.Fprintf(b, "\t\t%q*) words=%q ;;\n", c.Name+" ", strings.Join(c.Arguments, " "))
		}
	}
	fmt.Fprintf(b, "\t\tesac ;;\n\tesac\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -o default "+
		"-F _stemma stemma\n")
}

// zsh gives zsh's _arguments a line for each flag.
func zsh(b *strings.Builder, list []CommandHelp) {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	text := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`).Replace
	fmt.Fprintf(b, "#compdef stemma\n# Completion of stemma for zsh.\n_stemma() {\n\tlocal context state line "+
		"curcontext=$curcontext\n\tlocal -a commands\n\tcommands=(\n")
	for _, c := range list {
		fmt.Fprintf(b, "\t\t%s\n", quote(c.Name+":"+text(c.Short)))
	}
	fmt.Fprintf(b, "\t)\n\t_arguments -C '1:command:->command' '*::argument:->argument'\n\tcase $state "+
		"in\n\tcommand) _describe command commands ;;\n\targument)\n\t\tcase $words[1] in\n")
	for _, c := range list {
		fmt.Fprintf(b, "\t\t%s) _arguments", c.Name)
		for _, f := range c.Flags {
			spec := "-" + f.Name
			if f.Value != "" {
				spec += "="
			}
			spec += "[" + text(f.Text) + "]"
			if f.Value != "" {
				spec += ":" + text(f.Value) + ":"
				if f.Values != nil {
					spec += "(" + strings.Join(f.Values, " ") + ")"
				} else {
					spec += "_files"
				}
			}
			fmt.Fprintf(b, " \\\n\t\t\t%s", quote(spec))
		}
		rest := "*:file:_files"
		if c.Arguments != nil {
			rest = "1:argument:(" + strings.Join(c.Arguments, " ") + ")"
		}
		fmt.Fprintf(b, " \\\n\t\t\t%s ;;\n", quote(rest))
	}
	fmt.Fprintf(b, "\t\tesac ;;\n\tesac\n}\nif [ \"$funcstack[1]\" = _stemma ]; then\n\t_stemma "+
		"\"$@\"\nelse\n\tcompdef _stemma stemma\nfi\n")
}

// fish gives fish a line for each flag.
func fish(b *strings.Builder, list []CommandHelp) {
	quote := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'" }
	fmt.Fprintf(b, "# Completion of stemma for fish.\ncomplete -c stemma -e\n")
	for _, c := range list {
		fmt.Fprintf(b, "complete -c stemma -n __fish_use_subcommand -f -a %s -d %s\n", c.Name, quote(c.Short))
	}
	for _, c := range list {
		in := quote("__fish_seen_subcommand_from " + c.Name)
		for _, f := range c.Flags {
			fmt.Fprintf(b, "complete -c stemma -n %s -o %s", in, f.Name)
			switch {
			case f.Values != nil:
				fmt.Fprintf(b, " -x -a %s", quote(strings.Join(f.Values, " ")))
			case f.Value != "" && !f.Optional:
				fmt.Fprintf(b, " -r")
			}
			fmt.Fprintf(b, " -d %s\n", quote(f.Text))
		}
		if c.Arguments != nil {
			fmt.Fprintf(b, "complete -c stemma -n %s -f -a %s\n", in, quote(strings.Join(c.Arguments, " ")))
		}
	}
}
