package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	pprof "github.com/google/pprof/profile"
)

// A server is a Pyroscope, which is asked in protocol buffers.
type server struct{ url string }

// Fields of protocol buffers.
func appendNumber(b []byte, field, n uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, field<<3), n)
}

func appendBytes[T string | []byte](b []byte, field uint64, content T) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, field<<3|2), uint64(len(content)))
	return append(b, content...)
}

// call calls a procedure.
func (s *server) call(ctx context.Context, procedure string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+procedure, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/proto")
	r.Header.Set("Connect-Protocol-Version", "1")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", procedure, answer.Status, text)
	}
	return text, err
}

// sums returns the sum of a type of profile for each innermost function, of what a selector selects at some time.
func (s *server) sums(ctx context.Context, kind, selector string, from, to time.Time) (map[string]int64, error) {
	question := appendBytes(nil, 1, kind)
	question = appendBytes(question, 2, selector)
	question = appendNumber(question, 3, uint64(from.UnixMilli()))
	question = appendNumber(question, 4, uint64(to.UnixMilli()))
	text, err := s.call(ctx, "/querier.v1.QuerierService/SelectMergeProfile", question)
	if err != nil {
		return nil, err
	}
	sums := make(map[string]int64)
	if len(text) == 0 {
		return sums, nil
	}
	p, err := pprof.ParseUncompressed(text)
	if err != nil {
		return nil, err
	}
	for _, one := range p.Sample {
		sums[one.Location[0].Line[0].Function.Name] += one.Value[0]
	}
	return sums, nil
}

// push pushes a profile of a client of a process.
func (s *server) push(ctx context.Context, p *pprof.Profile, client int) error {
	var raw bytes.Buffer
	if err := p.Write(&raw); err != nil {
		return err
	}
	var series []byte
	for _, label := range [][2]string{{"__name__", "asked"}, {"__delta__", "false"}, {"service_name", "asked"},
		{"client", strconv.Itoa(client)}} {
		series = appendBytes(series, 1, appendBytes(appendBytes(nil, 1, label[0]), 2, label[1]))
	}
	series = appendBytes(series, 2, appendBytes(nil, 1, raw.Bytes()))
	_, err := s.call(ctx, "/push.v1.PusherService/Push", appendBytes(nil, 1, series))
	return err
}
