package cli

import (
	"flag"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/exit"
	"github.com/stemma-go/stemma/internal/export"
	"github.com/stemma-go/stemma/internal/flags"
	"github.com/stemma-go/stemma/internal/lookup"
	"github.com/stemma-go/stemma/internal/manual"
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

// runCompletion prints the script for one shell.
func runCompletion(e *process.Env, args []string) error {
	args, err := flags.Parse(flag.NewFlagSet("completion", flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	if len(args) != 1 || !slices.Contains(manual.Shells(), args[0]) {
		return exit.Usagef("completion: want one of %s; see 'stemma help completion'",
			strings.Join(manual.Shells(), ", "))
	}
	return manual.Completion(e.Stdout, args[0], described())
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
		return manual.Shells()
	}
	return nil
}

// describe returns what there is to say of a command.
func describe(c *command) manual.Command {
	return manual.Command{Name: c.name, Args: c.args, Short: c.short, Long: c.long, Flags: flagsOf(c),
		Arguments: argumentsOf(c)}
}

// described returns what there is to say of all commands.
func described() (list []manual.Command) {
	for _, c := range commands() {
		list = append(list, describe(c))
	}
	return list
}
