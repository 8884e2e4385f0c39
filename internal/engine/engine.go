// Package engine describes each engine, metric and build flag once: what it gives, and what builds and readers need to
// know of it.
//
// Nothing else asks for an engine by its name, but its own files: the strategy in the
// compiler, the half in the runtime. [List] is the place to add one.
package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// What an engine gives.
const (
	Counts  Gives = 1 << iota // exact counts of calls, by context
	IDs                       // context IDs
	Samples                   // sampled stacks
)

// Gives is a set of these.
type Gives uint8

// A Part is something that the extended runtime is able to do.
type Part uint8

// The parts.
const (
	Contexts Part = 1 << iota // a context for every call
	Sampling                  // a sampler
)

// String returns the names of the parts, with + between them.
func (p Part) String() string {
	switch p {
	case Contexts:
		return "contexts"
	case Sampling:
		return "sampling"
	case Contexts | Sampling:
		return "contexts+sampling"
	}
	return "Part(" + strconv.Itoa(int(p)) + ")"
}

// A Hook reports whether compiled functions call the runtime when they are entered, where
// the checker is, and the recorder of calls.
type Hook uint8

// The hooks.
const (
	HookNever  Hook = iota // functions are compiled as without stemma
	HookAsked              // with -verify or -record
	HookAlways             // the accumulator is there
)

// NoStrategy is that of a compiler that adds nothing.
const NoStrategy = "none"

// Costs is the strategy of a build for costs, and the engine that a file of costs has. It records nothing.
const Costs = "costs"

// Code says what the compiler makes.
type Code struct {
	Strategy string // of package ssagen; two engines may have one, and share compiled packages
	Inlined  bool   // it may count inlined calls, or not
	Metrics  bool   // it may count what -metrics names
	Natives  bool   // it may give functions a context that call natives only, for events there
	Entry    Hook

	// What is made depends on the accumulator's trigger.
	Triggered bool
}

// A Decoder is what IDs are decoded with.
type Decoder uint8

// The decoders.
const (
	NoDecoder    Decoder = iota
	ByDictionary         // the encoding of each epoch
	ByLog                // a log of the call graph
)

// An Engine is one way to record.
type Engine struct {
	Name  string
	Paper string // that describes it, "" if none does
	Help  string // what it does, in the help of -engine; "" leaves it out
	Gives Gives

	// The row of the table in the README; without answers there is none.
	Answers, Costs, Use string

	Flags []string // of Flags that do something with it, of those that are for some engines only
	Code  Code
	Parts Part // hooks that others do not need would cost them time
	Warm  bool // the program always needs a warm file beside it

	File    string // main file of its records, which a directory is recognised by; "" if it leaves none
	Flag    uint32 // of the header of such a file, as package layout has them
	Decoder Decoder
}

// List has all engines, the default first. It is laid out by the linker: programs that
// import package stemma, and do not decode, have none of it.
var List = []*Engine{
	{
		Name: "cct", Paper: "Ammons, Ball and Larus, PLDI 1997", Help: "counts calls", Gives: Counts,
		Answers: "How often was each function called, and from where?",
		Costs:   "about 1 ns a call, memory for each context",
		Use:     "to understand a program, in tests, to compare two versions",
		Flags:   []string{"recursion", "inlined", "nodes", "record", "metrics", "module", "labels", "verify"},
		Code:    Code{Strategy: "cct", Inlined: true, Metrics: true, Entry: HookAsked}, Parts: Contexts,
		File: layout.FileTree,
	},
	{
		Name: "dacce", Paper: "DACCE, CGO 2014", Help: "gives context IDs", Gives: IDs,
		Answers: "Which stack led to this log line, error or event?",
		Costs:   "about 1 ns a call, a file that grows with what is new",
		Use:     "in services that log",
		Flags:   []string{"events", "event-log", "warm", "nodes", "verify"},
		Code:    Code{Strategy: "dacce", Natives: true, Entry: HookAsked}, Parts: Contexts, File: layout.FileIDs,
		Decoder: ByDictionary,
	},
	{
		Name: "lucce", Paper: "Lucce", Help: "gives context IDs and stops the program for segments only", Gives: IDs,
		Answers: "the same", Costs: "more for each call, but nothing stops the program, unless it has segments",
		Use:   "if pauses matter more than throughput",
		Flags: []string{"events", "event-log", "nodes", "verify"},
		Code:  Code{Strategy: "lucce", Natives: true, Entry: HookAsked}, Parts: Contexts, File: layout.FileIDs,
		Flag: layout.HdrFlagLucce, Decoder: ByLog,
	},
	{
		Name: "pcce", Paper: "PCCE, ICSE 2010", Help: "gives context IDs from a static call graph", Gives: IDs,
		Answers: "the same, from a call graph made before the run",
		Costs:   "as much as `dacce`, more if the graph does not fit the run",
		Use:     "to compare with the literature",
		Flags:   []string{"events", "event-log", "warm", "nodes", "verify"},
		Code:    Code{Strategy: "dacce", Natives: true, Entry: HookAsked}, Parts: Contexts, Warm: true,
		File: layout.FileIDs, Flag: layout.HdrFlagStatic, Decoder: ByDictionary,
	},
	{
		Name: "sample", Paper: "ICPE 2015", Help: "takes samples", Gives: Samples,
		Answers: "Where does the time go, on CPU and waiting?",
		Costs:   "3 to 13 % of user time at a sample a millisecond",
		Use:     "in production",
		Flags:   []string{"sampler", "walk", "every", "waiting", "sample-at", "start", "nodes", "verify"},
		Code:    Code{Strategy: NoStrategy}, Parts: Sampling, File: layout.FileSamples,
	},
	{
		Name: "acct", Paper: "Arnold and Sweeney, 2000", Help: "samples calls", Gives: Samples,
		Answers: "Which calls are the most frequent, roughly?", Costs: "a few instructions a call, and the samples",
		Use:   "where an exact tree is too large",
		Flags: []string{"recursion", "nodes", "trigger", "weights"},
		Code:  Code{Strategy: "acct", Triggered: true}, Parts: Sampling,
		File: layout.FileSamples, Flag: layout.SmpFlagAccumulator,
	},
	{
		Name: "cct+acct", Paper: "Arnold and Sweeney, 2000", Gives: Counts | Samples,
		Answers: "How good are sampled call counts?", Costs: "the most of all", Use: "for research",
		Flags: []string{"recursion", "inlined", "nodes", "module", "trigger", "weights"},
		Code:  Code{Strategy: "cct", Inlined: true, Entry: HookAlways}, Parts: Contexts | Sampling,
		File: layout.FileTree,
	},
	{
		// It computes the hash of Bond and McKinley, for measurements.
		Name: "pcc", Paper: "PCC, OOPSLA 2007",
		Code: Code{Strategy: "pcc", Natives: true, Entry: HookAsked}, Parts: Contexts,
	},
	{
		// It has the hooks for contexts and nothing else, to measure what they cost.
		Name: "none",
		Code: Code{Strategy: NoStrategy, Natives: true, Entry: HookAsked}, Parts: Contexts,
	},
}

// Default returns the engine of a build that names none.
func Default() *Engine { return List[0] }

// Lookup returns the engine of a name, nil if there is none.
func Lookup(name string) *Engine {
	for _, e := range List {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// Takes reports whether a flag, of those that are for some engines only, does anything.
func (e *Engine) Takes(flag string) bool { return slices.Contains(e.Flags, flag) }

// Taking returns the names of the engines that a flag is for; none for one that
// is for all.
func Taking(flag string) (names []string) {
	for _, e := range List {
		if e.Takes(flag) {
			names = append(names, e.Name)
		}
	}
	return names
}

// Names returns the names of all engines that people choose.
func Names() (names []string) {
	for _, e := range List {
		if e.Answers != "" {
			names = append(names, e.Name)
		}
	}
	return names
}

// Giving returns the flag that chooses the first engine that gives all of something:
// "-engine=NAME", for messages.
func Giving(g Gives) string {
	for _, e := range List {
		if e.Gives&g == g {
			return "-engine=" + e.Name
		}
	}
	return "-engine=" + Default().Name
}

// Recorded returns the engine of a record, by its main file and the flags of its header.
func Recorded(file string, flags uint32) *Engine {
	var any uint32
	for _, e := range List {
		if e.File == file {
			any |= e.Flag
		}
	}
	for _, e := range List {
		if e.File == file && e.Flag == flags&any {
			return e
		}
	}
	return &Engine{Name: "unknown", File: file}
}

// Files returns the main files of records.
func Files() (files []string) {
	for _, e := range List {
		if e.File != "" && !slices.Contains(files, e.File) {
			files = append(files, e.File)
		}
	}
	return files
}

// Help returns what each engine does, for the help of -engine.
func Help() string {
	var list []string
	for _, e := range List {
		if e.Help != "" {
			list = append(list, e.Name+" "+e.Help)
		}
	}
	return strings.Join(list, "; ")
}

// Table returns the table of engines in the README.
func Table() string {
	var b strings.Builder
	b.WriteString("| engine | answers | costs | use it |\n| --- | --- | --- | --- |\n")
	for _, e := range List {
		if e.Answers == "" {
			continue
		}
		name := "`" + e.Name + "`"
		if e == Default() {
			name += ", the default"
		}
		b.WriteString("| " + name + " | " + e.Answers + " | " + e.Costs + " | " + e.Use + " |\n")
	}
	return b.String()
}
