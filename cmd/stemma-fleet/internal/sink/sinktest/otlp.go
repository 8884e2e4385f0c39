package sinktest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	profiles "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// An OTLP is a collector that decodes profiles with the packages of OpenTelemetry, and checks what the protocol asks
// for.
type OTLP struct {
	URL string
	// Reject says why profiles are rejected, "" to take them.
	Reject string
	// Fail is the answer by gRPC, nil to take profiles, and Metadata what the last request by gRPC had.
	Fail     error
	Metadata metadata.MD

	mu         sync.Mutex
	sums       map[string]int64
	attributes map[string]string
	ids        map[string]int
}

// Start starts a server, which ends with the test.
func (s *OTLP) Start(t testing.TB) {
	t.Helper()
	s.sums, s.ids = make(map[string]int64), make(map[string]int)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
}

// StartGRPC starts a server for gRPC, which ends with the test. URL is its address.
func (s *OTLP) StartGRPC(t testing.TB) {
	t.Helper()
	s.sums, s.ids = make(map[string]int64), make(map[string]int)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	t.Cleanup(server.Stop)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "opentelemetry.proto.collector.profiles.v1development.ProfilesService", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Export", Handler: s.export}},
	}, s)
	go func() { _ = server.Serve(l) }() // it ends by Stop
	s.URL = "http://" + l.Addr().String()
}

// Set sets Fail while the server is there.
func (s *OTLP) Set(fail error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Fail = fail
}

// export answers an export by gRPC.
func (s *OTLP) export(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	request, answer := new(collector.ExportProfilesServiceRequest), new(collector.ExportProfilesServiceResponse)
	if err := decode(request); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Metadata, _ = metadata.FromIncomingContext(ctx)
	if s.Fail != nil {
		return nil, s.Fail
	}
	if err := s.keep(request); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	s.reject(answer)
	return answer, nil
}

// reject notes in an answer what is rejected.
func (s *OTLP) reject(answer *collector.ExportProfilesServiceResponse) {
	if s.Reject != "" {
		answer.PartialSuccess = &collector.ExportProfilesPartialSuccess{RejectedProfiles: 1, ErrorMessage: s.Reject}
	}
}

// ServeHTTP answers an export.
func (s *OTLP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1development/profiles" ||
		r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "no profiles", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	request, answer := new(collector.ExportProfilesServiceRequest), new(collector.ExportProfilesServiceResponse)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err = proto.Unmarshal(body, request); err == nil {
		err = s.keep(request)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.reject(answer)
	text, err := proto.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(text)
}

// zero returns an error unless the first entry of a table is there and is the zero value.
func zero[T proto.Message](name string, table []T) error {
	if len(table) == 0 || proto.Size(table[0]) != 0 {
		return fmt.Errorf("%s does not begin with the zero value", name)
	}
	return nil
}

// keep checks and adds a request. An index outside of its table ends the test with a panic.
func (s *OTLP) keep(request *collector.ExportProfilesServiceRequest) error {
	d := request.Dictionary
	for _, err := range []error{zero("mapping_table", d.MappingTable), zero("location_table", d.LocationTable),
		zero("function_table", d.FunctionTable), zero("link_table", d.LinkTable),
		zero("attribute_table", d.AttributeTable), zero("stack_table", d.StackTable)} {
		if err != nil {
			return err
		}
	}
	if d.StringTable[0] != "" {
		return fmt.Errorf("string_table begins with %q", d.StringTable[0])
	}
	for _, of := range request.ResourceProfiles {
		s.attributes = make(map[string]string)
		for _, a := range of.Resource.Attributes {
			s.attributes[a.Key] = fmt.Sprint(a.Value.GetStringValue(), a.Value.GetIntValue())
		}
		for _, scope := range of.ScopeProfiles {
			for _, p := range scope.Profiles {
				if len(p.ProfileId) != 16 || p.TimeUnixNano == 0 {
					return fmt.Errorf("a profile with identifier %x at %d", p.ProfileId, p.TimeUnixNano)
				}
				if s.ids[string(p.ProfileId)]++; s.ids[string(p.ProfileId)] == 1 {
					s.add(d, p)
				}
			}
		}
	}
	return nil
}

func (s *OTLP) add(d *profiles.ProfilesDictionary, p *profiles.Profile) {
	name := "stemma:" + d.StringTable[p.SampleType.TypeStrindex] + ":" + d.StringTable[p.SampleType.UnitStrindex]
	for _, one := range p.Samples {
		leaf := d.LocationTable[d.StackTable[one.StackIndex].LocationIndices[0]].Lines[0]
		s.sums[name+" "+d.StringTable[d.FunctionTable[leaf.FunctionIndex].NameStrindex]] += one.Values[0]
	}
}

// Sums returns the sum of each type for each innermost function, as those of [Pyroscope], and the attributes of the
// process. twice is how many profiles came more than once.
func (s *OTLP) Sums() (sums map[string]int64, attributes map[string]string, twice int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.ids {
		if n > 1 {
			twice++
		}
	}
	return s.sums, s.attributes, twice
}
