//go:build !nethttp

// Package http has what the program needs of net/http: its own, which is built at once, or with the tag nethttp that of
// net/http.
package http

import "io"

type (
	ResponseWriter interface{ Write([]byte) (int, error) }
	URL            struct{ Path string }
	Request        struct{ URL *URL }
	Handler        interface {
		ServeHTTP(ResponseWriter, *Request)
	}
	HandlerFunc func(ResponseWriter, *Request)
)

func (f HandlerFunc) ServeHTTP(w ResponseWriter, r *Request) { f(w, r) }

func NewRequest(_, url string, _ io.Reader) (*Request, error) { return &Request{&URL{url}}, nil }
