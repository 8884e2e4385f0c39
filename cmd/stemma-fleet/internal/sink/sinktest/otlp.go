package sinktest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	profiles "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

// An OTLP is a collector that decodes profiles with the packages of OpenTelemetry, and checks what the protocol asks
// for.
type OTLP struct {
	URL string
	// Reject says why profiles are rejected, "" to take them.
	Reject string

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
	if s.Reject != "" {
		answer.PartialSuccess = &collector.ExportProfilesPartialSuccess{RejectedProfiles: 1, ErrorMessage: s.Reject}
	}
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
