package pyroscope

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/patience"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/sink"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/sink/sinktest"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// nothing is the progress of a unit that has not been pushed.
type nothing struct{}

func (nothing) Parts() int               { return 0 }
func (nothing) Begun() bool              { return false }
func (nothing) Done(refusal error) error { return refusal }

// random returns the record of a random program, with a metric of its own.
func random(t *testing.T, seed uint64, nodes int) *profile.Profile {
	t.Helper()
	r, err := record.Open(recordtest.Random(seed, nodes, rand.New(rand.NewPCG(seed, 1))).FS())
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.AddColumn(profile.OwnMetric("rows", "rows"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Values {
		c.Values[i] = uint64(i)
	}
	return r.Profile
}

// push pushes a profile as that of a run of a service.
func push(t *testing.T, to *sink.Sink, p *profile.Profile, service, run string, ended time.Time) {
	t.Helper()
	m := &bucket.Manifest{Service: service, Host: "h", Run: run, GoVersion: "go1.26.8", Engine: "cct",
		Began: ended.Add(-time.Minute), Ended: ended}
	if err := to.Push(context.Background(), &sink.Unit{Manifest: m, Profile: p}, nothing{}); err != nil {
		t.Fatal(err)
	}
}

// TestFetch pushes what two runs of a service have counted, and the first of them once more, a day ago, and something
// of another service. What is fetched of the last hour is the sum of the two runs.
func TestFetch(t *testing.T) {
	server := new(sinktest.Pyroscope)
	server.Start(t)
	to, err := sink.Open("pyroscope=" + server.URL)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	a, b := random(t, 1, 2000), random(t, 1, 2000)
	for i := range b.Columns {
		for k := range b.Columns[i].Values {
			b.Columns[i].Values[k] *= 3
		}
	}
	push(t, to, a, "srv", "00000000000000a1", now.Add(-time.Minute))
	push(t, to, b, "srv", "00000000000000a2", now)
	push(t, to, a, "srv", "00000000000000a0", now.Add(-24*time.Hour))
	push(t, to, random(t, 2, 100), "other", "00000000000000a3", now)

	address := "pyroscope" + strings.TrimPrefix(server.URL, "http")
	for question, times := range map[string]uint64{"?service=srv": 4, `?query={service_name="srv"}&from=now-1h`: 4,
		"?service=srv&from=26h": 5, "?service=srv&from=26h&until=23h": 1,
		`?query={service_name="srv",run="00000000000000a2"}`: 3} {
		q, err := Parse(address+question, now)
		if err != nil {
			t.Fatal(err)
		}
		have, err := q.Fetch(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := have.CheckValid(); err != nil {
			t.Fatal(err)
		}
		got, want := contexts(have, false), contexts(a, false)
		if len(got) != len(want) || len(want) < 1000 {
			t.Errorf("%s: %d values, want %d", question, len(got), len(want))
		}
		for stack, n := range want {
			if got[stack] != n*times {
				t.Fatalf("%s: have %d, want %d: %s", question, got[stack], n*times, stack)
			}
		}
	}
	for question, want := range map[string]string{"?service=nobody": "something of other, srv",
		"?service=srv&from=25h&until=24h30m": "nothing of stemma at that time"} {
		q, err := Parse(address+question, now)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = q.Fetch(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", question, err, want)
		}
	}
}

// TestParse has URLs that are wrong, and what is said of them.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"http://h:1?service=a":                        "want pyroscope://",
		"pyroscope://":                                "want pyroscope://",
		"pyroscope://h:1":                             "want one of service and query",
		"pyroscope://h:1?service=a&query={b=\"c\"}":   "want one of service and query",
		"pyroscope://h:1?service=a&since=1h":          "since=1h: want pyroscope://",
		"pyroscope://h:1?service=a&from=soon":         "from=soon: no time",
		"pyroscope://h:1?service=a&from=1h&until=2h":  "is not after",
		"pyroscope://h:1?service=%zz":                 "invalid URL escape",
		"pyroscope://h:1?service=a&service=b":         "service=a: there is another one, b",
		"pyroscope://u:1?secret@h:1?service=a":        "want pyroscope://",
		"pyroscope+https://u:secret@h:1?service=a%20": "",
	} {
		q, err := Parse(text, time.Now())
		switch {
		case want == "" && (err != nil || strings.Contains(q.String(), "secret")):
			t.Errorf("%s: %v, %v", text, q, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "secret")):
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestNames asks for a service that is not there, of many that are, one of which has the name of a hostile pusher: the
// error has some of the names, and nothing that a terminal obeys.
func TestNames(t *testing.T) {
	var sets []string
	for i := range 100 {
		sets = append(sets, fmt.Sprintf(`{"labels":[{"name":"service_name","value":"\u001b[2J%03d"}]}`, i))
	}
	asked := 0
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked > 1 {
			_, _ = io.WriteString(w, `{"labelsSet":[`+strings.Join(sets, ",")+`]}`)
			return
		}
		_, _ = io.WriteString(w, `{}`)
	}))
	defer h.Close()
	q, err := Parse("pyroscope"+strings.TrimPrefix(h.URL, "http")+"?service=a", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	_, err = q.Fetch(context.Background())
	if err == nil || strings.Contains(err.Error(), "\x1b") || !strings.HasSuffix(err.Error(), "019 and 80 more") {
		t.Errorf("%v", err)
	}
}

// TestRefused asks a Pyroscope that wants credentials: the error names where they are, and has none.
func TestRefused(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no org id", http.StatusUnauthorized)
	}))
	defer h.Close()
	q, err := Parse("pyroscope://u:secret@"+strings.TrimPrefix(h.URL, "http://")+"?service=a", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	_, err = q.Fetch(context.Background())
	if err == nil || !strings.Contains(err.Error(), "401 Unauthorized: no org id; credentials are in") ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

// TestOld asks for what Pyroscope may have left out, since it is older than a week: the answer has a note.
func TestOld(t *testing.T) {
	server := new(sinktest.Pyroscope)
	server.Start(t)
	to, err := sink.Open("pyroscope=" + server.URL)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	push(t, to, random(t, 1, 100), "srv", "00000000000000a1", now.Add(-6*24*time.Hour))
	for from, old := range map[string]bool{"7d": false, "169h": true} {
		q, err := Parse("pyroscope"+strings.TrimPrefix(server.URL, "http")+"?service=srv&until=5d&from="+from, now)
		if err != nil {
			t.Fatal(err)
		}
		p, err := q.Fetch(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if have := strings.Contains(strings.Join(p.Processes[0].Notes, "\n"), "more than a week ago"); have != old {
			t.Errorf("from=%s: %q", from, p.Processes[0].Notes)
		}
	}
}

// TestPlus has a plus where it stands for itself: in a regular expression, in the name of a service and in a time.
func TestPlus(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for question, want := range map[string]string{
		`query={zone=~"eu.+"}`: `{zone=~"eu.+"} from 2026-11-26T11:00:00Z`,
		`service=a+b`:          `{service_name="a+b"} from 2026-11-26T11:00:00Z`,
		`service=a%20b&from=2026-11-26T09:00:00+01:00`: `{service_name="a b"} from 2026-11-26T08:00:00Z`,
	} {
		q, err := Parse("pyroscope://h:1?"+question, now)
		if err != nil || !strings.Contains(q.String(), want) {
			t.Errorf("%s: have %v, %v, want %s", question, q, err, want)
		}
	}
}

// TestIdentity asks one Pyroscope the same as two tenants and as two users: their answers are not kept in one place.
func TestIdentity(t *testing.T) {
	seen := make(map[string]string)
	for range 2 {
		for _, who := range []string{"PYROSCOPE_TENANT_ID=a", "PYROSCOPE_TENANT_ID=b", "PYROSCOPE_BASIC_AUTH_USER=a"} {
			name, value, _ := strings.Cut(who, "=")
			t.Setenv("PYROSCOPE_TENANT_ID", "")
			t.Setenv(name, value)
			q, err := Parse("pyroscope://h:1?service=a", time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if other, ok := seen[q.Identity()]; ok && other != who {
				t.Errorf("%s is as %s", who, other)
			}
			seen[q.Identity()] = who
			t.Setenv("PYROSCOPE_BASIC_AUTH_USER", "")
		}
	}
	if len(seen) != 3 {
		t.Errorf("%d identities, want 3", len(seen))
	}
}

// TestKinds has types of profiles with the metrics that they are, also with those of a program's own whose names are
// almost those of stemma.
func TestKinds(t *testing.T) {
	own := func(name string, perCounter, sampled bool) profile.Metric {
		return profile.Metric{Name: name, Unit: "rows", About: name, PerCounter: perCounter, Sampled: sampled}
	}
	for id, want := range map[string]profile.Metric{
		"stemma:calls:count:contexts:count":                    profile.Calls,
		"stemma:stemma_alloc_space:bytes:contexts:count":       profile.AllocSpace,
		"stemma_sampled:stemma_cpu:nanoseconds:contexts:count": profile.CPU,
		"stemma_sampled:wait:nanoseconds:contexts:count":       profile.SampledWait,
		"stemma:stemma_calls:rows:contexts:count":              own("stemma_calls", true, false),
		"stemma_sampled:rows:rows:contexts:count":              own("rows", false, true),
	} {
		k, ok := kindOf(id)
		if !ok || k.metric != want {
			t.Errorf("%s: have %+v, want %+v", id, k.metric, want)
		}
	}
	if k, ok := kindOf("process_cpu:cpu:nanoseconds:cpu:nanoseconds"); ok {
		t.Errorf("Go's own is %+v", k)
	}
}

// TestSilent asks a Pyroscope that does not answer.
func TestSilent(t *testing.T) {
	ended := make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ended }))
	defer h.Close()
	defer close(ended)
	q, err := Parse("pyroscope"+strings.TrimPrefix(h.URL, "http")+"?service=a", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if q.server.Patience != patience.Usual {
		t.Errorf("it waits for %v", q.server.Patience)
	}
	q.server.Patience = 50 * time.Millisecond
	_, err = q.Fetch(context.Background())
	want := "Series: no answer for 50ms, not a byte; see whether"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
