package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/bench/internal/lab"
)

// TestDifferences finds other numbers, missing functions, and those that should not be there.
func TestDifferences(t *testing.T) {
	want := map[string]int64{"a": 1, "b": 2, "c": 3}
	for _, test := range []struct {
		have map[string]int64
		want []string
	}{
		{maps.Clone(want), nil},
		{map[string]int64{"a": 1, "b": 3, "c": 3}, []string{"b"}},
		{map[string]int64{"a": 1, "c": 3}, []string{"b"}},
		{map[string]int64{"a": 1, "b": 2, "c": 3, "d": 4}, []string{"d"}},
		{nil, []string{"a", "b", "c"}},
	} {
		if have := differences(test.have, want); !slices.Equal(have, test.want) {
			t.Errorf("%v differs from %v in %v, want %v", test.have, want, have, test.want)
		}
	}
}

// fields returns what a protocol buffer has in a field with bytes.
func fields(t *testing.T, message []byte, field uint64) (list [][]byte) {
	t.Helper()
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		v, m := binary.Uvarint(message[n:])
		if n <= 0 || m <= 0 {
			t.Fatalf("no protocol buffer: %x", message)
		}
		message = message[n+m:]
		if tag&7 != 2 {
			continue
		}
		if tag>>3 == field {
			list = append(list, message[:v])
		}
		message = message[v:]
	}
	return list
}

// TestDeliver pushes to a server that breaks off: before it has taken a profile, and after that. Each is there once.
func TestDeliver(t *testing.T) {
	for _, taken := range []bool{false, true} {
		var there []*pprof.Profile
		requests := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if strings.HasSuffix(r.URL.Path, "/SelectMergeProfile") {
				if selector := string(fields(t, body, 2)[0]); selector != `{client="7"}` {
					t.Errorf("selector %s", selector)
				}
				if len(there) > 0 {
					if err := there[0].WriteUncompressed(w); err != nil {
						t.Error(err)
					}
				}
				return
			}
			requests++
			if requests > 1 || taken {
				series := fields(t, body, 1)[0]
				p, err := pprof.ParseData(fields(t, fields(t, series, 2)[0], 1)[0])
				if err != nil {
					t.Error(err)
				}
				labels := string(slices.Concat(fields(t, series, 1)...))
				if !strings.Contains(labels, "client\x12\x017") {
					t.Errorf("labels %q", labels)
				}
				there = append(there, p)
			}
			if requests == 1 {
				panic(http.ErrAbortHandler)
			}
		}))
		defer s.Close()
		one := &pprof.Function{ID: 1, Name: "main.step"}
		where := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: one}}}
		p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "calls", Unit: "count"}}, Period: 1,
			Sample:   []*pprof.Sample{{Location: []*pprof.Location{where}, Value: []int64{5}}},
			Location: []*pprof.Location{where}, Function: []*pprof.Function{one}}
		f := &fleet{server: &server{url: s.URL}}
		if err := f.deliver(t.Context(), p, 7); err != nil {
			t.Fatal(err)
		}
		have, err := f.server.sums(t.Context(), askedType, `{client="7"}`, time.Now(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if len(there) != 1 || have["main.step"] != 5 {
			t.Errorf("taken %t: the profile is there %d times, with %v", taken, len(there), have)
		}
	}
}

// TestService starts a program again after it was killed, and reports one that ends at once.
func TestService(t *testing.T) {
	dir := t.TempDir()
	s := &service{name: "program", dir: dir, args: []string{"sh", "-c", "echo started; exec sleep 60"}}
	for range 2 {
		if err := s.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for log := []byte(nil); !bytes.HasSuffix(log, []byte("started\n")); time.Sleep(time.Millisecond) {
			var err error
			if log, err = os.ReadFile(filepath.Join(dir, "program.log")); err != nil {
				t.Fatal(err)
			}
		}
		s.end(syscall.SIGKILL)
		select {
		case <-s.dead:
		default:
			t.Fatal("a program runs that was killed")
		}
	}
	s = &service{name: "none", dir: dir, args: []string{"sh", "-c", "exit 3"}, live: "http://127.0.0.1:0/"}
	if err := s.start(t.Context()); err == nil || !strings.Contains(err.Error(), "none has ended") {
		t.Errorf("error %v for a program that ends at once", err)
	}
}

// TestExported reads what the collector writes: a profile that came twice counts once.
func TestExported(t *testing.T) {
	const request = `{"resourceProfiles":[{"scopeProfiles":[{"profiles":[{"profileId":"a","sampleType":{"typeStrindex":1},` +
		`"samples":[{"stackIndex":1,"values":["5"]},{"stackIndex":2,"values":["7"]}]}]}]}],"dictionary":{` +
		`"stringTable":["","calls","main.f","main.g"],` +
		`"stackTable":[{},{"locationIndices":[1,2]},{"locationIndices":[2]}],` +
		`"locationTable":[{},{"lines":[{"functionIndex":1}]},{"lines":[{"functionIndex":2}]}],` +
		`"functionTable":[{},{"nameStrindex":2},{"nameStrindex":3}]}}` + "\n"
	f := &fleet{Lab: &lab.Lab{Work: t.TempDir()}}
	text := request + request + strings.Replace(request, `"profileId":"a"`, `"profileId":"b"`, 1)
	if err := os.WriteFile(f.exported(), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	have, err := f.ofCollector(t.Context())
	if want := map[string]int64{"main.f": 10, "main.g": 14}; err != nil || !maps.Equal(have["calls"], want) {
		t.Errorf("the collector has %v, %v; want %v", have, err, want)
	}
}

// TestLoopback looks for servers that listen elsewhere.
func TestLoopback(t *testing.T) {
	for _, classic := range []bool{false, true} {
		f := &fleet{Lab: &lab.Lab{Work: t.TempDir()}, options: options{classic: classic}}
		if err := f.describeServers(); err != nil {
			t.Fatal(err)
		}
		listening := 0
		for _, s := range []*service{f.pyroscope, f.bucket} {
			for _, arg := range s.args {
				flag, value, _ := strings.Cut(arg, "=")
				if strings.HasPrefix(flag, "-") && strings.Contains(flag, "addr") {
					if listening++; !strings.HasPrefix(value, "127.0.0.1") {
						t.Errorf("%s has %s", s.name, arg)
					}
				}
			}
		}
		if listening < 10 {
			t.Errorf("%d addresses in the flags, want more", listening)
		}
	}
}

// TestGoesOn: a process that is asked goes on where it answers, and in main itself.
func TestGoesOn(t *testing.T) {
	for stack, want := range map[string]bool{
		"main.step main.next main.request main.main.func1 main.main":                     false,
		"sync.(*Mutex).Lock main.request main.main.func1 sync.(*WaitGroup).Go main.main": false,
		"time.Sleep main.main.func1":                                                     false,
		"bufio.(*Scanner).Scan main.main":                                                true,
		"a net/http.(*conn).serve net/http.(*Server).Serve main.main":                    true,
		"net/http.(*Server).Serve":                                                       true,
		"main.main":                                                                      false,
		"sync.poolCleanup [gc]":                                                          true,
		"runtime.main":                                                                   false,
	} {
		if have := goesOn(strings.Fields(stack)); have != want {
			t.Errorf("%s: have %t, want %t", stack, have, want)
		}
	}
}
