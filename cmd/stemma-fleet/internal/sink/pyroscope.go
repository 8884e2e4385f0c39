package sink

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/server"
	"github.com/stemma-go/stemma/internal/export"
)

// pyroscopeLimits are below what Pyroscope takes unless it is told otherwise: 16,000 samples, 4 MiB, stacks of 1,000,
// and 2 MiB at once, which is the burst of its limit of rates.
var pyroscopeLimits = export.Limits{Samples: 16_000, Bytes: 1 << 20, Depth: 1000}

// pyroscopeSettles is how long Pyroscope is given to show a push. Its second storage puts off what comes by half a
// second, and then writes it.
const pyroscopeSettles = 3 * time.Second

// openPyroscope returns the Pyroscope at a URL.
func openPyroscope(address string) (*Sink, error) {
	s, tenant, err := server.NewPyroscope(address)
	if err != nil {
		return nil, err
	}
	push := func(ctx context.Context, p *part) error {
		body, err := pyroscopeRequest(p)
		if err == nil {
			var text []byte
			text, err = post(ctx, s, "/push.v1.PusherService/Push", "application/proto", bytes.NewReader(body))
			if err == nil && !isMessage(text) { // whether the part is there is asked before it is pushed again
				err = fmt.Errorf("what answers is no Pyroscope: %q", server.Short(text))
			}
		}
		return err
	}
	has := func(ctx context.Context, p *part) (bool, error) { return pyroscopeHas(ctx, s, p) }
	return &Sink{Name: s.Name, Identity: "pyroscope " + s.Name + " " + tenant, push: push, has: has,
		limits: pyroscopeLimits, Settle: pyroscopeSettles}, nil
}

// isMessage reports whether text has the form of a protocol buffer. An answer that says nothing more is empty.
func isMessage(text []byte) bool {
	for len(text) > 0 {
		_, _, n := protowire.ConsumeField(text)
		if n < 0 {
			return false
		}
		text = text[n:]
	}
	return true
}

// pyroscopeHas asks for the sum of a part, between its millisecond and the next one, which no other part of its series
// has. From a time to the same time there is nothing.
func pyroscopeHas(ctx context.Context, s *server.Server, p *part) (bool, error) {
	metric := -1
	for _, one := range p.profile.Sample {
		if metric = slices.IndexFunc(one.Value, func(v int64) bool { return v > 0 }); metric >= 0 {
			break
		}
	}
	if metric < 0 {
		return false, nil // nothing is nowhere
	}
	labels, t := pyroscopeLabels(p), p.profile.SampleType[metric]
	at := p.at.UnixMilli()
	body, err := json.Marshal(map[string]string{
		"profileTypeID": labels["__name__"] + ":" + pyroscopeType(t.Type) + ":" + pyroscopeWord(t.Unit) +
			":contexts:count",
		"labelSelector": fmt.Sprintf("{service_name=%q,run=%q,part=%q}", labels["service_name"], labels["run"],
			labels["part"]),
		"start": strconv.FormatInt(at, 10), "end": strconv.FormatInt(at+1, 10), "maxNodes": "1",
	})
	if err != nil {
		return false, err
	}
	text, err := post(ctx, s, "/querier.v1.QuerierService/SelectMergeStacktraces", "application/json",
		bytes.NewReader(body))
	if err != nil {
		return false, fmt.Errorf("is it there already: %w", err)
	}
	var answer struct {
		Flamegraph struct {
			Total int64 `json:",string"`
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return false, fmt.Errorf("is it there already: no answer of Pyroscope: %w", err)
	}
	return answer.Flamegraph.Total > 0, nil
}

// pyroscopeRequest returns a push.v1.PushRequest with one profile.
func pyroscopeRequest(p *part) ([]byte, error) {
	out := p.profile
	for _, t := range out.SampleType {
		t.Type, t.Unit = pyroscopeType(t.Type), pyroscopeWord(t.Unit)
	}
	out.PeriodType = &pprof.ValueType{Type: "contexts", Unit: "count"} // one for all: it is in the name of the type
	out.TimeNanos, out.DurationNanos = p.at.UnixNano(), int64(max(0, p.unit.Ended.Sub(p.unit.Began)))
	var raw bytes.Buffer
	if err := out.Write(&raw); err != nil {
		return nil, err
	}
	var sample, series []byte
	sample = appendField(sample, 1, raw.Bytes())
	sample = appendField(sample, 2, []byte(p.id()))
	labels := pyroscopeLabels(p)
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		pair := appendField(appendField(nil, 1, []byte(name)), 2, []byte(labels[name]))
		series = appendField(series, 1, pair)
	}
	series = appendField(series, 2, sample)
	return appendField(nil, 1, series), nil
}

// appendField appends a field of a protocol buffer.
func appendField(b []byte, number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), content)
}

// pyroscopeLabels returns what the series of a part is called. What names the process is among them: two series of one
// name must not have profiles of one time.
func pyroscopeLabels(p *part) map[string]string {
	m := p.unit.Manifest
	labels := map[string]string{
		"service_name":  m.Service,
		"instance":      m.Host,
		"pid":           strconv.Itoa(m.PID),
		"run":           m.Run,
		"go_version":    m.GoVersion,
		"engine":        m.Engine,
		"pyroscope_spy": "stemma",
		"__name__":      "stemma",
		"__delta__":     "false", // what is pushed is what was counted since the last time
		"part":          "",
	}
	addLabels(labels, m.Labels, func(key string) string {
		return strings.TrimLeft(pyroscopeWord(key), "_0123456789") // those with underscores are Pyroscope's own
	})
	if p.sampled {
		labels["__name__"] = "stemma_sampled"
	}
	delete(labels, "part")
	if p.extra {
		labels["part"] = fmt.Sprint(m.Segment, ".", p.number)
	}
	return labels
}

// pyroscopeType returns what a metric is called. Pyroscope takes profiles with types of Go's own for ones whose stacks
// were cut off at some depth, and guesses the rest from others.
func pyroscopeType(metric string) string {
	if slices.Contains(ofGo, metric) {
		return "stemma_" + metric
	}
	return pyroscopeWord(metric)
}

// ofGo are the metrics that profiles of Go have as well.
var ofGo = []string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "cpu"}

// PyroscopeMetric returns the metric that a type is of, as far as its name tells.
func PyroscopeMetric(name string) string {
	if metric, ok := strings.CutPrefix(name, "stemma_"); ok && slices.Contains(ofGo, metric) {
		return metric
	}
	return name
}

// pyroscopeWord returns a name as one for a label or a type of profile.
func pyroscopeWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, s)
}

// id returns an identifier of the part, in the form of a UUID.
func (p *part) id() string {
	m := p.unit.Manifest
	sum := sha256.Sum256(fmt.Append(nil, m.Run, " ", m.Kind, " ", m.Segment, " ", p.number))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
