package sink

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/sink/sinktest"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// TestOTLP pushes a unit in parts, and one with what was sampled. The sums are those of the records, the process has
// the attributes of the semantic conventions, and what comes twice has the same identifier.
func TestOTLP(t *testing.T) {
	server := new(sinktest.OTLP)
	server.Start(t)
	s, u := open(t, "otlp="+server.URL), unit(t, 3000)
	s.limits.Samples = 100
	n := new(noted)
	if err := s.Push(context.Background(), u, n); err != nil {
		t.Fatal(err)
	}
	want := make(map[string]int64)
	v := cct.ValuesOf(u.Profile, false)
	for i, node := range v.Nodes {
		for k, m := range v.Types {
			if c := v.Counts[k][i]; c != 0 {
				want["stemma:"+m.Name+":"+m.Unit+" "+v.Funcs[node.Func].Name] += int64(c)
			}
		}
	}
	have, attributes, twice := server.Sums()
	compare(t, have, want)
	if n.parts < 5 || n.refused > 0 || twice > 0 {
		t.Errorf("%d parts, %d refused, %d twice", n.parts, n.refused, twice)
	}
	for key, value := range map[string]string{"service.name": "prog", "service.version": "v1", "host.name": "h/1",
		"process.pid": "12", "stemma.run": "00000000000000ff"} {
		if attributes[key] != value && attributes[key] != value+"0" {
			t.Errorf("attribute %s is %q, want %q", key, attributes[key], value)
		}
	}
	if err := s.Push(context.Background(), u, new(noted)); err != nil {
		t.Fatal(err)
	}
	again, _, twice := server.Sums()
	if compare(t, again, want); twice == 0 {
		t.Error("what was pushed again has other identifiers")
	}
	server.Reject = "no room"
	n = new(noted)
	if err := s.Push(context.Background(), u, n); err != nil || n.refused != n.parts {
		t.Errorf("%v, %d of %d parts refused", err, n.refused, n.parts)
	}
	if why := fmt.Sprint(n.why); !strings.HasPrefix(why, "1 of ") || !strings.HasSuffix(why, " rejected: no room") {
		t.Errorf("refused: %s", why)
	}
}

// TestOTLPByGRPC pushes a unit by gRPC, with headers and a password. What the collector rejects or refuses is not
// pushed again; where it is busy or has no such pipeline, or nothing is known of what it has, the error may be tried
// again.
func TestOTLPByGRPC(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=acme")
	collector := new(sinktest.OTLP)
	collector.StartGRPC(t)
	u := unit(t, 30)
	s := open(t, "otlp="+strings.Replace(collector.URL, "//", "//me:secret@", 1))
	push := func() (*noted, error) {
		n := new(noted)
		return n, s.Push(t.Context(), u, n)
	}
	if n, err := push(); err != nil || n.parts == 0 || n.refused > 0 {
		t.Fatalf("%v, %d parts, %d refused", err, n.parts, n.refused)
	}
	byGRPC, attributes, _ := collector.Sums()
	if have := collector.Metadata.Get("x-tenant"); !slices.Equal(have, []string{"acme"}) {
		t.Errorf("x-tenant is %q", have)
	}
	if have := collector.Metadata.Get("authorization"); !slices.Equal(have, []string{"Basic bWU6c2VjcmV0"}) {
		t.Errorf("authorization is %q", have)
	}
	if !strings.HasPrefix(attributes["stemma.run"], u.Run) {
		t.Errorf("attributes are %v", attributes)
	}
	collector.Reject = "no room"
	if n, err := push(); err != nil || n.refused != n.parts {
		t.Errorf("%v, %d of %d parts refused", err, n.refused, n.parts)
	}
	const large = "grpc: received message larger than max (2 vs. 1)"
	for code, refused := range map[codes.Code]bool{codes.InvalidArgument: true, codes.ResourceExhausted: true,
		codes.Internal: true, codes.FailedPrecondition: true, codes.Unimplemented: false, codes.Unavailable: false,
		codes.Unauthenticated: false, codes.Unknown: false, codes.NotFound: false} {
		collector.Set(status.Error(code, large))
		n, err := push()
		if refused && (err != nil || n.refused == 0) || !refused && (err == nil || n.refused > 0) ||
			strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("%v: %v, %d parts refused", code, err, n.refused)
		}
	}
	const rest = time.Second
	busy, err := status.New(codes.Unavailable, "later").WithDetails(
		&errdetails.RetryInfo{RetryDelay: durationpb.New(rest)})
	if err != nil {
		t.Fatal(err)
	}
	collector.Set(busy.Err())
	go func() { time.Sleep(100 * time.Millisecond); collector.Set(nil) }()
	collector.Reject = ""
	began := time.Now()
	if n, err := push(); err != nil || n.refused > 0 {
		t.Errorf("a collector that was busy: %v, %d parts refused", err, n.refused)
	}
	if took := time.Since(began); took < rest {
		t.Errorf("a collector that wants to be left alone for %v had the next request after %v", rest, took)
	}
	http := new(sinktest.OTLP)
	http.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "")
	if err := open(t, "otlp="+http.URL).Push(context.Background(), u, new(noted)); err != nil {
		t.Fatal(err)
	}
	byHTTP, _, _ := http.Sums()
	compare(t, byGRPC, byHTTP)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	if _, err := Open("otlp=x:1"); err == nil || !strings.Contains(err.Error(), "http/protobuf") {
		t.Errorf("http/json: %v", err)
	}
}

// TestOTLPByPort has collectors that are reached by gRPC for their port, and not where a variable says otherwise.
func TestOTLPByPort(t *testing.T) {
	for _, c := range []struct {
		address, protocol string
		want              bool
	}{{"http://x:4317", "", true}, {"http://x:4318", "", false}, {"https://x", "", false}, {"https://x", "grpc", true},
		{"http://x:4317", "http/protobuf", false}} {
		t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "")
		t.Setenv("OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL", c.protocol)
		if have, err := otlpByGRPC(c.address); have != c.want || err != nil {
			t.Errorf("%s, %q: %v, %v", c.address, c.protocol, have, err)
		}
	}
}

// TestLabels pushes labels whose names become equal, and those that the agent has itself: each is there once, with a
// name that is always the same.
func TestLabels(t *testing.T) {
	u := unit(t, 3)
	u.Labels = map[string]string{"a-b": "1", "a.b": "2", "a_b": "3", "pid": "4", "process.pid": "5", "version": "6",
		"service.version": "7", "part": "8", "run": "9"}
	for range 20 {
		have := make(map[string]string)
		for _, a := range otlpResource(u).Attributes {
			if _, twice := have[a.Key]; twice {
				t.Fatalf("OTLP: %s is there twice", a.Key)
			}
			have[a.Key] = a.Value.GetStringValue()
		}
		for name, want := range map[string]string{"a-b": "1", "process.pid": "", "process.pid_2": "5",
			"service.version": "7", "service.version_2": "6", "stemma.run": u.Run, "run": "9"} {
			if have[name] != want {
				t.Fatalf("OTLP: %s is %q, want %q", name, have[name], want)
			}
		}
		have = pyroscopeLabels(&part{unit: u})
		for name, want := range map[string]string{"a_b": "3", "a_b_2": "1", "a_b_3": "2", "pid": "12", "pid_2": "4",
			"process_pid": "5", "part": "", "part_2": "8", "run": u.Run, "run_2": "9"} {
			if have[name] != want {
				t.Fatalf("Pyroscope: %s is %q, want %q", name, have[name], want)
			}
		}
	}
}

// TestOTLPSampled pushes what was sampled.
func TestOTLPSampled(t *testing.T) {
	server := new(sinktest.OTLP)
	server.Start(t)
	u := unit(t, 30)
	u.Profile = sampledProfile()
	if err := open(t, "otlp="+server.URL).Push(context.Background(), u, new(noted)); err != nil {
		t.Fatal(err)
	}
	have, _, _ := server.Sums()
	compare(t, have, map[string]int64{"stemma:samples:count main.leaf": 7})
}

// sampledProfile returns a profile with seven samples in one place.
func sampledProfile() *profile.Profile {
	p := &profile.Profile{Strings: []string{"", "main.leaf", "/src/main.go"}}
	p.Funcs = []profile.Func{{}, {Kind: profile.FuncPlace, Frames: []profile.Frame{{Func: 1, File: 2, Line: 3}}}}
	p.Nodes = []profile.Node{{}, {Func: 1}}
	p.Columns = []profile.Column{{Metric: profile.Samples, Values: []uint64{0, 7}}}
	p.Processes = make([]profile.Process, 1)
	return p
}

// TestAnswers has collectors, and what is none, that say they have taken a part: it is not pushed again.
func TestAnswers(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic dXNl+cj/pw==, x=a%20b")
	for _, c := range []struct {
		code    int
		text    string
		refused bool // it is told
	}{{200, "", false}, {202, "", false}, {204, "", false}, {200, "OK, thank you", true}, {500, "never", true}} {
		var header http.Header
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			header = r.Header
			w.WriteHeader(c.code)
			io.WriteString(w, c.text)
		}))
		n := new(noted)
		err := open(t, "otlp="+server.URL).Push(context.Background(), unit(t, 30), n)
		if err != nil || n.parts == 0 || n.refused > 0 != c.refused {
			t.Errorf("%d %q: %v, %d parts, %d refused", c.code, c.text, err, n.parts, n.refused)
		}
		if header.Get("Authorization") != "Basic dXNl+cj/pw==" || header.Get("X") != "a b" {
			t.Errorf("headers are %v", header)
		}
		server.Close()
	}
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "a=b,x=%zz")
	if _, err := Open("otlp=http://x:1"); err == nil {
		t.Error("a header that cannot be read is left out")
	}
}
