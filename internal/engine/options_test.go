package engine

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFlagsOfEngines gives every flag of the table to every engine: it is refused by
// those that it is not for, whatever its value, with what there is instead.
func TestFlagsOfEngines(t *testing.T) {
	refused := 0
	flags := make(map[string][]string)
	for _, e := range List {
		for _, flag := range e.Flags {
			flags[flag] = append(flags[flag], e.Name)
		}
	}
	for flag, list := range flags {
		for _, e := range List {
			engine := e.Name
			o := DefaultOptions
			o.Engine, o.Given, o.Nodes = engine, []string{flag}, 1 // a bound of 0 is refused
			err := o.Check()
			if slices.Contains(list, engine) {
				if err != nil {
					t.Errorf("-%s with -engine=%s: %v", flag, engine, err)
				}
				continue
			}
			refused++
			if err == nil {
				t.Errorf("-%s with -engine=%s is accepted", flag, engine)
				continue
			}
			for _, want := range append([]string{"-" + flag + " does nothing with -engine=" + engine +
				": it is for -engine=", engine + " has "}, list...) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("-%s with -engine=%s: %v; want %q in it", flag, engine, err, want)
				}
			}
		}
	}
	if refused < 50 {
		t.Errorf("only %d pairs of a flag and an engine are refused", refused)
	}
}

// TestForCompiler holds what the compiler is told: two engines with the same words share
// compiled packages, and a changed word compiles them all again.
func TestForCompiler(t *testing.T) {
	for name, want := range map[string]string{
		"cct":      "engine=cct,inlined=on,verify=off",
		"cct+acct": "engine=cct,inlined=on,verify=on",
		"dacce":    "engine=dacce,verify=off,natives=off",
		"pcce":     "engine=dacce,verify=off,natives=off",
		"lucce":    "engine=lucce,verify=off,natives=off",
		"pcc":      "engine=pcc,verify=off,natives=off",
		"sample":   "engine=none",
		"acct":     "engine=acct-calls",
		"none":     "engine=none,verify=off,natives=off",
	} {
		o := DefaultOptions
		o.Engine = name
		if have := o.ForCompiler(); have != want {
			t.Errorf("%s: have %s, want %s", name, have, want)
		}
	}
	o := DefaultOptions
	o.Record = "calls"
	if have, want := o.ForCompiler(), "engine=cct,inlined=on,verify=on"; have != want {
		t.Errorf("with calls recorded: have %s, want %s", have, want)
	}
	o.Record, o.Metrics = "", "calls,alloc"
	if have, want := o.ForCompiler(), "engine=cct,inlined=on,verify=off,alloc=on"; have != want {
		t.Errorf("with allocations: have %s, want %s", have, want)
	}
	if have, want := o.ForRuntime(), "file=tree,recursion=fold,verify=off,alloc=on"; have != want {
		t.Errorf("the runtime, with allocations: have %s, want %s", have, want)
	}
	o.Metrics = "calls,,alloc," // as from an empty variable
	if err := o.Check(); err != nil {
		t.Errorf("with empty metrics: %v", err)
	}
	if have, want := o.ForCompiler(), "engine=cct,inlined=on,verify=off,alloc=on"; have != want {
		t.Errorf("with empty metrics: have %s, want %s", have, want)
	}
	code := o.ForCompiler()
	o.Labels = "endpoint,user.id"
	if have, want := o.ForRuntime(), "file=tree,recursion=fold,verify=off,alloc=on,labels=endpoint+user.id"; have !=
		want {
		t.Errorf("the runtime, with labels: have %s, want %s", have, want)
	}
	if have := o.ForCompiler(); have != code {
		t.Errorf("labels change compiled code: have %s, want %s", have, code)
	}
	o.Labels = ""
	o.Engine, o.Metrics, o.Events = "dacce", "", "go,block"
	if have, want := o.ForCompiler(), "engine=dacce,verify=off,natives=on"; have != want {
		t.Errorf("with events below natives: have %s, want %s", have, want)
	}
	if have, want := o.ForRuntime(), "file=cce,verify=off,events=go+block"; have != want {
		t.Errorf("the runtime: have %s, want %s", have, want)
	}
}

// TestCheckLabels gives -labels what is no list of keys, or cannot be recorded with other flags.
func TestCheckLabels(t *testing.T) {
	for labels, want := range map[string]string{
		"endpoint":         "",
		"a,b.c,d-e,f/g":    "",
		"a,b,c,d,e":        "5 keys, want at most 4",
		"a,":               `"" is no key`,
		"a+b":              `"a+b" is no key`,
		"endpoint=/orders": `"endpoint=/orders" is no key`,
		"a,a":              "a is there twice",
	} {
		o := DefaultOptions
		o.Labels = labels
		err := o.Check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("-labels=%s: have %v, want %q", labels, err, want)
		}
		o.Verify = true
		if err := o.Check(); err == nil {
			t.Errorf("-labels=%s with -verify: no error", labels)
		}
	}
}

// TestCheckTarget asks for what an architecture does not have yet.
func TestCheckTarget(t *testing.T) {
	for _, test := range []struct{ arch, engine, metrics, want string }{
		{"amd64", "sample", "", ""},
		{"arm64", "cct", "calls,alloc,wait,ops", ""},
		{"arm64", "dacce", "", ""},
		{"arm64", "sample", "", ""},
		{"arm64", "cct+acct", "", ""},
		{"arm64", "pcc", "", "-engine=pcc is not there for linux/arm64 yet; -engine=cct is"},
		{"arm64", "cct", "calls,cpu", ""},
	} {
		o := DefaultOptions
		o.Engine, o.Metrics = test.engine, test.metrics
		have := ""
		if err := o.CheckTarget("linux", test.arch); err != nil {
			have = err.Error()
		}
		if have != test.want {
			t.Errorf("%s, %s, %q: have %q, want %q", test.arch, test.engine, test.metrics, have, test.want)
		}
	}
}

func TestOptions(t *testing.T) {
	o := DefaultOptions
	if have, want := o.ForCompiler(), "engine=cct,inlined=on,verify=off"; have != want {
		t.Errorf("compiler: have %s, want %s", have, want)
	}
	o.Recursion, o.Nodes = "full", 1000
	if have, want := o.ForRuntime(), "file=tree,recursion=full,verify=off,nodes=1000"; have != want {
		t.Errorf("runtime: have %s, want %s", have, want)
	}
	o = DefaultOptions
	o.Record = "calls"
	if have, want := o.ForCompiler(), "engine=cct,inlined=on,verify=on"; have != want {
		t.Errorf("compiler, to record: have %s, want %s", have, want)
	}
	if have, want := o.ForRuntime(), "file=tree,recursion=full,verify=off,record=calls"; have != want {
		t.Errorf("runtime, to record: have %s, want %s", have, want)
	}
	o = DefaultOptions
	o.Verify = true
	if have, want := o.ForCompiler(), "engine=cct,inlined=on,verify=on,check=on"; have != want {
		t.Errorf("compiler, for the checker: have %s, want %s", have, want)
	}
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Engine: "sample", Recursion: "fold"}, "-sampler=: no such sampler"},
		{Options{Engine: "sample", Recursion: "fold", Sample: Sample{Sampler: "sps", Walk: "marker", At: "signal"}},
			"-walk=marker: only -sampler=isps"},
		{Options{Engine: "sample", Recursion: "fold", Sample: Sample{Sampler: "isps", Walk: "fp", At: "signal"}},
			"-walk=fp: -sampler=isps"},
		{Options{Engine: "sample", Recursion: "fold", Sample: Sample{Sampler: "isps", Every: 1, At: "signal"}},
			"-every=1ns: want at least"},
		{Options{Engine: "x", Recursion: "fold"}, "-engine=x: no such engine"},
		{Options{Engine: "cct", Recursion: "x"}, "-recursion=x: no such mode"},
		{Options{Engine: "cct", Recursion: "fold", Record: "x"}, "-record=x: no such recording (have calls)"},
		{Options{Engine: "cct", Recursion: "fold", Record: "calls", Verify: true},
			"-record=calls: the checker has the place"},
		{Options{Engine: "cct", Recursion: "fold", Record: "calls", Given: []string{"record", "recursion"}},
			"-record=calls: recursion is recorded in full"},
	} {
		if err := tt.o.Check(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%+v: have error %v, want %q", tt.o, err, tt.want)
		}
	}
}

// TestFlags checks that each flag of the table fits the rest: its field is its own, and what compiler and runtime are
// told changes with it.
func TestFlags(t *testing.T) {
	o := DefaultOptions
	fields := make(map[any]string)
	for _, f := range Flags {
		field := f.In(&o)
		if other := fields[field]; other != "" {
			t.Errorf("-%s has the field of -%s", f.Name, other)
		}
		fields[field] = f.Name
		if f.Choices() != nil && f.Noun == "" && !slices.Equal(f.Choices(), onOffs) {
			t.Errorf("-%s: there is no word for one of its values", f.Name)
		}
		code, told := changes(f)
		if !code && !told {
			t.Errorf("-%s: neither compiler nor runtime is told", f.Name)
		}
		if want := f.Compiler != nil || f.Recompiles; code != want {
			t.Errorf("-%s: the compiler is told other things: %v, want %v", f.Name, code, want)
		}
		for _, m := range f.Metrics {
			if MetricFor(m) == nil {
				t.Errorf("-%s is for a metric %s, which there is not", f.Name, m)
			}
		}
	}
	for _, e := range List { // the default of each flag is a value that it takes
		o := DefaultOptions
		o.Engine = e.Name
		if err := o.Check(); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}

// changes reports whether what the compiler and what the runtime are told depends on a flag, with some engine.
func changes(f *Flag) (code, told bool) {
	values := append([]string{"static", "func:31", "key", "dacce", "calls,alloc", "alloc"}, f.Choices()...)
	for _, e := range List {
		for _, value := range values {
			o := DefaultOptions
			o.Engine = e.Name
			if f.Name != "events" {
				o.Events = "go" // for its log
			}
			compiler, runtime := o.ForCompiler(), o.ForRuntime()
			switch in := f.In(&o).(type) {
			case *bool:
				*in = !*in
			case *string:
				*in = value
			case *uint64:
				*in++
			case *time.Duration:
				*in *= 2
			case *Module:
				*in = Module{"file", "functions", "metrics"}
			}
			if o.Chosen() != nil && o.Check() == nil {
				code, told = code || o.ForCompiler() != compiler, told || o.ForRuntime() != runtime
			}
		}
	}
	return code, told
}

// TestReplaced types former names.
func TestReplaced(t *testing.T) {
	o := DefaultOptions
	o.Metrics = "calls,live"
	if have := o.Replaced(); len(have) != 1 || have[0] != (Renamed{"-metrics=live", "inuse"}) ||
		o.Metrics != "calls,inuse" {
		t.Errorf("have %v, and %s", have, o.Metrics)
	}
	o.Engine, o.Sample.At, o.Given = "cct,acct", "guard", []string{"engine", "ask"}
	want := []Renamed{{"-engine=cct,acct", "cct+acct"}, {"-ask", "-sample-at"}, {"-sample-at=guard", "prologue"}}
	if have := o.Replaced(); !slices.Equal(have, want) || !slices.Equal(o.Given, []string{"engine", "sample-at"}) {
		t.Errorf("have %v, and %v; want %v", have, o.Given, want)
	}
	if have := o.Replaced(); have != nil {
		t.Errorf("once more: %v", have)
	}
}
