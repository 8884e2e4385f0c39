package toolchain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot"
	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// Options are stemma's own settings of a build.
// They reach the compiler in an environment variable and the program in a string
// that the linker sets; other than flags of go they are in no build ID of
// their own, see [Toolexec].
type Options struct {
	Engine    string // the name of one of engine.List
	Recursion string // "fold" or "full"
	Inlined   bool   // count inlined calls
	Verify    bool   // add the checker
	Record    string // "calls": log every function entry, for replay; "" for nothing
	Events    string // kinds of events to record, with commas between them
	EventLog  bool   // keep a log of the newest events as well
	Metrics   string // what to record of each context, with commas between them
	Labels    string // keys of labels of goroutines that are contexts, with commas between them
	Warm      string // of dacce: "static", or a record of an earlier run, to start from; "" for nothing
	Nodes     uint64 // node budget; 0 for the runtime's default
	Sample    Sample // settings of the engine sample
	Acct      Acct   // settings of the accumulator
	Symbols   bool   // link with symbols even where go test asks for none
	Out       string // where programs record whose environment does not say; "" for stemma.out

	// Given are the flags that were on the command line: Check refuses those that do
	// nothing with the engine. A flag's default cannot be told from its value.
	Given []string
}

// FlagEngines names the engines that a flag of a build is for; "" stands for all.
func FlagEngines(flag string) string { return orList(engine.Taking(flag)) }

// orList returns words as a choice: "a", "a or b", "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// checkGiven reports the first flag that does nothing with the engine.
func (o Options) checkGiven(e *engine.Engine) error {
	for _, flag := range o.Given {
		if flag == "every" && o.samplesMetric() {
			continue // it samples
		}
		if list := engine.Taking(flag); list != nil && !e.Takes(flag) {
			return fmt.Errorf("-%s does nothing with -engine=%s: it is for -engine=%s; %s", flag, e.Name,
				orList(list), flagsText(e))
		}
	}
	return nil
}

// flagsText returns which flags of those that are for some engines are for this one.
func flagsText(e *engine.Engine) string {
	var list []string
	for _, flag := range e.Flags {
		if flag != "verify" { // which is for the command verify
			list = append(list, "-"+flag)
		}
	}
	slices.Sort(list)
	if len(list) == 0 {
		return e.Name + " has no flags of its own"
	}
	return e.Name + " has " + strings.Join(list, ", ")
}

// Sample are the settings of a sampler.
type Sample struct {
	Sampler string        // "stw", "sps" or "isps"
	Walk    string        // "unwinder", "fp", "incremental" or "marker"; "" for what fits the sampler
	Every   time.Duration // between samples
	Waiting bool          // sample waiting goroutines as well
	Ask     string        // "signal", at any instruction, or "guard", in function prologues
	Start   bool          // from the beginning
}

// DefaultSample are the settings of a build without flags.
var DefaultSample = Sample{Sampler: "isps", Every: time.Millisecond, Waiting: true, Ask: "signal", Start: true}

// minEvery is the shortest interval between samples; the sampler could not keep a shorter one.
const minEvery = 10 * time.Microsecond

// check reports the first setting that makes no sense.
func (s *Sample) check() error {
	incremental := s.Walk == "incremental" || s.Walk == "marker"
	switch {
	case s.Sampler != "stw" && s.Sampler != "sps" && s.Sampler != "isps":
		return fmt.Errorf("-sampler=%s: no such sampler (have stw, sps, isps)", s.Sampler)
	case s.Walk != "" && s.Walk != "unwinder" && s.Walk != "fp" && !incremental:
		return fmt.Errorf("-walk=%s: no such walk (have unwinder, fp, incremental, marker)", s.Walk)
	case incremental && s.Sampler != "isps":
		return fmt.Errorf("-walk=%s: only -sampler=isps traces incrementally", s.Walk)
	case s.Walk != "" && !incremental && s.Sampler == "isps":
		return fmt.Errorf("-walk=%s: -sampler=isps traces incrementally (want incremental or marker); use "+
			"-sampler=sps", s.Walk)
	case s.Every < minEvery:
		return fmt.Errorf("-every=%v: want at least %v", s.Every, minEvery)
	case s.Ask != "guard" && s.Ask != "signal":
		return fmt.Errorf("-ask=%s: want guard or signal", s.Ask)
	}
	return nil
}

// forRuntime returns what the runtime needs to know.
func (s *Sample) forRuntime() []string {
	list := []string{"sampler=" + s.Sampler, fmt.Sprintf("every=%d", s.Every.Nanoseconds()),
		"waiting=" + onOff(s.Waiting), "ask=" + s.Ask, "start=" + onOff(s.Start)}
	if s.Walk != "" {
		list = append(list, "walk="+s.Walk)
	}
	return list
}

// DefaultOptions are the options of a build without flags.
var DefaultOptions = Options{Engine: engine.Default().Name, Recursion: "fold", Inlined: true, Sample: DefaultSample,
	Acct: DefaultAcct}

// Acct are the settings of the accumulator.
type Acct struct {
	Trigger string // "calls:N", "func:N" or "time:DURATION"
	Weights string // "last-edge" or "all-new-edges"
}

// DefaultAcct are the settings of a build without flags.
var DefaultAcct = Acct{Trigger: "calls:307", Weights: "last-edge"}

// check reports the first setting that makes no sense.
func (a *Acct) check() error {
	kind, arg, _ := strings.Cut(a.Trigger, ":")
	switch kind {
	case "calls", "func":
		if n, err := strconv.ParseUint(arg, 10, 31); err != nil || n == 0 {
			return fmt.Errorf("-trigger=%s: want a number of calls, as %s:307", a.Trigger, kind)
		}
	case "time":
		if d, err := time.ParseDuration(arg); err != nil || d < minEvery {
			return fmt.Errorf("-trigger=%s: want a duration of at least %v, as time:1ms", a.Trigger, minEvery)
		}
	default:
		return fmt.Errorf("-trigger=%s: no such trigger (have calls:N, func:N, time:DURATION)", a.Trigger)
	}
	if a.Weights != "last-edge" && a.Weights != "all-new-edges" {
		return fmt.Errorf("-weights=%s: no such strategy (have last-edge, all-new-edges)", a.Weights)
	}
	return nil
}

// strategy returns the compiler's strategy for the trigger. At ticks functions take samples without being
// compiled for it.
func (a *Acct) strategy(name string) string {
	kind, _, _ := strings.Cut(a.Trigger, ":")
	if kind == "time" {
		return "none"
	}
	return name + "-" + kind
}

// forRuntime returns what the runtime needs to know.
func (a *Acct) forRuntime() []string {
	trigger := a.Trigger
	if arg, ok := strings.CutPrefix(trigger, "time:"); ok {
		d, _ := time.ParseDuration(arg) // check has accepted it
		trigger = fmt.Sprint("time:", d.Nanoseconds())
	}
	return []string{"trigger=" + trigger, "weights=" + a.Weights}
}

// engine returns the engine. One that does not exist is an error of Check; until then
// the default stands for it.
func (o Options) engine() *engine.Engine {
	if e := engine.Lookup(o.Engine); e != nil {
		return e
	}
	return engine.Default()
}

// checkEngine reports an engine that does not exist.
func (o Options) checkEngine() error {
	if engine.Lookup(o.Engine) != nil {
		return nil
	}
	return fmt.Errorf("-engine=%s: no such engine (have %s)", o.Engine, strings.Join(engine.Names(), ", "))
}

// Check reports the first option that this version does not have.
func (o Options) Check() error {
	if err := o.checkEngine(); err != nil {
		return err
	}
	e := o.engine()
	if err := o.checkGiven(e); err != nil {
		return err
	}
	if err := o.Acct.check(); e.Settings&engine.AccumulatorSettings != 0 && err != nil {
		return err
	}
	if err := o.Sample.check(); e.Settings&engine.SamplerSettings != 0 && err != nil {
		return err
	}
	if err := o.checkEvents(); err != nil {
		return err
	}
	if err := o.checkRecord(); err != nil {
		return err
	}
	if err := o.checkMetrics(); err != nil {
		return err
	}
	if err := o.checkLabels(); err != nil {
		return err
	}
	if o.Recursion != "fold" && o.Recursion != "full" {
		return fmt.Errorf("-recursion=%s: no such mode (have fold, full)", o.Recursion)
	}
	return nil
}

// checkTarget reports the first option that is not there for an architecture yet.
func (o Options) checkTarget(goos, goarch string) error {
	if engine.Lacks(goarch, o.engine().Name) {
		return fmt.Errorf("-engine=%s is not there for %s/%s yet; -engine=%s is", o.Engine, goos, goarch,
			engine.Default().Name)
	}
	for _, m := range engine.AskedMetrics(o.Metrics) {
		if engine.Lacks(goarch, m.Name) {
			return fmt.Errorf("-metrics=%s: %s is not there for %s/%s yet; leave it out", o.Metrics, m.Name, goos,
				goarch)
		}
	}
	return nil
}

// targets returns the GOARCHs that the options are there for, with commas between them.
func (o Options) targets() string {
	var list []string
	for _, arch := range goroot.Architectures {
		if o.checkTarget("linux", arch) == nil {
			list = append(list, arch)
		}
	}
	return strings.Join(list, ",")
}

// IsWarm reports whether a program needs a warm file beside it.
func (o Options) IsWarm() bool { return o.engine().Warm || o.Warm != "" }

// parts returns what the runtime must be able to do.
func (o Options) parts() engine.Part {
	if o.samplesMetric() {
		return o.engine().Parts | engine.Sampling
	}
	return o.engine().Parts
}

// ForCompiler returns what the compiler finds in STEMMA_COMPILE. It becomes
// part of the compiler's version, and so of every package's build ID.
// It holds only what changes the code: other options must not cause a rebuild.
func (o Options) ForCompiler() string {
	code := o.engine().Code
	s := "engine=" + code.Strategy
	if code.Triggered {
		s = "engine=" + o.Acct.strategy(code.Strategy)
	}
	if code.Inlined {
		s += ",inlined=" + onOff(o.Inlined)
	}
	if code.Entry != engine.HookNever {
		s += ",verify=" + onOff(code.Entry == engine.HookAlways || o.Verify || o.Record != "")
	}
	if code.Inlined && o.Inlined && o.Verify {
		s += ",check=on"
	}
	for _, m := range engine.AskedMetrics(o.Metrics) {
		if code.Metrics && m.Code {
			s += "," + m.Name + "=on"
		}
	}
	if code.Natives {
		s += ",natives=" + onOff(o.hasEvent("alloc") || o.hasEvent("block"))
	}
	return s
}

// ForNatives returns what the compiler finds in STEMMA_COMPILE when it compiles a native. In builds without contexts
// natives do nothing for them.
func (o Options) ForNatives() string {
	if o.parts()&engine.Contexts == 0 {
		return "engine=" + engine.NoStrategy
	}
	return "engine=" + o.engine().Code.Strategy
}

// eventKinds are the kinds of events that a program can record alone.
var eventKinds = []string{"alloc", "block", "go", "panic", "error"}

// hasEvent reports whether events of a kind are asked for.
func (o Options) hasEvent(kind string) bool {
	return slices.Contains(strings.Split(o.Events, ","), kind)
}

// checkEvents reports a kind that does not exist.
func (o Options) checkEvents() error {
	if o.Events == "" {
		if o.EventLog {
			return fmt.Errorf("-event-log: there are no events to log; say which with -events (have %s)",
				strings.Join(eventKinds, ", "))
		}
		return nil
	}
	for kind := range strings.SplitSeq(o.Events, ",") {
		if !slices.Contains(eventKinds, kind) {
			return fmt.Errorf("-events=%s: no such kind (have %s)", kind, strings.Join(eventKinds, ", "))
		}
	}
	return nil
}

// samplesMetric reports whether a metric is sampled.
func (o Options) samplesMetric() bool {
	return slices.ContainsFunc(engine.AskedMetrics(o.Metrics), func(m engine.Metric) bool { return m.Sampled })
}

// checkMetrics reports a metric that does not exist, and what it cannot be recorded with.
func (o Options) checkMetrics() error {
	for name := range strings.SplitSeq(o.Metrics, ",") {
		if name != "" && engine.MetricFor(name) == nil {
			return fmt.Errorf("-metrics=%s: no such metric (have %s)", name, strings.Join(engine.MetricNames(), ", "))
		}
	}
	switch samples := o.samplesMetric(); {
	case samples && o.Sample.Every < minEvery:
		return fmt.Errorf("-every=%v: want at least %v", o.Sample.Every, minEvery)
	case samples && o.engine().Parts&engine.Sampling != 0:
		return fmt.Errorf("-metrics=%s: the accumulator has the place of the sampler; leave cpu out", o.Metrics)
	}
	if o.Record != "" && len(engine.AskedMetrics(o.Metrics)) > 0 {
		return fmt.Errorf("-record=%s: the record has calls only; leave -metrics=%s out", o.Record, o.Metrics)
	}
	return nil
}

// checkLabels reports what is no list of keys, and what labels cannot be recorded with.
func (o Options) checkLabels() error {
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

// checkRecord reports what cannot be recorded, or what the calls cannot be recorded with.
func (o Options) checkRecord() error {
	switch {
	case o.Record == "":
	case o.Record != "calls":
		return fmt.Errorf("-record=%s: no such recording (have calls)", o.Record)
	case o.Recursion == "fold" && slices.Contains(o.Given, "recursion"):
		return fmt.Errorf("-record=calls: recursion is recorded in full; leave -recursion=fold out")
	case o.Verify:
		return fmt.Errorf("-record=calls: the checker has the place of the recorder; leave one of them out")
	}
	return nil
}

// ForRuntime returns the value of the program's runtime.stemmaOptions.
// The runtime reads it before it can allocate, so it is flat: words of name=value
// with commas between them.
func (o Options) ForRuntime() string {
	recursion := o.Recursion
	if o.Record != "" {
		recursion = "full" // a node must name its whole path
	}
	e := o.engine()
	s := []string{"file=" + e.File, "recursion=" + recursion, "verify=" + onOff(o.Verify)}
	if e.Flag != 0 {
		s = append(s, fmt.Sprint("flags=", e.Flag))
	}
	if o.Record != "" {
		s = append(s, "record="+o.Record)
	}
	if e.Settings&engine.SamplerSettings != 0 {
		s = append(s, o.Sample.forRuntime()...)
	}
	if e.Settings&engine.AccumulatorSettings != 0 {
		s = append(s, o.Acct.forRuntime()...)
	}
	if o.IsWarm() {
		s = append(s, "warm=on")
	}
	if o.Events != "" {
		s = append(s, "events="+strings.ReplaceAll(o.Events, ",", "+"))
	}
	if o.EventLog {
		s = append(s, "eventlog=on")
	}
	for _, m := range engine.AskedMetrics(o.Metrics) {
		if m.Runtime {
			s = append(s, m.Name+"=on")
		}
	}
	if o.samplesMetric() {
		s = append(s, fmt.Sprintf("every=%d", o.Sample.Every.Nanoseconds()))
	}
	if o.Labels != "" {
		s = append(s, "labels="+strings.ReplaceAll(o.Labels, ",", "+"))
	}
	if o.Nodes != 0 {
		s = append(s, fmt.Sprintf("nodes=%d", o.Nodes))
	}
	if o.Out != "" && !strings.ContainsAny(o.Out, ", '\"") {
		s = append(s, "out="+o.Out, "quiet=on") // tests compare what their children print
	}
	return strings.Join(s, ",")
}

// onOff spells a switch as the flags do.
func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
