package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/bench/internal/suite"
)

func TestExceptionsFile(t *testing.T) {
	if _, err := suite.ParseExceptions(exceptionsText); err != nil {
		t.Error(err)
	}
}

func TestParseCase(t *testing.T) {
	for src, want := range map[string]*testCase{
		"// run\n": {action: "run"},
		"//go:build cgo\n\n// run -gcflags='all=-N -l' -goexperiment x a b\n": {action: "run",
			flags: []string{"-gcflags=all=-N -l"}, env: []string{"GOEXPERIMENT=x"}, args: []string{"a", "b"}},
		"// rundir -s\n":       {action: "rundir", single: true},
		"// run cmplx1.go a":   {action: "run", more: []string{"cmplx1.go"}, args: []string{"a"}},
		"// errorcheck\n":      nil,
		"package p\n// run\n":  nil,
		"// Copyright\n// run": nil,
	} {
		if have := parseCase("", "", []byte(src)); !reflect.DeepEqual(have, want) {
			t.Errorf("%q: have %+v, want %+v", src, have, want)
		}
	}
}

// TestCheck runs a stemma that prints what the real one would.
func TestCheck(t *testing.T) {
	const build = `build) while [ "$1" != -o ]; do shift; done; printf '#!/bin/sh\n' >$2; chmod +x $2;;`
	for _, c := range []struct {
		name, script string
		want         suite.Check
		ok           bool
	}{
		{"equal", build + ` verify) echo "checked 12 contexts, 0 mismatches";;`, suite.Check{Contexts: 12}, true},
		{"different", build + ` verify) echo "checked 12 contexts, 3 mismatches"; exit 1;;`,
			suite.Check{Contexts: 12, Mismatches: 3}, false},
		{"no record", build + ` verify) echo "no record" >&2; exit 1;;`, suite.Check{}, false},
		{"no build", `build) exit 1;;`, suite.Check{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tester, cases := scripted(t, c.script, "func main() {}", time.Minute)
			have := tester.check(cases[0], filepath.Join(t.TempDir(), "work"))
			if have[0].Check != c.want || (have[0].failed != "") != (c.want.Contexts == 0) {
				t.Errorf("have %+v, want %+v", have, c.want)
			}
			if ok := reportChecks(cases, tester.builds, [][]checked{have}); ok != c.ok {
				t.Errorf("ok %v, want %v", ok, c.ok)
			}
		})
	}
}

// scripted returns one test, a program with a function main, and what tries it with a stemma that is a shell script.
func scripted(t *testing.T, script, program string, timeout time.Duration) (*tester, []*testCase) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"stemma": "#!/bin/sh\ncase $1 in\n" + script + "\nesac\n",
		"a.go": "// run\n\npackage main\n\n" + program + "\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cases, err := findCases(dir)
	if err != nil || len(cases) != 1 {
		t.Fatalf("%d tests (%v), want 1", len(cases), err)
	}
	return &tester{stemma: filepath.Join(dir, "stemma"), builds: builds[:1], timeout: timeout}, cases
}

// TestTry has programs that end, and that do not.
func TestTry(t *testing.T) {
	for _, c := range []struct{ sleep, want string }{{"0", ""}, {"600", "it does not end"}} {
		script := `build) while [ "$1" != -o ]; do shift; done; printf '#!/bin/sh\nexec sleep ` + c.sleep +
			`\n' >$2; chmod +x $2;;`
		tester, cases := scripted(t, script, "func main() {}", 5*time.Second)
		r := tester.try(cases[0], filepath.Join(t.TempDir(), "work"))
		have := r.different["cct"]
		if !strings.HasPrefix(have, c.want) || (have == "") != (c.want == "") || r.unusable != "" {
			t.Errorf("sleep %s: %q, %q, want %q", c.sleep, have, r.unusable, c.want)
		}
	}
}

// TestLimit has a test that takes longer than the limit allows, but not ten times as long as plainly.
func TestLimit(t *testing.T) {
	tester := &tester{timeout: time.Minute}
	for plain, want := range map[time.Duration]time.Duration{
		time.Second: time.Minute, 40 * time.Second: 400 * time.Second,
	} {
		if have := tester.limit(plain); have != want {
			t.Errorf("%v plainly: %v, want %v", plain, have, want)
		}
	}
}

// TestBeside has programs that behave otherwise in plain Go with the flags of the build.
func TestBeside(t *testing.T) {
	const program = `import ("os"; "runtime/debug"; "time")
func main() {
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-gcflags" && s.Value == "-l" { os.Exit(5) }
		if s.Key == "-gcflags" && s.Value == "-l -l" { time.Sleep(time.Second); os.Exit(5) }
		if s.Key == "-gcflags" && s.Value == "-N" { time.Sleep(time.Hour) }
	}
}`
	for _, c := range []struct {
		flag, does, want string
		endless          bool
	}{
		{"-gcflags=-l", "exit 5", "", false},
		{"-gcflags=-l", "exit 6", "exit code 6, want 5", false},
		{"-gcflags=-l", "exec sleep 600", "it does not end", false},
		{"-gcflags=-l -l", "sleep 3; exit 5", "", false}, // plainly it ends after 1 s
		{"-gcflags=-N", "exec sleep 600", "", true},
		{"-gcflags=-N", "exit 6", "exit code 6, want 0", false},
		{"-gcflags=-m=x", "exit 6", "exit code 6, want 0\n; plain Go does not build it with the same flags", false},
	} {
		script := `build) while [ "$1" != -o ]; do shift; done; printf '#!/bin/sh\n` + c.does + `\n' >$2; chmod +x $2;;`
		tester, cases := scripted(t, script, program, 2*time.Second)
		tester.builds = []build{{"b", []string{"-engine=cct", c.flag}, nil}}
		r := tester.try(cases[0], filepath.Join(t.TempDir(), "work"))
		have := r.different["b"]
		if !strings.HasPrefix(have, c.want) || (have == "") != (c.want == "") || r.unusable != "" ||
			r.endless["b"] != c.endless {
			t.Errorf("%s, %s: %q, %q, %v, want %q, %v", c.flag, c.does, have, r.unusable, r.endless, c.want, c.endless)
		}
	}
}
