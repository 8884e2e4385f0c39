package base

import (
	"fmt"
	"strings"
)

// Who reads a variable of the environment.
const (
	ByTool    Reader = iota // stemma
	ByProgram               // a program that stemma built
	ForDebug                // such a program, to look for a fault in stemma
	Within                  // parts of stemma, from each other, and its tests: not to be set
)

// A Reader is one of these.
type Reader uint8

// A Variable is an environment variable that means something to stemma.
type Variable struct {
	Name   string
	Reader Reader
	Values string // what it may be
	Text   string // what it does, lower case
	Manual bool   // the manual page has it
}

// Variables has all of them, by reader. A test of the module holds it against the code.
var Variables = []Variable{
	{"STEMMA_CACHE", ByTool, "DIRECTORY", "where compilers are kept, instead of stemma in the user's cache directory",
		true},
	{"STEMMA_OUT", ByTool, "DIRECTORY",
		"read by programs as well: where they record, and stemma looks for records, instead of stemma.out here", true},
	{"STEMMA_PAGER", ByTool, "COMMAND",
		"the pager for reports on a terminal, instead of $PAGER or less; empty for none", true},
	{"NO_COLOR", ByTool, "anything", "if it is not empty, reports on a terminal have no colours", true},
	{"STEMMA_UNTESTED_GO", ByTool, "1", "try a later minor release of Go", true},

	{"STEMMA_QUIET", ByProgram, "1", "programs print none of stemma's lines, but errors that end them", true},
	{"STEMMA_DETERMINISTIC", ByProgram, "1, clock",
		"make runs repeat; clock also gives the program a clock of its own", true},
	{"STEMMA_SAMPLING", ByProgram, "NAME=VALUE,...",
		"settings of a program that samples, in front of those that it was built with: sampler, walk, every, " +
			"waiting, sample-at, start; the accumulator has only start, -metrics=calls,cpu only every and start", true},
	{"STEMMA_ROTATE", ByProgram, "TIME[,SIZE][,N][,AGE]",
		"end a segment of the record after that time, 1h say, or when it has grown by that size, 512MiB; keep N, " +
			"none older than that age, 7d", true},
	{"STEMMA_BENCH_TIME", ByProgram, "1, ns/op",
		"benchmarks of stemma test also print instrumented-ns/op; with ns/op under that name", true},
	{"STEMMA_TREE_SIZE", ByProgram, "BYTES",
		"bytes of address space for the tree of a program, and for the counters of each P", true},
	{"STEMMA_EVENTS_SIZE", ByProgram, "BYTES", "bytes for the events of each P; 64 MiB if it is not set", true},
	{"STEMMA_CALLS_SIZE", ByProgram, "BYTES", "bytes for the log of -record=calls; 256 MiB if it is not set", true},
	{"STEMMA_SEGMENT", ByProgram, "call, shared",
		"programs set the segment base of threads by system calls, or not at all, where they have one", true},

	{"STEMMA_CHECK_EVERY", ForDebug, "N",
		"in a build for verify, compare the context of each Nth function entry; 1 is all", false},
	{"STEMMA_REENCODE_US", ForDebug, "MICROSECONDS",
		"with context IDs that are re-encoded, do that so often, needed or not", false},
	{"STEMMA_CCSTACK_SIZE", ForDebug, "BYTES", "how much memory all ccStacks together may take", false},
	{"STEMMA_TRACE_CHECK", ForDebug, "count, print, throw",
		"compare each sampled stack with a walk of Go's unwinder, and count, print or end with differences", false},
	{"STEMMA_TRACE_EVERY", ForDebug, "fast, slow, waiting",
		"sample in every prologue, or look for waiting goroutines all the time", false},
	{"STEMMA_TRACE_STEP", ForDebug, "N", "single-step the trampoline, N steps at most, where a program can", false},
	{"STEMMA_TRACE_WITHOUT", ForDebug, "unwind, trace, block, prologue, recovery, gdestroy, hold, letgo, repeat",
		"take that hook of the sampler away, so that the check must fail", false},
	{"STEMMA_WAIT_CHECK", ForDebug, "print, throw",
		"with -metrics=calls,wait, compare the life of each goroutine with the times that were counted", false},

	{"STEMMA_COMPILE", Within, "", "what the compiler is told; stemma sets it for go build", false},
	{"STEMMA_COMPILED", Within, "", "the file in which compiled packages are counted; stemma sets it for go build",
		false},
	{"STEMMA_BENCH", Within, "", "the tool that test binaries ask what their benchmarks count; stemma test sets it",
		false},
	{"STEMMA_BENCH_UNITS", Within, "", "the units of benchmarks that are exact; stemma test sets it", false},
	{"STEMMA_STARTED_IN", Within, "", "where the first program of a tree of processes was started; it sets it", false},
	{"STEMMA_BIN", Within, "", "where scripts of tests find stemma", false},
	{"STEMMA_ROOT", Within, "", "where scripts of tests find the module", false},
	{"STEMMA_TEST_COMPILE", Within, "", "makes a test binary stand for a compiler", false},
	{"STEMMA_TEST_FILL", Within, "", "makes a test binary fill a cache", false},
	{"STEMMA_TEST_PROCESS", Within, "", "makes a test binary stand for stemma, or for its child", false},
	{"STEMMA_TEST_TOOLEXEC", Within, "", "makes a test binary stand for stemma toolexec", false},
	{"STEMMA_VIEW_RECORD", Within, "", "one more record that the tests of the page compare with report", false},
}

// VariablesPage returns docs/reference/variables.md.
func VariablesPage() string {
	var b strings.Builder
	b.WriteString("# Environment variables\n\n<!-- Written by go test ./internal/base -run Variables -update, from " +
		"the table in variables.go there. -->\n")
	for _, part := range []struct {
		of         Reader
		head, text string
	}{
		{ByTool, "Of stemma", "`stemma` reads these."},
		{ByProgram, "Of a program that stemma built", "The program reads these when it starts. `stemma run` and " +
			"`stemma test` pass them on; with context IDs `run` leaves `STEMMA_ROTATE` out, and prints that. A value " +
			"that means nothing is ignored, and one line on standard error reports it. A program in secure mode " +
			"(setuid, capabilities) reads none."},
		{ForDebug, "To look for a fault in stemma", "These are **debug** variables. They make programs slow, or end " +
			"them. [How it is verified](verification.md) uses some."},
		{Within, "Set by stemma and its tests", "Do not set these."},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", part.head, part.text)
		if part.of == Within {
			b.WriteString("| variable | what it is |\n| --- | --- |\n")
		} else {
			b.WriteString("| variable | value | what it does |\n| --- | --- | --- |\n")
		}
		for _, v := range Variables {
			switch {
			case v.Reader != part.of:
			case part.of == Within:
				fmt.Fprintf(&b, "| `%s` | %s |\n", v.Name, v.Text)
			default:
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", v.Name, valuesCell(v.Values), v.Text)
			}
		}
	}
	return b.String()
}

// valuesCell writes the values of a variable for a cell of a table: words are code.
func valuesCell(values string) string {
	if values != strings.ToLower(values) || values == "anything" { // a placeholder
		return values
	}
	return "`" + strings.ReplaceAll(values, ", ", "`, `") + "`"
}
