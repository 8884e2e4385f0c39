package recorded

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// gokerTest runs one of the programs with leaks, and prints what package runtime says of these before NoLeaks says what
// it does, and afterwards.
const gokerTest = `package main

import (
	"os"
	"runtime/pprof"
	"testing"

	"github.com/stemma-go/stemma/stemmatest"
)

func TestGoker(t *testing.T) {
	f := cmds[os.Getenv("GOKER")]
	t.Cleanup(func() { profile("after") })
	stemmatest.NoLeaks(t)
	t.Cleanup(func() { profile("before") })
	f()
}

func profile(when string) {
	println("profile", when)
	pprof.Lookup("goroutineleak").WriteTo(os.Stderr, 2)
	println("end of profile")
}
`

// TestGokerLeaks runs the programs with leaks of package runtime's own test as tests with NoLeaks, each in a process
// of its own, and compares what it says of goroutines that are leaked with the profile goroutineleak of that process:
// for each how many there are, what they wait for, and who started them. Programs go on meanwhile: there are at least
// those that leaked before, and at most those that have afterwards. What time.AfterFunc starts is nobody's.
func TestGokerLeaks(t *testing.T) {
	e2e.OnlyHost(t, "the programs are those of the Go that runs the tests")
	e2e.NeedFull(t)
	var env []string
	if strings.HasPrefix(runtime.Version(), "go1.26.") {
		env = []string{"GOEXPERIMENT=goroutineleakprofile"}
	}
	exe, names := buildGoker(t, env)
	slots, results := make(chan bool, 4), make([]string, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		slots <- true
		wg.Go(func() {
			cmd := exec.Command(exe, "-test.v")
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "GOKER="+name, "STEMMA_OUT="+t.TempDir(), "GODEBUG=asyncpreemptoff=1")
			out, _ := cmd.CombinedOutput() // it fails
			results[i] = string(out)
			<-slots
		})
	}
	wg.Wait()
	leaks, leaking := 0, 0
	for i, name := range names {
		said, before, after := gokerParts(results[i])
		have, least, most := leaksSaid(said), leaksIn(before), leaksIn(after)
		for key := range most {
			leaks += most[key]
			if have[key] < least[key] || have[key] == 0 {
				t.Errorf("%s: %s: have %d, want %d to %d", name, key, have[key], least[key], most[key])
			}
		}
		for key := range have {
			if have[key] > most[key] {
				t.Errorf("%s: %s: have %d, want %d to %d", name, key, have[key], least[key], most[key])
			}
		}
		if len(most) > 0 {
			leaking++
		}
	}
	t.Logf("%d leaked goroutines in %d of %d programs", leaks, leaking, len(names))
	if leaking < len(names)*3/4 {
		t.Errorf("the profile has leaks of %d of %d programs", leaking, len(names))
	}
}

// gokerParts returns what NoLeaks has printed, and the two profiles.
func gokerParts(output string) (said, before, after string) {
	parts := map[string]string{}
	for {
		head, tail, ok := strings.Cut(output, "profile ")
		said += head
		if !ok {
			return said, parts["before"], parts["after"]
		}
		text, rest, _ := strings.Cut(tail, "end of profile")
		when, text, _ := strings.Cut(text, "\n")
		parts[when], output = text, rest
	}
}

// buildGoker builds the test of all programs and returns their names.
func buildGoker(t *testing.T, env []string) (exe string, names []string) {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	from := filepath.Join(strings.TrimSpace(string(root)), "src/runtime/testdata/testgoroutineleakprofile/goker")
	files, err := filepath.Glob(filepath.Join(from, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no programs: %v", from, err)
	}
	repository, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	registered := regexp.MustCompile(`register\("(\w+)"`)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(filepath.Base(file), data)
		for _, m := range registered.FindAllSubmatch(data, -1) {
			names = append(names, string(m[1]))
		}
	}
	sums, err := os.ReadFile(filepath.Join(repository, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write("go.sum", sums)
	write("leaks_test.go", []byte(gokerTest))
	write("go.mod", fmt.Appendf(nil, "module goker\n\ngo 1.26.0\n\nrequire github.com/stemma-go/stemma v0.0.0\n\n"+
		"replace github.com/stemma-go/stemma => %s\n", repository))
	exe = filepath.Join(dir, "goker.test")
	cmd := exec.Command(e2e.Tool(t), "test", "-c", "-o", exe, ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, bytes.TrimSpace(out))
	}
	return exe, names
}

// What NoLeaks says of goroutines of one context, and what the profile says of one.
var (
	saidLeak     = regexp.MustCompile(`(?m)^ +(\d+)  ([^,\n]+), leaked\n +started by (\S+)`)
	profiledLeak = regexp.MustCompile(`(?ms)^goroutine \d+ (?:gp=\S+ m=\S+ )?\[([^\]]*?) \(leaked\)[^\]]*\]:.*?^created by (\S+)`)
)

// leaksSaid returns how many goroutines NoLeaks calls leaked, by what they wait for and who started them.
func leaksSaid(text string) map[string]int {
	list := make(map[string]int)
	for _, m := range saidLeak.FindAllStringSubmatch(text, -1) {
		n := 0
		fmt.Sscan(m[1], &n)
		list[m[2]+" by "+m[3]] += n
	}
	return list
}

// leaksIn is leaksSaid for the profile.
func leaksIn(text string) map[string]int {
	list := make(map[string]int)
	for _, m := range profiledLeak.FindAllStringSubmatch(text, -1) {
		if m[2] != "time.goFunc" {
			list[m[1]+" by "+m[2]]++
		}
	}
	return list
}
