package sink

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
	}{{200, "", false}, {202, "", false}, {204, "", false}, {200, "OK, thank you", true}} {
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
