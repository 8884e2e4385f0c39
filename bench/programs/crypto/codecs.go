package main

import (
	"bytes"
	"compress/flate"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// codec compresses and decompresses.
type codec struct {
	name      string
	roundTrip func(input []byte) ([]byte, error)
}

var codecs = []codec{
	{"zstd", zstdPipe},
	{"s2", func(in []byte) ([]byte, error) { return s2.Decode(nil, s2.Encode(nil, in)) }},
	{"gzip", gzipBuffer},
	{"flate", flateBuffer},
}

// zstdPipe compresses in one goroutine and decompresses in another, with a
// pipe between them that passes small pieces.
func zstdPipe(in []byte) ([]byte, error) {
	r, w := io.Pipe()
	go func() { w.CloseWithError(zstdWrite(w, in)) }()
	dec, err := zstd.NewReader(r)
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	return io.ReadAll(dec)
}

func zstdWrite(w io.Writer, in []byte) error {
	enc, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(2))
	if err != nil {
		return err
	}
	for len(in) > 0 {
		k := min(len(in), 2000)
		if _, err := enc.Write(in[:k]); err != nil {
			return err
		}
		in = in[k:]
	}
	return enc.Close()
}

func gzipBuffer(in []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(in); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(&b)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func flateBuffer(in []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(in); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return io.ReadAll(flate.NewReader(&b))
}
