package sink

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/sink/sinktest"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// unit returns a unit of a random program that has counted calls, bytes and something of its own.
func unit(t *testing.T, nodes int) *Unit {
	t.Helper()
	r, err := record.Open(recordtest.Random(1, nodes, rand.New(rand.NewPCG(1, 1))).FS())
	if err != nil {
		t.Fatal(err)
	}
	p := r.Profile
	for _, m := range []profile.Metric{profile.AllocSpace, profile.OwnMetric("rows.read-back", "rows")} {
		c, err := p.AddColumn(m)
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Values {
			c.Values[i] = uint64(i)
		}
	}
	began := time.Now().Add(-time.Minute)
	return &Unit{Manifest: &bucket.Manifest{Service: "prog", Host: "h/1", Run: "00000000000000ff", Kind: bucket.Segment,
		Segment: 3, PID: 12, Began: began, Ended: began.Add(1500 * time.Microsecond),
		Labels: map[string]string{"version": "v1", "a-b": "c", "__x": "\xff", "9": ""}}, Profile: p}
}

// want returns the sums of a unit as a Pyroscope has them.
func want(u *Unit) map[string]int64 {
	sums := make(map[string]int64)
	v := cct.ValuesOf(u.Profile, false)
	for i, n := range v.Nodes {
		for k, m := range v.Types {
			name := "stemma:" + pyroscopeType(m.Name) + ":" + m.Unit + " " + v.Funcs[n.Func].Name
			sums[name] += int64(v.Counts[k][i])
		}
	}
	return sums
}

// noted notes parts in memory.
type noted struct {
	parts, refused int
	why            error // the last one was refused
}

func (n *noted) Begun() bool { return true }

func (n *noted) Parts() int { return n.parts }
func (n *noted) Done(refusal error) error {
	n.parts++
	if refusal != nil {
		n.refused++
		n.why = refusal
	}
	return nil
}

func open(t *testing.T, text string) *Sink {
	t.Helper()
	s, err := Open(text)
	if err != nil {
		t.Fatal(err)
	}
	s.Settle = 0
	return s
}

// compare compares the sums of a server with those that are wanted.
func compare(t *testing.T, have, want map[string]int64) {
	t.Helper()
	for key, n := range want {
		if have[key] != n {
			t.Errorf("%s is %d, want %d", key, have[key], n)
		}
	}
	for key, n := range have {
		if want[key] != n {
			t.Errorf("%s is %d, want %d", key, n, want[key])
		}
	}
}

// TestPyroscope pushes a unit in many parts, more than its time has milliseconds, to a server that fails at times.
// Each part is there once, and so is the sum. What is pushed again takes no new place.
func TestPyroscope(t *testing.T) {
	server := new(sinktest.Pyroscope)
	server.Start(t)
	s, u := open(t, "pyroscope="+server.URL+"/"), unit(t, 3000)
	s.limits.Samples = 100
	r := rand.New(rand.NewPCG(1, 1))
	server.Before = func() int {
		return []int{0, 0, 0, http.StatusInternalServerError, http.StatusUnauthorized}[r.IntN(5)]
	}
	n := new(noted)
	for range 200 {
		if err := s.Push(context.Background(), u, n); err == nil {
			break
		}
	}
	compare(t, server.Sums(), want(u))
	list, twice := server.Profiles()
	if len(list) != n.parts || n.parts < 5 || twice != 0 || n.refused != 0 {
		t.Fatalf("%d profiles of %d parts, %d twice, %d refused", len(list), n.parts, twice, n.refused)
	}
	for name, value := range map[string]string{"service_name": "prog", "instance": "h/1", "pid": "12", "version": "v1",
		"a_b": "c", "x": "?", "__name__": "stemma", "__delta__": "false"} {
		if have := list[0].Labels[name]; have != value {
			t.Errorf("label %s is %q, want %q", name, have, value)
		}
	}
	if text := list[0].String(); strings.Contains(text, "/src/prog") || len(list[0].Comments) > 0 {
		t.Errorf("it has the command line:\n%s", text)
	}
	server.Before, server.Mute = nil, true
	if err := s.Push(context.Background(), u, new(noted)); err != nil {
		t.Fatal(err)
	}
	if again, twice := server.Profiles(); len(again) != len(list) || twice != len(list) {
		t.Errorf("pushed again, %d profiles are new and %d are not; want %d of those", len(again)-len(list), twice,
			len(list))
	}
}

// TestUnanswered has a server that keeps parts without an answer, at random. Whoever pushes such a part again asks for
// it before, so that it is there once: also what has a time of its own only together with its label.
func TestUnanswered(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	server := &sinktest.Pyroscope{After: func() bool { return r.IntN(2) == 0 }}
	server.Start(t)
	s, u := open(t, "pyroscope="+server.URL), unit(t, 3000)
	u.Ended = u.Began.Add(20 * time.Millisecond)
	s.limits.Samples = 100
	n, failed := new(noted), 0
	for ; s.Push(context.Background(), u, n) != nil && failed < 200; failed++ {
	}
	compare(t, server.Sums(), want(u))
	if list, twice := server.Profiles(); len(list) != n.parts || n.parts < 5 || twice > 0 || failed == 0 {
		t.Errorf("%d profiles of %d parts, %d twice, %d failures", len(list), n.parts, twice, failed)
	}
}

// TestLate has a server that shows late what it keeps without an answer: it is asked when it shows that.
func TestLate(t *testing.T) {
	answers := 0
	server := &sinktest.Pyroscope{Late: 100 * time.Millisecond, After: func() bool { answers++; return answers > 1 }}
	server.Start(t)
	s, u := open(t, "pyroscope="+server.URL), unit(t, 3000)
	s.limits.Samples, s.Settle = 1000, time.Second
	n := new(noted)
	if err := s.Push(context.Background(), u, n); err == nil {
		t.Fatal("a push without an answer is no error")
	}
	if err := s.Push(context.Background(), u, n); err != nil {
		t.Fatal(err)
	}
	if list, twice := server.Profiles(); len(list) != n.parts || twice > 0 {
		t.Errorf("%d profiles of %d parts, %d twice", len(list), n.parts, twice)
	}
}

// TestNoTime has a segment in which the clock was set back: it took no time, and not less.
func TestNoTime(t *testing.T) {
	u := unit(t, 30)
	u.Ended = u.Began.Add(-time.Hour)
	p := &part{unit: u, profile: new(pprof.Profile)}
	if _, err := pyroscopeRequest(p); err != nil || p.profile.DurationNanos != 0 {
		t.Errorf("%v, %d ns", err, p.profile.DurationNanos)
	}
}

// fresh is noted of a unit that nobody has begun to push.
type fresh struct{ noted }

func (*fresh) Begun() bool { return false }

// TestNoPyroscope has a server that answers everything with success: nothing is taken for pushed.
func TestNoPyroscope(t *testing.T) {
	for _, text := range []string{"OK, thank you", "{}", "<html>Sign in"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, text)
		}))
		n := new(fresh)
		err := open(t, "pyroscope="+server.URL).Push(context.Background(), unit(t, 30), n)
		if err == nil || n.parts > 0 {
			t.Errorf("%q: %v, %d parts are taken for pushed", text, err, n.parts)
		}
		server.Close()
	}
}

// TestRefused pushes what is too old, and counts what the server has refused.
func TestRefused(t *testing.T) {
	server := &sinktest.Pyroscope{Old: time.Hour}
	server.Start(t)
	s, u := open(t, "pyroscope="+server.URL), unit(t, 30)
	u.Ended = u.Ended.Add(-2 * time.Hour)
	n := new(noted)
	if err := s.Push(context.Background(), u, n); err != nil || n.refused == 0 || n.refused != n.parts {
		t.Errorf("%v, %d of %d parts refused", err, n.refused, n.parts)
	}
}

// TestSlots has segments that follow each other: their parts share no millisecond, whatever part of one they begin at,
// and nobody has the one behind theirs.
func TestSlots(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	at := time.Unix(1796000000, 0)
	seen := make(map[time.Time]bool)
	for range 1000 {
		next := at.Add(rand.N(8 * time.Millisecond))
		s := newSlots(at, next)
		for k := range r.IntN(5) {
			one, extra := s.at(k)
			if extra {
				continue
			}
			if seen[one] || seen[one.Add(-time.Millisecond)] || seen[one.Add(time.Millisecond)] || one.Before(at) ||
				!one.Before(next) {
				t.Fatalf("%v of [%v, %v) is another one's or outside", one, at, next)
			}
			seen[one] = true
		}
		at = next
	}
	if len(seen) < 100 {
		t.Errorf("only %d times", len(seen))
	}
}

// TestOpen has addresses that mean nothing, and what is shown of those that have a password.
func TestOpen(t *testing.T) {
	for _, text := range []string{"", "pyroscope", "pyroscope=", "other=http://x", "pyroscope=x:1",
		"pyroscope=http://x?y", "otlp=x:y:z"} {
		if s, err := Open(text); err == nil {
			t.Errorf("%q opens %s", text, s.Name)
		}
	}
	for _, text := range []string{"otlp=http://me:secret@x:4317?b", "otlp=http://me:secret@x?a",
		"pyroscop=http://me:secret@x", "http://me:secret@x", "otlp=me:secret@x:1:2"} {
		if _, err := Open(text); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	s := open(t, "pyroscope=https://me:secret@x/p/")
	if s.Name != "https://x/p/" || strings.Contains(s.Identity, "secret") {
		t.Errorf("%s: %s", s.Name, s.Identity)
	}
	s = open(t, "pyroscope=http://127.0.0.1:1")
	if err := s.Push(context.Background(), unit(t, 30), new(noted)); err == nil || errors.As(err, new(*Refusal)) {
		t.Errorf("%v, want an error that may be tried again", err)
	}
}
