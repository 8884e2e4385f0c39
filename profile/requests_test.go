package profile_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/profile"
)

// requestsText is a sampled profile whose nodes are in another order than Merge's.
const requestsText = `stemma profile 2
record 0 run 00000000000000a1
process 0 args "prog" run 00000000000000a1 pid 7 go "go1.26.8" engine "sample"
func 0 kind root name "root" cells 10 counters 1
func 1 kind place
	frame 0 func "main.z" file "main.go" line 3 start 2
func 2 kind place
	frame 0 func "main.a" file "main.go" line 9 start 8
func 3 kind place
	frame 0 func "[pending]"
value 0 name "cpu" unit "nanoseconds" about "the time on CPU" flags sampled
node 0
node 1 func 1 parent 0
node 2 func 2 parent 0 cpu 5
node 3 func 2 parent 1
node 4 func 3 parent 0
node 5 func 2 parent 4
request 0 id 7 run 00000000000000a1 time 30 goroutine 1 node 3
request 1 id 8 run 00000000000000a1 time 20 goroutine 2 node 2
request 2 id 7 run 00000000000000a1 time 40 goroutine 3 node 5 flags pending
`

func parseRequests(t *testing.T) *profile.Profile {
	t.Helper()
	p, err := profile.ParseText(strings.NewReader(requestsText))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// stackOf returns the names of the frames of a request.
func stackOf(p *profile.Profile, r profile.Request) string {
	var names []string
	for _, f := range p.Stack(r.Node) {
		names = append(names, p.String(f.Func))
	}
	return strings.Join(names, " ")
}

// TestRequests checks that the stacks of requests survive a merge, which gives nodes other numbers, and a file.
func TestRequests(t *testing.T) {
	p := parseRequests(t)
	q := mustMerge(t, parseRequests(t)) // with other numbers
	q.Processes[0].Run = 0xa2
	for i := range q.Requests {
		q.Requests[i].Run = 0xa2
	}
	sum := mustMerge(t, q, p)
	var have []string
	for _, r := range sum.Requests {
		have = append(have, stackOf(sum, r))
	}
	want := []string{"main.a", "main.a main.z", "main.a [pending]"} // by time
	if want = append(want, want...); !reflect.DeepEqual(have, want) {
		t.Errorf("have stacks %q, want %q", have, want)
	}
	if one := mustMerge(t, p, q); !reflect.DeepEqual(one, sum) {
		t.Error("the order of profiles matters")
	}
	again, err := profile.Read(bytes.NewReader(mustWrite(t, sum)))
	if err != nil || !reflect.DeepEqual(again.Requests, sum.Requests) {
		t.Errorf("have %+v, %v; want %+v", again, err, sum.Requests)
	}
	if same := mustMerge(t, p, p); len(same.Requests) != 3 {
		t.Errorf("%d requests of one run twice, want 3", len(same.Requests))
	}
}

func TestOfRequests(t *testing.T) {
	p := parseRequests(t)
	q := p.OfRequests(p.RequestsOf(7))
	if err := q.CheckValid(); err != nil {
		t.Fatal(err)
	}
	if n := q.Total(profile.Requested); n != 2 || q.Value(profile.Requested, 3) != 1 || len(q.Columns) != 1 {
		t.Errorf("%d requests in %+v", n, q.Columns)
	}
	if p.Value(profile.CPU, 2) != 5 || len(p.Requests) != 3 {
		t.Error("the profile has changed")
	}
}

// TestRequestsInvalid refuses requests of what is no sampled stack.
func TestRequestsInvalid(t *testing.T) {
	for _, node := range []string{"node 6", "node 4294967295"} {
		text := strings.Replace(requestsText, "goroutine 1 node 3", "goroutine 1 "+node, 1)
		if _, err := profile.ParseText(strings.NewReader(text)); err == nil {
			t.Errorf("%s: no error", node)
		}
	}
	p := parseRequests(t)
	p.Funcs[2].Kind = profile.FuncOrdinary
	p.Funcs[2].Counters, p.Funcs[2].Frames = 1, nil
	if p.CheckValid() == nil {
		t.Error("a request of a function that was not sampled: no error")
	}
}

// TestRequestsSubtract keeps requests where the samples of an earlier reading are taken away.
func TestRequestsSubtract(t *testing.T) {
	p := parseRequests(t)
	if err := p.Subtract(parseRequests(t)); err != nil || p.CheckValid() != nil {
		t.Fatal(err)
	}
	if len(p.Requests) != 3 || stackOf(p, p.Requests[0]) != "main.a main.z" || p.Total(profile.CPU) != 0 {
		t.Errorf("have %+v", p.Requests)
	}
}
