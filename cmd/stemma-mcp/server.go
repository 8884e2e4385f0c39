package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of an answer. What is left out the answer says.
const (
	defaultRows = 20
	maxRows     = 200
	maxBytes    = 32 << 10
)

// An answer is what each tool returns.
type answer struct {
	Result  any    `json:"result,omitempty" jsonschema:"what stemma prints with -json"`
	Text    string `json:"text,omitempty" jsonschema:"what was printed"`
	LeftOut string `json:"leftOut,omitempty" jsonschema:"what the answer lacks, and how to get it"`
}

// newServer returns a server whose tools run a stemma command.
func newServer(tool string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "stemma", Version: "1"}, &mcp.ServerOptions{Instructions: "" +
		"stemma builds Go programs so that they count every call in its full context, and allocations, waits and " +
		"operations if asked. Run a program, then ask for functions (report), for callers and callees of one (func), " +
		"for stacks (contexts), or compare two records (diff). Counts are exact, and do not depend on how busy the " +
		"machine is."})
	t := &tools{stemma: tool}
	add(s, "build", "Build a Go program that records its calling contexts when it runs.", t.build)
	add(s, "run", "Build a Go program, run it, and write its record. Returns what it printed and a summary.", t.run)
	add(s, "report", "List the functions, or other groups, of a record with the most calls, bytes or time.", t.report)
	add(s, "func", "Show the callers and callees of functions of a record.", t.function)
	add(s, "contexts", "List the full stacks of a record that have the most calls, bytes or time.", t.contexts)
	add(s, "diff", "Compare two records, or two texts of stemma test -bench, and check limits.", t.diff)
	add(s, "decode", "Turn context IDs into stacks.", t.decode)
	return s
}

// add adds a tool. Its errors are those of the tool, which the caller can mend, and not of the protocol.
func add[In any](s *mcp.Server, name, description string, f func(context.Context, In) (answer, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description},
		func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, answer, error) {
			a, err := f(ctx, in)
			return nil, a, err
		})
}

// A build is what a program is built with.
type build struct {
	Dir     string   `json:"dir,omitempty" jsonschema:"working directory, in the module; default: that of the server"`
	Engine  string   `json:"engine,omitempty" jsonschema:"cct counts calls (the default); dacce and lucce give context IDs; sample takes samples"`
	Metrics string   `json:"metrics,omitempty" jsonschema:"what cct counts, with commas: calls,alloc,wait,ops,inuse,cpu"`
	Flags   []string `json:"flags,omitempty" jsonschema:"further flags of stemma build and go build, as -tags=x"`
}

func (b *build) args() (list []string) {
	if b.Engine != "" {
		list = append(list, "-engine="+b.Engine)
	}
	if b.Metrics != "" {
		list = append(list, "-metrics="+b.Metrics)
	}
	return append(list, b.Flags...)
}

type buildInput struct {
	build
	Packages []string `json:"packages" jsonschema:"packages to build, as . or ./cmd/srv"`
	Output   string   `json:"output,omitempty" jsonschema:"file for the program; default: as go build names it"`
}

func (t *tools) build(ctx context.Context, in buildInput) (answer, error) {
	args := append([]string{"build"}, in.args()...)
	if in.Output != "" {
		args = append(args, "-o", in.Output)
	}
	if err := noFlags("packages", in.Packages); err != nil {
		return answer{}, err
	}
	return t.text(ctx, in.Dir, append(args, in.Packages...))
}

type runInput struct {
	build
	Package       string   `json:"package" jsonschema:"the program: a directory, an import path or package@version"`
	Args          []string `json:"args,omitempty" jsonschema:"its arguments"`
	Deterministic bool     `json:"deterministic,omitempty" jsonschema:"make runs repeat, so that two records can be compared"`
	Output        string   `json:"output,omitempty" jsonschema:"file for the record; default: NAME.stemma in dir"`
	Seconds       int      `json:"seconds,omitempty" jsonschema:"end the program after so many; default 300"`
}

func (t *tools) run(ctx context.Context, in runInput) (answer, error) {
	args := append([]string{"run"}, in.args()...)
	if in.Deterministic {
		args = append(args, "-deterministic")
	}
	if in.Output != "" {
		args = append(args, "-o", in.Output)
	}
	if err := noFlags("package", []string{in.Package}); err != nil {
		return answer{}, err
	}
	seconds := in.Seconds
	if seconds <= 0 {
		seconds = 300
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
	defer cancel()
	return t.text(ctx, in.Dir, append(append(args, in.Package), in.Args...))
}

// A selection is what part of a record is asked for.
type selection struct {
	Dir    string `json:"dir,omitempty" jsonschema:"working directory; default: that of the server"`
	Record string `json:"record,omitempty" jsonschema:"a .stemma file or a live directory, also of a running program; default: the newest one in dir"`
	Metric string `json:"metric,omitempty" jsonschema:"calls, alloc_space, alloc_objects, wait, ops, cpu and others that the record has"`
	Focus  string `json:"focus,omitempty" jsonschema:"only contexts with a function that matches this regular expression"`
	Ignore string `json:"ignore,omitempty" jsonschema:"leave out contexts with a function that matches this regular expression"`
	Rows   int    `json:"rows,omitempty" jsonschema:"how many rows to list; default 20, at most 200"`
}

func (s *selection) args(more ...string) []string {
	args := append([]string{"report", "-json"}, more...)
	for _, f := range [][2]string{{"-metric", s.Metric}, {"-focus", s.Focus}, {"-ignore", s.Ignore}} {
		if f[1] != "" {
			args = append(args, f[0]+"="+f[1])
		}
	}
	return args
}

// record returns the arguments behind the flags.
func (s *selection) record() []string {
	if s.Record == "" {
		return nil
	}
	return []string{s.Record}
}

type reportInput struct {
	selection
	By string `json:"by,omitempty" jsonschema:"add up by package, file, line, goroutine, type, reason or label:KEY instead of by function"`
}

func (t *tools) report(ctx context.Context, in reportInput) (answer, error) {
	var more []string
	if in.By != "" {
		more = append(more, "-by="+in.By)
	}
	return t.rows(ctx, in.Dir, in.args(more...), in.record(), in.Rows)
}

type funcInput struct {
	selection
	Function string `json:"function" jsonschema:"regular expression for the names of functions, as mypkg\\.Parse$"`
}

func (t *tools) function(ctx context.Context, in funcInput) (answer, error) {
	return t.rows(ctx, in.Dir, in.args("-func="+in.Function), in.record(), in.Rows)
}

type contextsInput struct {
	selection
	Function string `json:"function,omitempty" jsonschema:"only stacks that lead to functions with names that match this regular expression"`
}

func (t *tools) contexts(ctx context.Context, in contextsInput) (answer, error) {
	more := []string{"-contexts"}
	if in.Function != "" {
		more = append(more, "-func="+in.Function)
	}
	return t.rows(ctx, in.Dir, in.args(more...), in.record(), in.Rows)
}

type diffInput struct {
	Dir    string `json:"dir,omitempty" jsonschema:"working directory; default: that of the server"`
	Base   string `json:"base" jsonschema:"the record, or the text of stemma test -bench, to compare with"`
	New    string `json:"new" jsonschema:"the record, or the text, that is compared"`
	Metric string `json:"metric,omitempty" jsonschema:"only this metric"`
	By     string `json:"by,omitempty" jsonschema:"function (the default), context or line"`
	Limits string `json:"limits,omitempty" jsonschema:"limits to check, as calls/function>0,alloc_space>1%"`
	Rows   int    `json:"rows,omitempty" jsonschema:"how many rows to list for each metric; default 20, at most 200"`
}

func (t *tools) diff(ctx context.Context, in diffInput) (answer, error) {
	args := []string{"diff", "-json"}
	for _, f := range [][2]string{{"-metric", in.Metric}, {"-by", in.By}, {"-fail-over", in.Limits}} {
		if f[1] != "" {
			args = append(args, f[0]+"="+f[1])
		}
	}
	return t.rows(ctx, in.Dir, args, []string{in.Base, in.New}, in.Rows)
}

type decodeInput struct {
	Dir    string   `json:"dir,omitempty" jsonschema:"working directory; default: that of the server"`
	Record string   `json:"record,omitempty" jsonschema:"the record of the run, or a directory of records; default: those in dir"`
	IDs    []string `json:"ids" jsonschema:"context IDs, at most 200"`
}

func (t *tools) decode(ctx context.Context, in decodeInput) (answer, error) {
	if len(in.IDs) == 0 || len(in.IDs) > maxRows {
		return answer{}, fmt.Errorf("%d context IDs, want 1 to %d; call decode several times", len(in.IDs), maxRows)
	}
	if err := noFlags("ids", in.IDs); err != nil {
		return answer{}, err
	}
	args := []string{"decode", "-format=line"}
	if in.Record != "" {
		args = append(args, in.Record)
	}
	return t.text(ctx, in.Dir, append(args, in.IDs...))
}

// noFlags returns an error if one of a list would be taken for a flag.
func noFlags(what string, list []string) error {
	if len(list) == 0 {
		return fmt.Errorf("%s: none given", what)
	}
	for _, s := range list {
		if s == "" || strings.HasPrefix(s, "-") {
			return fmt.Errorf("%s: have %q, want a name; flags go into flags, arguments of the program into args",
				what, s)
		}
	}
	return nil
}
