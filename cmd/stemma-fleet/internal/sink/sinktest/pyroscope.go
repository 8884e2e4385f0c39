// Package sinktest has servers of profiles for tests, which take what the real ones take.
package sinktest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	pprof "github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"
)

// A Pyroscope is a server that decodes, checks and keeps what is pushed as Pyroscope v1.12.0 does (pkg/distributor,
// pkg/validation), with its limits.
type Pyroscope struct {
	URL string
	// Before is asked before a profile is looked at: a status other than 0 is the answer. It may be nil.
	Before func() int
	// After is asked when a profile is kept: false ends the connection without an answer. It may be nil.
	After func() bool
	// Late is how long a profile is there before it is shown.
	Late time.Duration
	// Mute is for one that answers no questions.
	Mute bool
	// Old is how old a profile may be, 0 for any age. Pyroscope has an hour.
	Old time.Duration

	mu       sync.Mutex
	profiles []Profile
}

// A Profile is one that was pushed.
type Profile struct {
	Labels map[string]string
	since  time.Time // when it came
	*pprof.Profile
}

// Limits of Pyroscope.
const (
	maxSamples, maxBytes, maxDepth = 16_000, 4 << 20, 1000
	burst                          = 2 << 20
	maxLabels, maxName, maxValue   = 30, 1024, 2048
)

// Start starts a server, which ends with the test.
func (s *Pyroscope) Start(t testing.TB) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
}

// ServeHTTP answers a push, or a question.
func (s *Pyroscope) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if question, ok := strings.CutPrefix(r.URL.Path, "/querier.v1.QuerierService/"); ok && !s.Mute {
		switch question {
		case "SelectMergeStacktraces":
			s.answer(w, r)
		case "Series":
			s.series(w, r)
		case "SelectMergeProfile":
			s.merge(w, r)
		}
		return
	}
	if r.Method != http.MethodPost || r.URL.Path != "/push.v1.PusherService/Push" ||
		r.Header.Get("Content-Type") != "application/proto" {
		http.Error(w, "no push of a protocol buffer", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if s.Before != nil {
		if status := s.Before(); status != 0 {
			http.Error(w, "not now", status)
			return
		}
	}
	if err := s.push(body); err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"code": "invalid_argument", "message": err.Error()})
		return
	}
	if s.After != nil && !s.After() {
		panic(http.ErrAbortHandler)
	}
}

// selector is the one form of selectors that is understood.
var selector = regexp.MustCompile(`^\{service_name="([^"]*)",run="([^"]*)",part="([^"]*)"\}$`)

// answer answers how much there is of a type of profile.
func (s *Pyroscope) answer(w http.ResponseWriter, r *http.Request) {
	var question struct {
		ProfileTypeID, LabelSelector string
		Start, End                   int64 `json:",string"`
	}
	err := json.NewDecoder(r.Body).Decode(&question)
	want := selector.FindStringSubmatch(question.LabelSelector)
	if err != nil || want == nil || r.Header.Get("Content-Type") != "application/json" {
		http.Error(w, "no question", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := int64(0)
	for _, p := range s.profiles {
		at := p.TimeNanos / int64(time.Millisecond)
		if time.Since(p.since) < s.Late || at < question.Start || at > question.End || question.Start == question.End ||
			p.Labels["service_name"] != want[1] || p.Labels["run"] != want[2] || p.Labels["part"] != want[3] {
			continue
		}
		for k, t := range p.SampleType {
			id := p.Labels["__name__"] + ":" + t.Type + ":" + t.Unit + ":" + p.PeriodType.Type + ":" + p.PeriodType.Unit
			if id != question.ProfileTypeID {
				continue
			}
			for _, one := range p.Sample {
				sum += one.Value[k]
			}
		}
	}
	total := ""
	if sum != 0 {
		total = fmt.Sprintf(`,"total":"%d"`, sum)
	}
	fmt.Fprintf(w, `{"flamegraph":{"names":["total"],"levels":[{"values":["0","0","0","0"]}]%s}}`, total)
}

// fields returns the fields of a message. All of those that a push has are bytes.
func fields(message []byte) (map[protowire.Number][][]byte, error) {
	list := make(map[protowire.Number][][]byte)
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 || kind != protowire.BytesType {
			return nil, fmt.Errorf("field %d of kind %d", number, kind)
		}
		content, m := protowire.ConsumeBytes(message[n:])
		if m < 0 {
			return nil, protowire.ParseError(m)
		}
		list[number] = append(list[number], content)
		message = message[n+m:]
	}
	return list, nil
}

// push decodes and keeps a push.v1.PushRequest.
func (s *Pyroscope) push(body []byte) error {
	request, err := fields(body)
	if err != nil {
		return err
	}
	for _, one := range request[1] {
		series, err := fields(one)
		if err != nil {
			return err
		}
		labels := make(map[string]string)
		for _, pair := range series[1] {
			f, err := fields(pair)
			if err != nil {
				return err
			}
			name := string(bytes.Join(f[1], nil))
			if _, twice := labels[name]; twice {
				return fmt.Errorf("duplicate label name %q", name)
			}
			labels[name] = string(bytes.Join(f[2], nil))
		}
		if err := checkLabels(labels); err != nil {
			return err
		}
		for _, sample := range series[2] {
			f, err := fields(sample)
			if err != nil {
				return err
			}
			if err := s.keep(labels, bytes.Join(f[1], nil)); err != nil {
				return err
			}
		}
	}
	return nil
}

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.]*$`)

func checkLabels(labels map[string]string) error {
	if len(labels) > maxLabels || labels["service_name"] == "" || !labelName.MatchString(labels["__name__"]) {
		return fmt.Errorf("invalid labels %q", labels)
	}
	for name, value := range labels {
		if !labelName.MatchString(name) || len(name) > maxName || len(value) > maxValue || !utf8.ValidString(value) {
			return fmt.Errorf("invalid label %q=%q", name, value)
		}
	}
	return nil
}

// keep checks and keeps a profile.
func (s *Pyroscope) keep(labels map[string]string, raw []byte) error {
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	p, err := pprof.ParseUncompressed(text)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return err
	}
	at, now := time.Unix(0, p.TimeNanos), time.Now()
	switch {
	case len(text) > maxBytes || len(text) > burst || len(p.Sample) > maxSamples:
		return fmt.Errorf("a profile of %d bytes with %d samples", len(text), len(p.Sample))
	case at.After(now.Add(10*time.Minute)) || s.Old > 0 && at.Before(now.Add(-s.Old)):
		return fmt.Errorf("profile is outside of ingestion window (profile timestamp: %v)", at)
	}
	for _, t := range p.SampleType {
		if strings.Contains(t.Type, "-") {
			return fmt.Errorf("sample type %s contains -", t.Type)
		}
	}
	for _, one := range p.Sample {
		// It cuts them off.
		if len(one.Location) > maxDepth || len(one.Label) > 0 {
			return fmt.Errorf("a stack of %d frames with labels %v", len(one.Location), one.Label)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.profiles = append(s.profiles, Profile{labels, time.Now(), p})
	return nil
}

// Profiles returns what was pushed, each once. Twice are those of one series at one millisecond, which compaction
// leaves out.
func (s *Pyroscope) Profiles() (list []Profile, twice int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[string]bool)
	for _, p := range s.profiles {
		key := fmt.Sprint(p.TimeNanos / int64(time.Millisecond))
		for _, name := range slices.Sorted(maps.Keys(p.Labels)) {
			key += "\x00" + name + "\x00" + p.Labels[name]
		}
		if seen[key] {
			twice++
			continue
		}
		seen[key] = true
		list = append(list, p)
	}
	return list, twice
}

// Sums returns the sum of each type for each innermost function, as TYPE FUNCTION. What came twice counts twice.
func (s *Pyroscope) Sums() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	sums := make(map[string]int64)
	for _, p := range s.profiles {
		for _, one := range p.Sample {
			for k, value := range one.Value {
				t := p.SampleType[k]
				sums[p.Labels["__name__"]+":"+t.Type+":"+t.Unit+" "+one.Location[0].Line[0].Function.Name] += value
			}
		}
	}
	return sums
}
