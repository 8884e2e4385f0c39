// Package env prints what makes an ordinary go command build with stemma.
package env

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/run"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// Command is go env for the variables by which other tools build with stemma.
func Command() *base.Command {
	return &base.Command{
		Name:  "env",
		Args:  "[-json] [flags] [go build flags] [NAME...]",
		Short: "print the environment in which an ordinary go command builds with stemma",
		Long: `
Env prints variables that make the go command build as 'stemma build' with the same
flags does, whatever runs it: make, a script, a release tool. The first time it makes
the compiler, which takes about a minute.

	eval "$(stemma env)"                 # for all that this shell runs from now on
	GOFLAGS=$(stemma env GOFLAGS) make   # for one command

Without names it prints all of them, as commands of a shell, or with -json as JSON.
With names it prints their values, one a line; what stemma does not set it asks go env
for. GOFLAGS has the flags that were in it, those that are given here, -overlay and
-toolexec, and for go test -vet=off and -count=1. Where go.mod switches to a Go of the
module cache, there are also GOROOT, GOTOOLCHAIN and PATH. GOCACHE stays as it is:
packages of the two kinds of builds have different keys in it.

With -warm, or an engine that always starts from a call graph, each program needs
a file beside it, which only 'stemma build' makes.`,
		Flags: func(fs *flag.FlagSet) {
			run.DeclareOptions(fs, new(toolchain.Options))
			declareJSON(fs, new(bool))
		},
		Run: runEnv,
	}
}

func declareJSON(fs *flag.FlagSet, asJSON *bool) {
	fs.BoolVar(asJSON, "json", false, "print JSON")
}

// runEnv prints after everything has been found, so that what a shell evaluates is whole.
func runEnv(e *base.Env, args []string) error {
	var asJSON bool
	p, err := run.ParseGoCommand("env", args, func(fs *flag.FlagSet) { declareJSON(fs, &asJSON) })
	if err != nil {
		return err
	}
	if err := p.Opts.CheckEnvironment(p.Args); err != nil {
		return base.Usagef("env: %w", err)
	}
	bench, err := p.BenchEnv()
	if err != nil {
		return err
	}
	b, err := p.NewBuild(e)
	if err != nil {
		return err
	}
	defer b.Close()
	vars, err := b.Environment(p.Args)
	if err != nil {
		return fmt.Errorf("env: %w", err)
	}
	for _, v := range bench {
		name, value, _ := strings.Cut(v, "=")
		vars = append(vars, toolchain.Variable{Name: name, Value: value})
	}
	names := p.Args.Rest()
	if len(names) > 0 && names[0] == "--" {
		names = names[1:]
	}
	if vars, err = choose(e, b, vars, names); err != nil {
		return err
	}
	text, err := format(vars, asJSON, len(names) > 0)
	if err != nil {
		return err
	}
	_, err = e.Stdout.Write(text)
	return err
}

// choose returns the variables that are named, all if none are. Those that stemma does not set are as go env has them.
func choose(e *base.Env, b *toolchain.Build, vars []toolchain.Variable, names []string) ([]toolchain.Variable, error) {
	if len(names) == 0 {
		return vars, nil
	}
	values := make(map[string]string)
	for _, v := range vars {
		values[v.Name] = v.Value
	}
	var chosen []toolchain.Variable
	for _, name := range names {
		value, ok := values[name]
		if !ok {
			var out bytes.Buffer
			cmd := b.Plain("env", name)
			cmd.Stdout, cmd.Stderr = &out, e.Stderr
			if err := cmd.Run(); err != nil {
				return nil, fmt.Errorf("env: go env %s: %w", name, err)
			}
			value = strings.TrimSuffix(out.String(), "\n")
		}
		chosen = append(chosen, toolchain.Variable{Name: name, Value: value})
	}
	return chosen, nil
}

// format returns what is printed: JSON, or the values alone, or commands of a shell that export the variables.
func format(vars []toolchain.Variable, asJSON, values bool) ([]byte, error) {
	var out bytes.Buffer
	if asJSON {
		m := make(map[string]string)
		for _, v := range vars {
			m[v.Name] = v.Value
		}
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "\t")
		err := enc.Encode(m)
		return out.Bytes(), err
	}
	for _, v := range vars {
		switch {
		case values:
			fmt.Fprintln(&out, v.Value)
		default:
			fmt.Fprintf(&out, "export %s=%s\n", v.Name, base.ShellWord(v.Value))
		}
	}
	return out.Bytes(), nil
}
