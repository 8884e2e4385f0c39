package toolchain

import (
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/engine"
)

// TestFlagsOfEngines gives every flag of the table to every engine: it is refused by
// those that it is not for, whatever its value, with what there is instead.
func TestFlagsOfEngines(t *testing.T) {
	refused := 0
	flags := make(map[string][]string)
	for _, e := range engine.List {
		for _, flag := range e.Flags {
			flags[flag] = append(flags[flag], e.Name)
		}
	}
	for flag, list := range flags {
		for _, e := range engine.List {
			engine := e.Name
			o := DefaultOptions
			o.Engine, o.Given = engine, []string{flag}
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
		"cct,acct": "engine=cct,inlined=on,verify=on",
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
	if have, want := o.ForRuntime(), "file=cce,recursion=fold,verify=off,events=go+block"; have != want {
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
		{"arm64", "cct,acct", "", ""},
		{"arm64", "pcc", "", "-engine=pcc is not there for linux/arm64 yet; -engine=cct is"},
		{"arm64", "cct", "calls,cpu", ""},
	} {
		o := DefaultOptions
		o.Engine, o.Metrics = test.engine, test.metrics
		have := ""
		if err := o.checkTarget("linux", test.arch); err != nil {
			have = err.Error()
		}
		if have != test.want {
			t.Errorf("%s, %s, %q: have %q, want %q", test.arch, test.engine, test.metrics, have, test.want)
		}
	}
}
