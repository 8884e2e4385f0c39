package sinktest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"
)

// matcher is one part of a selector.
var matcher = regexp.MustCompile(`([a-z_]+)(=~|=)"([^"]*)"`)

// selects reports whether a selector selects labels.
func selects(selector string, labels map[string]string) bool {
	list := matcher.FindAllStringSubmatch(selector, -1)
	for _, m := range list {
		pattern := m[3]
		if m[2] == "=" {
			pattern = regexp.QuoteMeta(pattern)
		}
		if !regexp.MustCompile("^(" + pattern + ")$").MatchString(labels[m[1]]) {
			return false
		}
	}
	return len(list) > 0
}

// types returns what the types of a profile are called.
func (p *Profile) types() (list []string) {
	for _, t := range p.SampleType {
		list = append(list, p.Labels["__name__"]+":"+t.Type+":"+t.Unit+":"+p.PeriodType.Type+":"+p.PeriodType.Unit)
	}
	return list
}

// in reports whether a profile is of a time, in milliseconds.
func (p *Profile) in(from, until int64) bool {
	at := p.TimeNanos / 1e6
	return from <= at && at <= until
}

// block is what Pyroscope has in one block, about: it does not look further into those of a time for labels.
const block = int64(time.Hour / time.Millisecond)

// series answers which labels there are.
func (s *Pyroscope) series(w http.ResponseWriter, r *http.Request) {
	var question struct {
		Matchers, LabelNames []string
		Start, End           int64 `json:",string"`
	}
	if err := json.NewDecoder(r.Body).Decode(&question); err != nil || len(question.Matchers) != 1 {
		http.Error(w, "no question", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	type pair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	type set struct {
		Labels []pair `json:"labels"`
	}
	sets := []set{}
	seen := make(map[string]bool)
	for _, p := range s.profiles {
		if !p.in(question.Start-block, question.End+block) || !selects(question.Matchers[0], p.Labels) {
			continue
		}
		for _, kind := range p.types() {
			var one set
			for _, name := range question.LabelNames {
				value, ok := p.Labels[name]
				if name == "__profile_type__" {
					value, ok = kind, true
				}
				if ok {
					one.Labels = append(one.Labels, pair{name, value})
				}
			}
			if key := fmt.Sprint(one); !seen[key] {
				seen[key] = true
				sets = append(sets, one)
			}
		}
	}
	_ = json.NewEncoder(w).Encode(map[string][]set{"labelsSet": sets})
}

// merge answers with the sum of a type of profile.
func (s *Pyroscope) merge(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var texts [3]string
	var times [2]int64
	for len(body) > 0 {
		number, kind, n := protowire.ConsumeTag(body)
		if body = body[max(n, 0):]; n < 0 || number < 1 || number > 4 {
			http.Error(w, "no question", http.StatusBadRequest)
			return
		}
		if kind == protowire.BytesType {
			texts[number], n = protowire.ConsumeString(body)
		} else {
			var v uint64
			v, n = protowire.ConsumeVarint(body)
			times[number-3] = int64(v)
		}
		body = body[n:]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []*pprof.Profile
	for _, p := range s.profiles {
		for k, kind := range p.types() {
			if kind != texts[1] || !p.in(times[0], times[1]) || !selects(texts[2], p.Labels) {
				continue
			}
			one := &pprof.Profile{SampleType: p.SampleType[k : k+1], PeriodType: p.PeriodType, Mapping: p.Mapping,
				Location: p.Location, Function: p.Function}
			for _, from := range p.Sample {
				if from.Value[k] != 0 {
					one.Sample = append(one.Sample, &pprof.Sample{Location: from.Location, Value: from.Value[k : k+1]})
				}
			}
			parts = append(parts, one)
		}
	}
	if len(parts) == 0 {
		return
	}
	all, err := pprof.Merge(parts)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for _, f := range all.Function { // strings come as they were pushed
		f.Name = strings.ToValidUTF8(f.Name, "?")
	}
	_ = all.WriteUncompressed(w)
}
