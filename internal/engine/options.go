package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Options are what the flags of a build choose: each flag of [Flags] has its field.
type Options struct {
	Engine    string // the name of one of List
	Recursion string // "fold" or "full"
	Inlined   bool   // count inlined calls
	Verify    bool   // add the checker
	Record    string // "calls": log every function entry, for replay; "" for nothing
	Events    string // kinds of events to record, with commas between them
	EventLog  bool   // keep a log of the newest events as well
	Metrics   string // what to record of each context, with commas between them
	Module    Module // metrics that functions add to which know nothing of them
	Labels    string // keys of labels of goroutines that are contexts, with commas between them
	Warm      string // what to start from: "static", or a record of an earlier run; "" for nothing
	Nodes     uint64 // node budget; 0 for the runtime's default
	Sample    Sample // settings of a sampler
	Acct      Acct   // settings of the accumulator

	// Given are the flags that were on the command line: Check refuses those that do
	// nothing with the engine. A flag's default cannot be told from its value.
	Given []string
}

// Sample are the settings of a sampler.
type Sample struct {
	Sampler string        // "jvmti", "stw", "sps" or "isps"
	Walk    string        // "unwinder", "fp", "incremental" or "marker"; "" for what fits the sampler
	Every   time.Duration // between samples
	Waiting bool          // sample waiting goroutines as well
	At      string        // "signal", at any instruction, or "prologue", of a function
	Start   bool          // from the beginning
}

// A Module is what a file of definitions says; the zero value is none. Package module reads such files.
type Module struct {
	Path    string // as it was typed
	Code    string // which functions add what, as the compiler has it
	Metrics string // the metrics, as the runtime has them
}

// Acct are the settings of the accumulator.
type Acct struct {
	Trigger string // "calls:N", "func:N" or "time:DURATION"
	Weights string // "last-edge" or "all-new-edges"
}

// DefaultOptions are the options of a build without flags.
var DefaultOptions = Options{Engine: "cct", Recursion: "fold", Inlined: true,
	Sample: Sample{Sampler: "isps", Every: time.Millisecond, Waiting: true, At: "signal", Start: true},
	Acct:   Acct{Trigger: "calls:1559", Weights: "last-edge"}}

// Chosen returns the engine. One that does not exist is an error of Check; until then the default stands for it.
func (o *Options) Chosen() *Engine {
	if e := Lookup(o.Engine); e != nil {
		return e
	}
	return Default()
}

// Parts returns what the runtime must be able to do.
func (o *Options) Parts() Part {
	if o.sampled() {
		return o.Chosen().Parts | Sampling
	}
	return o.Chosen().Parts
}

// IsWarm reports whether a program needs a warm file beside it.
func (o *Options) IsWarm() bool { return o.Chosen().Warm || o.Warm != "" }

// Asked returns the metrics that are recorded beside calls.
func (o *Options) Asked() []Metric { return AskedMetrics(o.Metrics) }

// sampled reports whether one of them is sampled.
func (o *Options) sampled() bool {
	return slices.ContainsFunc(o.Asked(), func(m Metric) bool { return m.Sampled })
}

// hasEvent reports whether events of a kind are asked for.
func (o *Options) hasEvent(kind string) bool {
	return slices.Contains(strings.Split(o.Events, ","), kind)
}

// Check reports the first option that this version does not have, or that does nothing with the others.
func (o *Options) Check() error {
	e := o.Chosen()
	for _, f := range Flags {
		err := error(nil)
		if f.takes(o, e) {
			err = f.checkValue(o)
		} else if slices.Contains(o.Given, f.Name) {
			err = fmt.Errorf("-%s does nothing with -engine=%s: it is for %s; %s", f.Name, e.Name, f.With(),
				flagsText(e))
		}
		if err != nil {
			return err
		}
	}
	for _, f := range Flags {
		if f.Check == nil || !f.takes(o, e) {
			continue
		}
		if err := f.Check(o); err != nil {
			return err
		}
	}
	return nil
}

// flagsText returns which flags of those that are for some engines are for this one.
func flagsText(e *Engine) string {
	var list []string
	for _, f := range Flags {
		if f.Help != "" && e.Takes(f.Name) {
			list = append(list, "-"+f.Name)
		}
	}
	slices.Sort(list)
	if len(list) == 0 {
		return e.Name + " has no flags of its own"
	}
	return e.Name + " has " + strings.Join(list, ", ")
}

// CheckTarget reports the first option that is not there for an architecture yet.
func (o *Options) CheckTarget(goos, goarch string) error {
	if Lacks(goarch, o.Chosen().Name) {
		return fmt.Errorf("-engine=%s is not there for %s/%s yet; -engine=%s is", o.Engine, goos, goarch,
			Default().Name)
	}
	for _, m := range o.Asked() {
		if Lacks(goarch, m.Name) {
			return fmt.Errorf("-metrics=%s: %s is not there for %s/%s yet; leave it out", o.Metrics, m.Name, goos,
				goarch)
		}
	}
	return nil
}

// ForCompiler returns what the compiler finds in STEMMA_COMPILE. It becomes
// part of the compiler's version, and so of every package's build ID.
// It holds only what changes the code: other options must not cause a rebuild.
func (o *Options) ForCompiler() string {
	var words []string
	for _, f := range Flags {
		if f.Compiler != nil {
			words = append(words, f.Compiler(o, o.Chosen().Code)...)
		}
	}
	return strings.Join(words, ",")
}

// ForNatives returns what the compiler finds in STEMMA_COMPILE when it compiles a native. In builds without contexts
// natives do nothing for them.
func (o *Options) ForNatives() string {
	if o.Parts()&Contexts == 0 {
		return "engine=" + NoStrategy
	}
	return "engine=" + o.Chosen().Code.Strategy
}

// ForRuntime returns the value of the program's runtime.stemmaOptions.
// The runtime reads it before it can allocate, so it is flat: words of name=value
// with commas between them. A list in it has + between its words.
func (o *Options) ForRuntime() string {
	var words []string
	for _, f := range Flags {
		if f.Runtime != nil && f.takes(o, o.Chosen()) {
			words = append(words, f.Runtime(o)...)
		}
	}
	return strings.Join(words, ",")
}

// Replaced returns what the options say in former names, each with its name now, and replaces it. Former names are
// taken for one release.
func (o *Options) Replaced() (list []Renamed) {
	for _, f := range Flags {
		if i := slices.Index(o.Given, f.Former); i >= 0 {
			o.Given[i] = f.Name
			list = append(list, Renamed{"-" + f.Former, "-" + f.Name})
		}
		value, ok := f.In(o).(*string)
		if !ok {
			continue
		}
		words := []string{*value}
		if f.List {
			words = strings.Split(*value, ",")
		}
		for i, word := range words {
			k := slices.IndexFunc(f.FormerValues, func(r Renamed) bool { return r.Typed == word })
			if k >= 0 {
				words[i] = f.FormerValues[k].Now
				list = append(list, Renamed{"-" + f.Name + "=" + word, words[i]})
			}
		}
		*value = strings.Join(words, ",")
	}
	return list
}

// Renamed is what has another name now.
type Renamed struct{ Typed, Now string }
