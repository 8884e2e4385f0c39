package sink

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/server"
	"github.com/stemma-go/stemma/internal/export"
	"github.com/stemma-go/stemma/internal/humanize"
)

// otlpLimits are below what a collector takes unless it is told otherwise.
var otlpLimits = export.Limits{Samples: 1 << 16, Bytes: 1 << 20, Depth: 1 << 16}

// openOTLP returns the collector at an address. Headers for it, and the protocol, are in the variables that all
// exporters of OpenTelemetry take.
func openOTLP(address string) (*Sink, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	s, err := server.New(address)
	if err != nil {
		return nil, err
	}
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_PROFILES_HEADERS"} {
		for pair := range strings.SplitSeq(os.Getenv(variable), ",") {
			if strings.TrimSpace(pair) == "" {
				continue
			}
			key, value, ok := strings.Cut(pair, "=")
			value, err := url.PathUnescape(strings.TrimSpace(value)) // a plus sign is one
			if key = strings.TrimSpace(key); !ok || key == "" || err != nil {
				return nil, fmt.Errorf("%s: want KEY=VALUE,KEY=VALUE, with %%25 for a percent sign in a value",
					variable)
			}
			s.Header.Set(key, value)
		}
	}
	byGRPC, err := otlpByGRPC(address)
	if err != nil {
		return nil, err
	}
	export := exportByHTTP
	if byGRPC {
		if u, err := url.Parse(address); err != nil || strings.Trim(u.Path, "/") != "" {
			return nil, fmt.Errorf("%s: gRPC has no path; want http://HOST:PORT or https://HOST:PORT", s.Name)
		}
		export = exportByGRPC
	}
	push := func(ctx context.Context, p *part) error {
		request := otlpRequest(p)
		answer, err := export(ctx, s, request)
		if err != nil {
			return err
		}
		if n := answer.GetPartialSuccess().GetRejectedProfiles(); n > 0 {
			of := len(request.ResourceProfiles[0].ScopeProfiles[0].Profiles)
			return &Refusal{fmt.Errorf("%d of %s rejected: %s", n, humanize.Plural(of, "profile"),
				server.Short([]byte(answer.PartialSuccess.ErrorMessage)))}
		}
		return nil
	}
	return &Sink{Name: s.Name, Identity: "otlp " + s.Name, push: push, limits: otlpLimits}, nil
}

// otlpByGRPC reports whether a collector is to be reached by gRPC: as the variable says, or else if the port is that
// for gRPC.
func otlpByGRPC(address string) (bool, error) {
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch protocol := os.Getenv(variable); protocol {
		case "":
		case "grpc":
			return true, nil
		case "http/protobuf":
			return false, nil
		default:
			return false, fmt.Errorf("%s=%s: want grpc or http/protobuf", variable, protocol)
		}
	}
	u, err := url.Parse(address)
	return err == nil && u.Port() == "4317", nil
}

// permanent is the error of HTTP's code 500 as that of a part that the collector will never take: what is worth another
// try has a code of its own.
func permanent(err error) error {
	if answer := new(server.Error); errors.As(err, &answer) && answer.Code == http.StatusInternalServerError {
		return &Refusal{err}
	}
	return err
}

// exportByHTTP exports profiles by HTTP.
func exportByHTTP(ctx context.Context, s *server.Server, request *collector.ExportProfilesServiceRequest) (
	*collector.ExportProfilesServiceResponse, error) {
	body, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	text, err := post(ctx, s, "/v1development/profiles", "application/x-protobuf", bytes.NewReader(body))
	if err != nil {
		return nil, permanent(err)
	}
	answer := new(collector.ExportProfilesServiceResponse)
	if err := proto.Unmarshal(text, answer); err != nil {
		// Another try might add the part once more.
		return nil, &Refusal{fmt.Errorf("what answers is no collector: %q; whether it has the part is not known",
			server.Short(text))}
	}
	return answer, nil
}

// exportByGRPC exports profiles by gRPC.
func exportByGRPC(ctx context.Context, s *server.Server, request *collector.ExportProfilesServiceRequest) (
	*collector.ExportProfilesServiceResponse, error) {
	const method = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
	answer := new(collector.ExportProfilesServiceResponse)
	return answer, explain(s.Invoke(ctx, method, request, answer))
}

// otlpRequest returns a part as a request with a profile for each of its metrics.
func otlpRequest(p *part) *collector.ExportProfilesServiceRequest {
	d := newDictionary(p.profile)
	of := &profiles.ScopeProfiles{Scope: &common.InstrumentationScope{Name: "github.com/stemma-go/stemma"}}
	for k, t := range p.profile.SampleType {
		id := sha256.Sum256(fmt.Append(nil, p.id(), " ", t.Type, " ", p.sampled))
		one := &profiles.Profile{
			SampleType:   &profiles.ValueType{TypeStrindex: d.text(t.Type), UnitStrindex: d.text(t.Unit)},
			TimeUnixNano: uint64(p.unit.Began.UnixNano()),
			DurationNano: uint64(max(0, p.unit.Ended.Sub(p.unit.Began))),
			ProfileId:    id[:16],
		}
		if p.sampled {
			one.AttributeIndices = []int32{d.sampled()}
		}
		for _, sample := range p.profile.Sample {
			if v := sample.Value[k]; v != 0 {
				one.Samples = append(one.Samples, &profiles.Sample{StackIndex: d.stack(sample.Location),
					Values: []int64{v}})
			}
		}
		if len(one.Samples) > 0 {
			of.Profiles = append(of.Profiles, one)
		}
	}
	return &collector.ExportProfilesServiceRequest{
		ResourceProfiles: []*profiles.ResourceProfiles{{Resource: otlpResource(p.unit),
			ScopeProfiles: []*profiles.ScopeProfiles{of}}},
		Dictionary: d.out,
	}
}

// otlpResource describes the process, in the names of the semantic conventions.
func otlpResource(u *Unit) *resource.Resource {
	list := map[string]string{
		"service.name":            u.Service,
		"service.instance.id":     u.Host + "/" + u.Run,
		"host.name":               u.Host,
		"process.executable.name": u.Program,
		"process.runtime.name":    "go",
		"process.runtime.version": u.GoVersion,
		"stemma.run":              u.Run,
		"stemma.engine":           u.Engine,
		"process.pid":             "",
	}
	addLabels(list, u.Labels, func(key string) string {
		if key == "version" {
			return "service.version"
		}
		return strings.ToValidUTF8(key, "?")
	})
	delete(list, "process.pid") // which is a number, and comes below
	r := new(resource.Resource)
	for _, key := range slices.Sorted(maps.Keys(list)) {
		r.Attributes = append(r.Attributes, &common.KeyValue{Key: key,
			Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: list[key]}}})
	}
	r.Attributes = append(r.Attributes, &common.KeyValue{Key: "process.pid",
		Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: int64(u.PID)}}})
	return r
}

// A dictionary has what the profiles of a request have in common. The first of each kind is the zero value.
type dictionary struct {
	out    *profiles.ProfilesDictionary
	texts  map[string]int32
	stacks map[string]int32
}

// newDictionary returns one with the functions and locations of a profile, under their identifiers: they count from 1.
func newDictionary(p *pprof.Profile) *dictionary {
	d := &dictionary{out: &profiles.ProfilesDictionary{
		MappingTable:   []*profiles.Mapping{{}},
		LocationTable:  []*profiles.Location{{}},
		FunctionTable:  []*profiles.Function{{}},
		LinkTable:      []*profiles.Link{{}},
		StringTable:    []string{""},
		AttributeTable: []*profiles.KeyValueAndUnit{{}},
		StackTable:     []*profiles.Stack{{}},
	}, texts: map[string]int32{"": 0}, stacks: map[string]int32{"": 0}}
	for _, f := range p.Function {
		d.out.FunctionTable = append(d.out.FunctionTable, &profiles.Function{NameStrindex: d.text(f.Name),
			FilenameStrindex: d.text(f.Filename), StartLine: f.StartLine})
	}
	for _, l := range p.Location {
		one := new(profiles.Location)
		for _, line := range l.Line {
			one.Lines = append(one.Lines, &profiles.Line{FunctionIndex: int32(line.Function.ID), Line: line.Line})
		}
		d.out.LocationTable = append(d.out.LocationTable, one)
	}
	return d
}

// text returns the index of a string.
func (d *dictionary) text(s string) int32 {
	s = strings.ToValidUTF8(s, "?")
	i, ok := d.texts[s]
	if !ok {
		i = int32(len(d.out.StringTable))
		d.texts[s] = i
		d.out.StringTable = append(d.out.StringTable, s)
	}
	return i
}

// stack returns the index of a stack.
func (d *dictionary) stack(locations []*pprof.Location) int32 {
	key := make([]byte, 0, 4*len(locations))
	for _, l := range locations {
		key = append(key, byte(l.ID), byte(l.ID>>8), byte(l.ID>>16), byte(l.ID>>24))
	}
	i, ok := d.stacks[string(key)]
	if !ok {
		i = int32(len(d.out.StackTable))
		d.stacks[string(key)] = i
		one := new(profiles.Stack)
		for _, l := range locations {
			one.LocationIndices = append(one.LocationIndices, int32(l.ID))
		}
		d.out.StackTable = append(d.out.StackTable, one)
	}
	return i
}

// sampled returns the index of the attribute of estimates.
func (d *dictionary) sampled() int32 {
	if len(d.out.AttributeTable) == 1 {
		d.out.AttributeTable = append(d.out.AttributeTable, &profiles.KeyValueAndUnit{
			KeyStrindex: d.text("stemma.sampled"),
			Value:       &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: true}}})
	}
	return 1
}
