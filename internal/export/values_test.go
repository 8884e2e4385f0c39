package export_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/export"
	"github.com/stemma-go/stemma/profile"
)

// span is some seconds of 2026.
var span = export.Span{End: time.Unix(1796000000, 0).UTC(), Length: 10 * time.Second}

// TestValues writes some metrics of a profile. Each context is one sample with all of them, and names and units are
// those of Go's heap profile.
func TestValues(t *testing.T) {
	p := shapes(t)
	for _, m := range []profile.Metric{profile.AllocSpace, profile.AllocObjects} {
		c, err := p.AddColumn(m)
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Values {
			c.Values[i] = uint64(i) * 8
		}
		c.Values[1] = -c.Values[1]
	}
	v := cct.Growth(nil, p, []string{"alloc_objects", "alloc_space"})
	var b bytes.Buffer
	if err := export.Values(&b, p, v, "alloc_space", span); err != nil {
		t.Fatal(err)
	}
	have, err := pprof.ParseData(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	period := pprof.ValueType{Type: "space", Unit: "bytes"}
	if *have.PeriodType != period || have.DefaultSampleType != "alloc_space" || len(have.SampleType) != 2 ||
		*have.SampleType[0] != (pprof.ValueType{Type: "alloc_objects", Unit: "count"}) ||
		have.TimeNanos != span.End.UnixNano() || have.DurationNanos != int64(span.Length) {
		t.Errorf("the head is wrong:\n%s", have)
	}
	var sum, want int64
	negative := false
	for _, s := range have.Sample {
		sum += s.Value[1]
		negative = negative || s.Value[1] < 0
		if s.Value[0] != s.Value[1] {
			t.Errorf("sample %v", s.Value)
		}
	}
	for _, n := range p.Column("alloc_space").Values {
		want += int64(n)
	}
	if sum != want || !negative {
		t.Errorf("the samples add up to %d, negative ones %t; want %d, some of them negative", sum, negative, want)
	}
}

// TestText shows the largest contexts as text.
func TestText(t *testing.T) {
	v := cct.Growth(nil, shapes(t), []string{"calls"})
	for most, want := range map[int]string{
		1:    "more contexts, with calls ",
		1000: "\n1\n#\t",
	} {
		var b bytes.Buffer
		if err := export.Text(&b, v, most, span); err != nil {
			t.Fatal(err)
		}
		if have := b.String(); !strings.HasPrefix(have, "calls 67, in 10s, in ") || !strings.Contains(have, want) {
			t.Errorf("the %d largest contexts are, without %q,\n%s", most, want, have)
		}
	}
}
