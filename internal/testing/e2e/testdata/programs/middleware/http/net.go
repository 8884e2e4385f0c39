//go:build nethttp

package http

import (
	"io"
	"net/http"
)

type (
	ResponseWriter = http.ResponseWriter
	Request        = http.Request
	Handler        = http.Handler
	HandlerFunc    = http.HandlerFunc
)

func NewRequest(method, url string, body io.Reader) (*Request, error) {
	return http.NewRequest(method, url, body)
}
