package engine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// A Flag is a flag of the commands that build: what it takes, what it does, what compiler and runtime are told for it.
// Parsing, checks, help, completion, the manual and docs/reference/commands.md come from it. Which engines it is for
// their descriptors say.
type Flag struct {
	Name    string
	Former  string               // the name that it had, taken for one release
	In      func(o *Options) any // its field: a *string, *bool, *uint64, *time.Duration or *Module
	Help    string               // what it does, with its value in back quotes where Values do not say it; "" hides it
	Each    func() string        // what each value does
	Metrics []string             // it also does something with these

	Noun         string            // what one of its values is
	Values       []string          // all that it takes; none if that is no list
	Names        func() []string   // instead of Values, where another list has them
	Known        func(string) bool // reports what it takes beside these
	List         bool              // it takes several, with commas between them
	Recompiles   bool              // the engine's words for the compiler depend on it
	FormerValues []Renamed         // names that values had, taken for one release

	// Check reports what the values alone do not show.
	Check func(o *Options) error
	// Compiler and Runtime return words of name=value. The first is asked in all builds, since other code is made
	// even where an engine does not take the flag; the second in those that take it.
	Compiler func(o *Options, c Code) []string
	Runtime  func(o *Options) []string
}

// EventKinds returns the names of the kinds of events, in the order of their numbers.
func EventKinds() (names []string) {
	for _, kind := range layout.EventKinds {
		if kind.Name != "" {
			names = append(names, kind.Name)
		}
	}
	return names
}

// onOffs are the values of a flag for a field that is true or false, and is not left out by default.
var onOffs = []string{"on", "off"}

// minEvery is the shortest interval between samples; the sampler could not keep a shorter one.
const minEvery = 10 * time.Microsecond

// Flags has all of them.
var Flags = []*Flag{
	{
		Name: "engine", In: func(o *Options) any { return &o.Engine },
		Help: "what to record, by `NAME`", Each: Help, Noun: "engine", Names: Names,
		Known:        func(name string) bool { return Lookup(name) != nil },
		FormerValues: []Renamed{{"cct,acct", "cct+acct"}},
		Compiler:     func(o *Options, c Code) []string { return []string{"engine=" + o.strategy(c)} },
		Runtime: func(o *Options) []string {
			e := o.Chosen()
			return words("file", e.File, "flags", nonzero(uint64(e.Flag)))
		},
	},
	{
		Name: "inlined", In: func(o *Options) any { return &o.Inlined }, Values: onOffs, Help: "count inlined calls",
		Compiler: func(o *Options, c Code) []string {
			if !c.Inlined {
				return nil
			}
			return words("inlined", onOff(o.Inlined))
		},
	},
	{
		Name: "recursion", In: func(o *Options) any { return &o.Recursion }, Noun: "mode",
		Values: []string{"fold", "full"},
		Help: "fold recursion, so that what a recursive function calls is shown below its first call, or keep " +
			"every level",
		Runtime: func(o *Options) []string {
			if o.Record != "" {
				return words("recursion", "full") // a node must name its whole path
			}
			return words("recursion", o.Recursion)
		},
	},
	{
		// Hidden, since its records are of use to the command verify only. In all builds with the checker or the
		// recorder each entry takes the slow path; check counts inlined calls twice.
		Name: "verify", In: func(o *Options) any { return &o.Verify },
		Compiler: func(o *Options, c Code) []string {
			if c.Entry == HookNever {
				return nil
			}
			list := words("verify", onOff(c.Entry == HookAlways || o.Verify || o.Record != ""))
			if c.Inlined && o.Inlined && o.Verify {
				list = append(list, "check=on")
			}
			return list
		},
		Runtime: func(o *Options) []string { return words("verify", onOff(o.Verify)) },
	},
	{
		Name: "record", In: func(o *Options) any { return &o.Record }, Noun: "recording", Values: []string{"calls"},
		Recompiles: true,
		Help: "log every function entry, for stemma replay; this is slow, keeps recursion in full, and ends at " +
			"$STEMMA_CALLS_SIZE bytes (256 MiB if it is not set)",
		Check:   (*Options).checkRecord,
		Runtime: func(o *Options) []string { return words("record", o.Record) },
	},
	{
		Name: "sampler", In: func(o *Options) any { return &o.Sample.Sampler }, Noun: "sampler",
		Values: []string{"jvmti", "stw", "sps", "isps"}, Help: "the sampler",
		Check: func(o *Options) error {
			if o.Sample.Sampler == "jvmti" && o.Sample.At == "prologue" {
				return errors.New("-sampler=jvmti: goroutines are sampled where the world stops; " +
					"leave -sample-at=prologue out")
			}
			return nil
		},
		Runtime: func(o *Options) []string { return words("sampler", o.Sample.Sampler) },
	},
	{
		Name: "walk", In: func(o *Options) any { return &o.Sample.Walk }, Noun: "walk",
		Values: []string{"unwinder", "fp", "incremental", "marker"},
		Help:   "walk stacks by `WALK`",
		Each: func() string {
			return "incremental, the default, or marker with -sampler=isps; fp, the default, or unwinder with the " +
				"others"
		},
		Check: (*Options).checkWalk,
		Runtime: func(o *Options) []string {
			return words("walk", o.Sample.Walk)
		},
	},
	{
		Name: "every", In: func(o *Options) any { return &o.Sample.Every },
		Help: "`DURATION`: the time between samples", Metrics: []string{"cpu"},
		Check: func(o *Options) error {
			if o.Sample.Every < minEvery {
				return fmt.Errorf("-every=%v: want at least %v", o.Sample.Every, minEvery)
			}
			return nil
		},
		Runtime: func(o *Options) []string {
			return words("every", strconv.FormatInt(o.Sample.Every.Nanoseconds(), 10))
		},
	},
	{
		Name: "waiting", In: func(o *Options) any { return &o.Sample.Waiting }, Values: onOffs,
		Help:    "also sample goroutines that wait",
		Runtime: func(o *Options) []string { return words("waiting", onOff(o.Sample.Waiting)) },
	},
	{
		Name: "sample-at", Former: "ask", In: func(o *Options) any { return &o.Sample.At }, Noun: "place",
		Values: []string{"signal", "prologue"}, FormerValues: []Renamed{{"guard", "prologue"}},
		Help: "sample running goroutines at any instruction, or only in function prologues, which is biased",
		Runtime: func(o *Options) []string {
			return words("sample-at", o.Sample.At)
		},
	},
	{
		Name: "start", In: func(o *Options) any { return &o.Sample.Start }, Values: onOffs,
		Help:    "start sampling when the program starts",
		Runtime: func(o *Options) []string { return words("start", onOff(o.Sample.Start)) },
	},
	{
		Name: "trigger", In: func(o *Options) any { return &o.Acct.Trigger }, Recompiles: true,
		Help: "sample at each `TRIGGER`: calls:N, one call of N; func:N, one of N of each function; or " +
			"time:DURATION",
		Check: (*Options).checkTrigger,
		Runtime: func(o *Options) []string {
			if d, ok := strings.CutPrefix(o.Acct.Trigger, "time:"); ok {
				every, _ := time.ParseDuration(d) // Check has accepted it
				return words("trigger", "time:"+strconv.FormatInt(every.Nanoseconds(), 10))
			}
			return words("trigger", o.Acct.Trigger)
		},
	},
	{
		Name: "weights", In: func(o *Options) any { return &o.Acct.Weights }, Noun: "strategy",
		Values: []string{"last-edge", "all-new-edges"}, Help: "the edges that a sample adds to",
		Runtime: func(o *Options) []string { return words("weights", o.Acct.Weights) },
	},
	{
		Name: "warm", In: func(o *Options) any { return &o.Warm },
		Help: "start from this call `GRAPH`: static, that of the source (the default where one is always needed), or " +
			"NAME.stemma, that of an earlier run",
		Runtime: func(o *Options) []string {
			if !o.IsWarm() {
				return nil
			}
			return []string{"warm=on"}
		},
	},
	{
		Name: "events", In: func(o *Options) any { return &o.Events }, Noun: "kind", List: true, Names: EventKinds,
		Help: "record events of these `KINDS`, separated by commas",
		Compiler: func(o *Options, c Code) []string {
			if !c.Natives {
				return nil
			}
			return words("natives", onOff(o.hasEvent("alloc") || o.hasEvent("block")))
		},
		Runtime: func(o *Options) []string { return words("events", flat(o.Events)) },
	},
	{
		Name: "event-log", In: func(o *Options) any { return &o.EventLog },
		Help: "also keep the newest events one by one, with their times, in $STEMMA_EVENTS_SIZE bytes for each P " +
			"(64 MiB if it is not set)",
		Check: func(o *Options) error {
			if o.EventLog && o.Events == "" {
				return fmt.Errorf("-event-log: there are no events to log; say which with -events (have %s)",
					strings.Join(EventKinds(), ", "))
			}
			return nil
		},
		Runtime: func(o *Options) []string {
			if !o.EventLog {
				return nil
			}
			return []string{"eventlog=on"}
		},
	},
	{
		Name: "metrics", In: func(o *Options) any { return &o.Metrics }, Noun: "metric", List: true,
		Names: MetricNames, Known: func(name string) bool { return name == "" || MetricFor(name) != nil },
		FormerValues: []Renamed{{"live", "inuse"}},
		Help:         "record these `METRICS` of each context, separated by commas",
		Each:         MetricsHelp,
		Compiler: func(o *Options, c Code) (list []string) {
			for _, m := range o.Asked() {
				if c.Metrics && m.Code {
					list = append(list, m.Name+"=on")
				}
			}
			return list
		},
		Runtime: func(o *Options) (list []string) {
			for _, m := range o.Asked() {
				if m.Runtime {
					list = append(list, m.Name+"=on")
				}
			}
			return list
		},
	},
	{
		Name: "module", In: func(o *Options) any { return &o.Module },
		Help: "add the metrics that `FILE` defines to functions that it names, as count (*os.File).Write; see " +
			"docs/reference/modules.md",
		Check: func(o *Options) error {
			if o.Module.Path != "" && o.Record != "" {
				return fmt.Errorf("-module=%s: the record has calls only; leave -record=%s or -module out",
					o.Module.Path, o.Record)
			}
			return nil
		},
		Compiler: func(o *Options, c Code) []string { return words("module", o.Module.Code) },
		Runtime:  func(o *Options) []string { return words("module", o.Module.Metrics) },
	},
	{
		Name: "labels", In: func(o *Options) any { return &o.Labels },
		Help: "give what runs with labels of pprof.Do contexts of its own, for the labels with these `KEYS`, " +
			"separated by commas; see stemma report -by=label:KEY",
		Check:   (*Options).checkLabels,
		Runtime: func(o *Options) []string { return words("labels", flat(o.Labels)) },
	},
	{
		Name: "nodes", In: func(o *Options) any { return &o.Nodes },
		Help: "record at most `N` contexts, by default about four million; calls in further ones are counted " +
			"by function; of context IDs, by default 16 million or more, with further ones cut at their outer end",
		Check: func(o *Options) error {
			if o.Nodes == 0 && slices.Contains(o.Given, "nodes") {
				return errors.New("-nodes=0: want a number of contexts; without -nodes there are four million or more")
			}
			return nil
		},
		Runtime: func(o *Options) []string { return words("nodes", nonzero(o.Nodes)) },
	},
}

// FlagNamed returns the flag of a name, nil if there is none.
func FlagNamed(name string) *Flag {
	for _, f := range Flags {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// takes reports whether the flag does anything with the options: the engine takes it, or one of the metrics does.
func (f *Flag) takes(o *Options, e *Engine) bool {
	return Taking(f.Name) == nil || e.Takes(f.Name) || e.Takes("metrics") && slices.ContainsFunc(o.Asked(),
		func(m Metric) bool { return slices.Contains(f.Metrics, m.Name) })
}

// With returns what chooses the engines or the metrics that the flag is for, "" if it is for all.
func (f *Flag) With() string {
	list := slices.Clone(Taking(f.Name))
	if list == nil {
		return ""
	}
	for _, m := range f.Metrics {
		list = append(list, "-metrics="+m)
	}
	return "-engine=" + orList(list)
}

// Choices returns all that the flag takes, nil if that is no list.
func (f *Flag) Choices() []string {
	if f.Names != nil {
		return f.Names()
	}
	return f.Values
}

// Usage returns what the flag does, as package flag has it: the name of the value is in back quotes.
func (f *Flag) Usage() string {
	if f.Help == "" {
		return ""
	}
	text, begin := f.Help, ""
	if name, rest, ok := strings.Cut(text, "`: "); ok && text[0] == '`' {
		begin, text = name+"`: ", rest
	}
	switch named := strings.Contains(f.Help, "`"); {
	case f.Each != nil:
		text += ": " + f.Each()
	case f.Choices() != nil && named:
		text += ": " + orList(f.Choices())
	case f.Choices() != nil:
		begin = "`" + strings.Join(f.Choices(), "|") + "`: "
	}
	if with := f.With(); with != "" {
		begin += "with " + with + ": "
	}
	return begin + text
}

// A ChoiceError is a value that a flag does not take.
type ChoiceError struct {
	Flag    *Flag
	Value   string
	Choices []string
}

func (e *ChoiceError) Error() string {
	return fmt.Sprintf("-%s=%s: no such %s (have %s)", e.Flag.Name, e.Value, e.Flag.Noun,
		strings.Join(e.Choices, ", "))
}

// checkValue reports a value that the flag does not take. One that is "" by default may be left out.
func (f *Flag) checkValue(o *Options) error {
	value, ok := f.In(o).(*string)
	choices := f.Choices()
	if !ok || choices == nil || *value == "" && *f.In(&DefaultOptions).(*string) == "" {
		return nil
	}
	list := []string{*value}
	if f.List {
		list = strings.Split(*value, ",")
	}
	for _, v := range list {
		if !slices.Contains(choices, v) && (f.Known == nil || !f.Known(v)) {
			return &ChoiceError{f, v, choices}
		}
	}
	return nil
}

// strategy returns what the compiler makes. At ticks the accumulator takes samples without functions that are compiled
// for it.
func (o *Options) strategy(c Code) string {
	if !c.Triggered {
		return c.Strategy
	}
	kind, _, _ := strings.Cut(o.Acct.Trigger, ":")
	if kind == "time" {
		return NoStrategy
	}
	return c.Strategy + "-" + kind
}

// checkRecord reports what the calls cannot be recorded with.
func (o *Options) checkRecord() error {
	switch {
	case o.Record == "":
	case o.Recursion == "fold" && slices.Contains(o.Given, "recursion"):
		return errors.New("-record=calls: recursion is recorded in full; leave -recursion=fold out")
	case o.Verify:
		return errors.New("-record=calls: the checker has the place of the recorder; leave one of them out")
	case len(o.Asked()) > 0:
		return fmt.Errorf("-record=%s: the record has calls only; leave -metrics=%s out", o.Record, o.Metrics)
	}
	return nil
}

// checkWalk reports a walk that the sampler cannot do.
func (o *Options) checkWalk() error {
	walk, incremental := o.Sample.Walk, o.Sample.Walk == "incremental" || o.Sample.Walk == "marker"
	switch isps := o.Sample.Sampler == "isps"; {
	case incremental && !isps:
		return fmt.Errorf("-walk=%s: only -sampler=isps traces incrementally", walk)
	case walk != "" && !incremental && isps:
		return fmt.Errorf("-walk=%s: -sampler=isps traces incrementally (want incremental or marker); use "+
			"-sampler=sps", walk)
	}
	return nil
}

// checkTrigger reports a trigger that there is not.
func (o *Options) checkTrigger() error {
	trigger := o.Acct.Trigger
	kind, arg, _ := strings.Cut(trigger, ":")
	switch kind {
	case "calls", "func":
		if n, err := strconv.ParseUint(arg, 10, 31); err != nil || n == 0 {
			return fmt.Errorf("-trigger=%s: want a number of calls, as %s:1559", trigger, kind)
		}
	case "time":
		if d, err := time.ParseDuration(arg); err != nil || d < minEvery {
			return fmt.Errorf("-trigger=%s: want a duration of at least %v, as time:1ms", trigger, minEvery)
		}
	default:
		return fmt.Errorf("-trigger=%s: no such trigger (have calls:N, func:N, time:DURATION)", trigger)
	}
	return nil
}

// checkLabels reports what is no list of keys, and what labels cannot be recorded with.
func (o *Options) checkLabels() error {
	if o.Labels == "" {
		return nil
	}
	keys := strings.Split(o.Labels, ",")
	for i, key := range keys {
		switch {
		case !isLabelKey(key):
			return fmt.Errorf("-labels=%s: %q is no key: want letters, digits, and any of ._-/, commas between keys",
				o.Labels, key)
		case slices.Contains(keys[:i], key):
			return fmt.Errorf("-labels=%s: %s is there twice", o.Labels, key)
		}
	}
	switch {
	case len(keys) > layout.MaxLabels:
		return fmt.Errorf("-labels=%s: %d keys, want at most %d", o.Labels, len(keys), layout.MaxLabels)
	case o.Verify:
		return fmt.Errorf("-labels=%s: stacks show no labels to compare contexts with; leave -verify or -labels out",
			o.Labels)
	case o.Record != "":
		return fmt.Errorf("-labels=%s: the record has calls only; leave -record=%s or -labels out", o.Labels, o.Record)
	}
	return nil
}

// isLabelKey reports whether s can be a key of labels on the command line.
func isLabelKey(s string) bool {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-/", r)
	}
	return s != "" && len(s) <= maxLabelKey && !strings.ContainsFunc(s, odd)
}

// maxLabelKey is how many bytes a key of labels may have.
const maxLabelKey = 64

// words returns words of name=value, but for those without a value.
func words(pairs ...string) (list []string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, pairs[i]+"="+pairs[i+1])
		}
	}
	return list
}

// nonzero returns a number as a word has it, "" for 0.
func nonzero(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// flat returns a list as a word has it, whose end a comma would be.
func flat(list string) string { return strings.ReplaceAll(list, ",", "+") }

// onOff spells a switch as the flags do.
func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// orList returns words as a choice: "a", "a or b", "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
