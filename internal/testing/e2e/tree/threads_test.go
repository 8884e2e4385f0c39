package tree

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// withoutP are functions that may run without a P: threads, what they call through interfaces, what is called by
// sysmon, in signal handlers and in system calls.
var withoutP = regexp.MustCompile(`^runtime\.(stemma(Rotating|IDsThread|Sampler|Spare` +
	`|EnterGo|DacceEnterGo|LucceEnterGo|AcctEnterGo|CountRun|SampleContext|AddTo|MapShape` +
	`|Tick|PolledAt|Patient|Until|Mend|Orphan|SampleHere|Stepped|TraceOf|LR|Locate|Returned|Complete|PushedCall)` +
	`|\(\*stemma(SegmentFiles|IDsDirs|LineText|File|Spin|Timer|Thread)\)\..*)$`)

// needsP are functions of the runtime that need a P, or a goroutine: they allocate, are write barriers, or wait. The
// compiler looks for some of them, with go:nowritebarrierrec, in package runtime and not behind an interface.
var needsP = regexp.MustCompile(`^runtime\.(gcWriteBarrier\d|wbMove|wbZero|typedmem.*|typedslice.*|bulkBarrier.*` +
	`|mallocgc.*|newobject|makeslice.*|growslice.*|makemap.*|makechan.*|map(access|assign|delete|clear).*` +
	`|typeAssert|interfaceSwitch|assertE2I.*|convT.*|concat.*|slicebytetostring.*|stringtoslice.*|intstring|rawstring.*` +
	`|deferproc.*|deferreturn|newproc.*|gopark.*|goready.*|chan(send|recv).*|selectgo)$`)

var (
	called  = regexp.MustCompile(`^(?:CALL|JMP) (\S+?)(?:\.abi0)?\(SB\)`)
	closure = regexp.MustCompile(`^(.*)\.func\d+$`)
)

// TestWithoutP looks in machine code at whatever may run without a P: nothing of it needs one.
func TestWithoutP(t *testing.T) {
	e2e.NeedMore(t)
	threadsKnown(t)
	for _, flags := range e2e.Few(2, "-engine=dacce", "-engine=sample", "-engine=cct", "-engine=lucce", "-engine=acct",
		"-metrics=calls,alloc,cpu,waits,ops", "-engine=dacce -events=alloc") {
		t.Run(flags, func(t *testing.T) {
			exe := e2e.Build(t, "grows", strings.Fields(flags)...)
			out, err := exec.Command("go", "tool", "objdump", "-s", "stemma", exe).Output()
			if err != nil {
				t.Fatal(err)
			}
			calls := map[string][]string{}
			for _, f := range list(string(out)) {
				name := strings.TrimSuffix(f.name, ".abi0")
				if m := closure.FindStringSubmatch(name); m != nil {
					calls[m[1]] = append(calls[m[1]], name)
				}
				for _, code := range f.code {
					if m := called.FindStringSubmatch(code); m != nil {
						calls[name] = append(calls[name], m[1])
					}
				}
			}
			seen := map[string]string{} // by whom
			var reach func(name string)
			reach = func(name string) {
				for _, callee := range calls[name] {
					if needsP.MatchString(callee) {
						chain := callee
						for f := name; f != ""; f = seen[f] {
							chain += " < " + f
						}
						t.Error(chain)
					} else if _, ok := seen[callee]; !ok && strings.Contains(callee, "stemma") {
						seen[callee] = name
						reach(callee)
					}
				}
			}
			for _, name := range slices.Sorted(maps.Keys(calls)) {
				if _, ok := seen[name]; !ok && withoutP.MatchString(name) {
					seen[name] = ""
					reach(name)
				}
			}
			if t.Logf("%d functions", len(seen)); len(seen) < 100 {
				t.Error("so few are not all of them")
			}
		})
	}
}

// threadsKnown fails if a thread is started with a function that withoutP has not.
func threadsKnown(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "goroot", "_goroot", "runtime", "stemma*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\bnewm\((\w+)`).FindAllSubmatch(src, -1) {
			if !withoutP.MatchString("runtime." + string(m[1])) {
				t.Errorf("%s starts a thread with %s, which is not looked at", filepath.Base(file), m[1])
			}
		}
	}
}
