package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/engine"
)

// commandsPage returns docs/reference/commands.md. What help prints is in it as code; flags of builds are there once.
func commandsPage() string {
	var b strings.Builder
	b.WriteString("# Commands\n\n<!-- Written by go test ./internal/command -run CommandsPage -update. -->\n\n" +
		"`stemma help COMMAND` prints this for one command.\n")
	all := described()
	for _, c := range all {
		isBuild := builds(c)
		if isBuild {
			c.Flags = slices.DeleteFunc(slices.Clone(c.Flags), isOfBuild)
		}
		fmt.Fprintf(&b, "\n## stemma %s\n\n```text\n", c.Name)
		c.Help(&b)
		b.WriteString("```\n")
		if isBuild {
			b.WriteString("\nIt also has the [flags of builds](#flags-of-builds).\n")
		}
	}
	b.WriteString("\n## Flags of builds\n\n```text\n")
	i := slices.IndexFunc(all, builds)
	flags := slices.DeleteFunc(slices.Clone(all[i].Flags), func(f base.FlagHelp) bool { return !isOfBuild(f) })
	(&base.CommandHelp{Flags: flags}).HelpFlags(&b)
	b.WriteString("```\n\nPackages are compiled again if one of these changes: ")
	var list []string
	for _, f := range engine.Flags {
		if (f.Compiler != nil || f.Recompiles) && f.Help != "" {
			list = append(list, "`-"+f.Name+"`")
		}
	}
	b.WriteString(strings.Join(list, ", ") + ".\n")
	return b.String()
}

// isOfBuild reports whether a flag of a command that builds is one of those that all have.
func isOfBuild(f base.FlagHelp) bool { return engine.FlagNamed(f.Name) != nil }

// builds reports whether a command has the flags of builds.
func builds(c base.CommandHelp) bool {
	n := 0
	for _, f := range c.Flags {
		if isOfBuild(f) {
			n++
		}
	}
	return n > len(engine.Flags)/2 // one that reads has a name in common at most
}
