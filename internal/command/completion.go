package command

import (
	"flag"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
)

// completionCommand prints what a shell needs to complete command lines.
func completionCommand() *base.Command {
	return &base.Command{
		Name:  "completion",
		Args:  "bash|zsh|fish",
		Short: "print a script that completes stemma's command lines in a shell",
		Long: `
Completion prints a script that makes a shell complete commands, flags and their
values. For this shell:

	source <(stemma completion bash)          # in ~/.bashrc
	source <(stemma completion zsh)           # in ~/.zshrc, behind compinit
	stemma completion fish | source           # in ~/.config/fish/config.fish`,
		Run: runCompletion,
	}
}

// runCompletion prints the script for one shell.
func runCompletion(e *base.Env, args []string) error {
	args, err := base.Parse(flag.NewFlagSet("completion", flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	if len(args) != 1 || !slices.Contains(base.Shells(), args[0]) {
		return base.Usagef("completion: want one of %s; see 'stemma help completion'",
			strings.Join(base.Shells(), ", "))
	}
	return base.WriteCompletion(e.Stdout, args[0], described())
}

// argumentsOf returns what the argument of a command may be if it is no file.
func argumentsOf(c *base.Command) []string {
	switch c.Name {
	case "help":
		return commandNames()
	case "completion":
		return base.Shells()
	}
	return nil
}

// describe returns what there is to say of a command.
func describe(c *base.Command) base.CommandHelp {
	return base.CommandHelp{Name: c.Name, Args: c.Args, Short: c.Short, Long: c.Long, Flags: flagsOf(c),
		Arguments: argumentsOf(c)}
}

// described returns what there is to say of all commands.
func described() (list []base.CommandHelp) {
	for _, c := range commands() {
		list = append(list, describe(c))
	}
	return list
}
