package command

import (
	"os"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/profile"
)

// requestsText is a profile with samples that the program asked for.
const requestsText = `stemma profile 2
record 0 run 00000000000000a1
process 0 args "prog" run 00000000000000a1 pid 7 go "go1.26.8" engine "sample"
lost 0 kind "requests" count 2
func 0 kind root name "root" cells 10 counters 1
func 1 kind place
	frame 0 func "main.main" file "main.go" line 3 start 2
func 2 kind place
	frame 0 func "main.in" file "main.go" line 9 start 8
	frame 1 func "main.serve" file "main.go" line 19 start 12
func 3 kind place
	frame 0 func "[pending]"
value 0 name "cpu" unit "nanoseconds" about "the time on CPU" flags sampled
node 0
node 1 func 1 parent 0
node 2 func 2 parent 1 cpu 5
node 3 func 3 parent 0
node 4 func 1 parent 3
request 0 id 7 run 00000000000000a1 time 30000 goroutine 1 node 2
request 1 id 9 run 00000000000000a1 time 2000000 goroutine 2 node 1
request 2 id 7 run 00000000000000a1 time 1000000000 goroutine 3 node 4 flags pending
request 3 id 10 run 00000000000000a1 time 1000000001 goroutine 4 node 0
`

func writeRequests(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	p, err := profile.ParseText(strings.NewReader(requestsText))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create("a.stemma")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := p.Write(f); err != nil {
		t.Fatal(err)
	}
}

func TestReportRequests(t *testing.T) {
	writeRequests(t)
	for _, c := range []struct {
		args string
		want []string
	}{
		{"report -requests", []string{
			"warning: 2 samples that the program asked for are not there",
			"time  goroutine  call path\n                  10             1s          4  [root]\n",
			"7             1s          3  main.main ← [pending]\n",
			"                   9            2ms          2  main.main\n",
			"7           30µs          1  main.in ← main.serve ← main.main\n"}},
		{"report -requests -top=1", []string{"and 3 more samples; -top=-1 lists all"}},
		{"report -request=7", []string{
			"7           30µs          1  main.in main.go:9\n" + strings.Repeat(" ", 50) + "main.serve main.go:19\n"}},
		{"report -request 0x7 -json", []string{`"id": 7,`, `"time": 30000,`, `"pending": true,`, `"func": "main.serve",`}},
		{"report -requests -json -top=1", []string{`"requests": [` + "\n\t\t{\n\t\t\t" + `"id": 10,`}},
		{"export -format=folded -request=7", []string{"main.main;main.serve;main.in 1\n", "[pending];main.main 1\n"}},
		{"info -text a.stemma", []string{
			`request 2 id 7 run 00000000000000a1 time 1000000000 goroutine 3 node 4 flags pending`}},
	} {
		code, out, errs := runMain(strings.Fields(c.args)...)
		for _, want := range c.want {
			if code != base.ExitOK || !strings.Contains(out, want) {
				t.Errorf("%s: exit %d, no %q in\n%s%s", c.args, code, want, out, errs)
			}
		}
	}
}

func TestReportRequestsErrors(t *testing.T) {
	writeRequests(t)
	for args, want := range map[string]string{
		"report -request=8": "no sample of request 8 among 4 samples that the program asked for; report -requests " +
			"lists them",
		"report -request=x":           "want a number",
		"report -requests -tree":      "-requests excludes",
		"report -requests -focus=a":   "-focus does nothing for report -requests",
		"export -request=8":           "no sample of request 8",
		"export -request=8 -format=x": "no such format",
	} {
		if code, out, errs := runMain(strings.Fields(args)...); code == base.ExitOK || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, no %q in\n%s%s", args, code, want, out, errs)
		}
	}
	writeLater(t, "b.stemma", 1)
	if code, _, errs := runMain("report", "-requests", "b.stemma"); code == base.ExitOK ||
		!strings.Contains(errs, "no requests in this profile: a program makes them by stemma.Sample and "+
			"stemma.SampleLabeled, if it was built") {
		t.Errorf("exit %d, %s", code, errs)
	}
}
