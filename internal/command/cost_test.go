package command

import (
	"os"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/profile"
)

// opsText is a profile with operations, of a program built by the Go release GO.
const opsText = `stemma profile 2
record 0 run 00000000000000a1
process 0 args "prog" run 00000000000000a1 pid 7 go "GO" engine "cct"
func 0 kind root name "root" cells 10 counters 1
func 1 name "main.main" file "main.go" line 3 counters 1
	weight 0 class load more 3
value 0 name "calls" unit "count" about "the calls" flags perCounter
value 1 name "ops" unit "count" about "the operations" flags weighted
node 0 calls 0
node 1 func 1 parent 0 calls 1000
`

// writeText writes the profile of a text to a file.
func writeText(t *testing.T, name, text string) {
	t.Helper()
	p, err := profile.ParseText(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(f); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
}

// TestCosts reports the cost of operations on another machine, and asks for what there is not.
func TestCosts(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, release := range map[string]string{"new.stemma": "go1.26.11", "other.stemma": "go1.27.4"} {
		writeText(t, name, strings.Replace(opsText, "GO", release, 1))
	}
	code, stdout, stderr := runMain("report", "-cost=linux-arm64", "new.stemma")
	if code != 0 || !strings.Contains(stdout, " instructions · 1 context") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, c := range []struct{ cost, file, want string }{
		{"linux-arm64", "other.stemma", "report: -cost: no costs for linux-arm64 and go1.27.4 (have linux-amd64 " +
			"go1.26, linux-arm64 go1.26, linux-riscv64 go1.26), since operations of another release are others; " +
			"build the program with one of these"},
		{"vax", "new.stemma", `report: -cost: no costs for "vax" (have linux-amd64, linux-arm64, linux-riscv64)`},
	} {
		code, _, stderr := runMain("report", "-cost="+c.cost, c.file)
		if code != base.ExitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("-cost=%s: exit code %d, %s; want %s", c.cost, code, stderr, c.want)
		}
	}
}

// TestCostsFile reports with a file of stemma costs in which a function is other code, and with one of another release.
func TestCostsFile(t *testing.T) {
	t.Chdir(t.TempDir())
	record := `stemma profile 2
record 0 run 00000000000000a1
process 0 args "prog" run 00000000000000a1 pid 7 go "go1.26.8" engine "cct"
func 0 kind root name "root" cells 10 counters 1
func 1 name "main.main" file "main.go" line 3 counters 3
	weight 0 counter 0 class counted more 4
	weight 1 counter 2 class counted more 5
func 2 name "main.f" file "main.go" line 9 counters 1
	weight 0 class counted more 3
placed 0 func 1 counters 3
value 0 name "calls" unit "count" about "the calls" flags perCounter
value 1 name "ops" unit "count" about "the operations" flags weighted
node 0 calls 0
node 1 func 1 parent 0 calls 10,0,100
node 2 func 2 parent 0 calls 20
`
	costs := `stemma profile 2
record 0 run 0000000000000000
process 0 args "prog" go "GO" engine "costs"
	note 0 text "plan9/vax"
func 0 kind root name "root" cells 10 counters 1
func 1 name "main.main" file "main.go" line 3 counters 2
	weight 0 counter 0 class counted more 4
	weight 1 counter 1 class counted more 5
	weight 2 counter 0 class int more 7
	weight 3 counter 1 class int more 2
func 2 name "main.f" file "main.go" line 9 counters 1
	weight 0 class counted more 30
	weight 1 class int more 99
placed 0 func 1 counters 2
node 0
`
	writeText(t, "prog.stemma", record)
	writeText(t, "old.stemma", strings.Replace(record, "placed 0 func 1 counters 3\n", "", 1))
	writeText(t, "two.stemma", strings.NewReplacer("00a1", "00a2", "go1.26.8", "go1.27.4").Replace(record))
	writeText(t, "new.costs", strings.Replace(costs, "GO", "go1.26.8", 1))
	writeText(t, "other.costs", strings.Replace(costs, "GO", "go1.27.4", 1))
	code, stdout, stderr := runMain("report", "-cost=new.costs", "prog.stemma")
	for _, want := range []string{"270 instructions · 1 context", "warning: the instructions of 1 function (10.00 % " +
		"of all operations) are left out: on plan9/vax they are other code"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d\n%s%s\nwant %s", code, stdout, stderr, want)
		}
	}
	code, stdout, _ = runMain("report", "-cost=new.costs", "-json", "prog.stemma")
	if want := `"estimated": {
		"machine": "plan9/vax",
		"functions": 1,
		"share": 0.1,
		"leftOut": true
	}`; code != 0 || !strings.Contains(stdout, want) {
		t.Errorf("exit code %d\n%s\nwant %s", code, stdout, want)
	}
	for _, c := range []struct{ cost, want string }{
		{"new.costs old.stemma", "report: -cost: the program was built by a stemma that does not say which " +
			"counters are whose; build and run it once more, or give a machine, as -cost=plan9-vax"},
		{"new.costs prog.stemma two.stemma", "report: -cost: programs that were built by go1.26.8 and go1.27.4: "},
		{"other.costs", "report: -cost: other.costs is of go1.27.4, and the program was built by go1.26.8; use the " +
			"same release for both"},
		{"prog.stemma", "report: -cost: prog.stemma: a record, and no file of 'stemma costs'"},
	} {
		args := append(strings.Fields("report -cost="+c.cost), "prog.stemma")
		if strings.Contains(c.cost, " ") {
			args = args[:len(args)-1]
		}
		code, _, stderr := runMain(args...)
		if code != base.ExitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("-cost=%s: exit code %d, %s; want %s", c.cost, code, stderr, c.want)
		}
	}
	code, _, stderr = runMain("report", "new.costs")
	if code == 0 || !strings.Contains(stderr, "a file of 'stemma costs'") {
		t.Errorf("report of a file of costs: exit code %d, %s", code, stderr)
	}
}
