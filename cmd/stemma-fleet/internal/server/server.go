// Package server asks servers that are reached by HTTP or gRPC, with their credentials and tenant.
package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/patience"
	"github.com/stemma-go/stemma/profile"
)

// A Server is one that is reached by HTTP or gRPC.
type Server struct {
	Name   string      // its URL, without credentials
	Header http.Header // of each request
	// Patience is for how long nothing may come of an answer; 0 is as long as the context of the request takes.
	Patience time.Duration

	client         *http.Client
	grpc           connection
	url            string
	user, password string
}

// New returns the server at an address, which is a URL.
func New(address string) (*Server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("no URL; want http://HOST:PORT or https://HOST")
	}
	if u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.Path, "@") { // all of these may be of a password
		return nil, errors.New("want a URL without ? and #; in a password %3F stands for ?, %23 for # and %2F for /")
	}
	s := &Server{Header: make(http.Header), client: &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, MaxIdleConns: 2, IdleConnTimeout: time.Minute,
		DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, TLSHandshakeTimeout: 10 * time.Second,
	}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	s.user = u.User.Username()
	s.password, _ = u.User.Password()
	u.User = nil
	s.Name, s.url = u.String(), strings.TrimSuffix(u.String(), "/")
	return s, nil
}

// Credentials takes what the address does not have from environment variables.
func (s *Server) Credentials(user, password string) {
	if s.user == "" {
		s.user, s.password = os.Getenv(user), os.Getenv(password)
	}
}

// Account returns as whom the server is asked: equal questions of two of them have different answers.
func (s *Server) Account() string { return s.user + " " + s.Header.Get("X-Scope-OrgID") }

// An Error is an answer that is no success, or that is not of a server of profiles.
type Error struct {
	Code  int
	After time.Duration // how long it wants to be left alone, 0 if it does not say
	text  string
}

func (e *Error) Error() string { return e.text }

// CannotTell reports whether a server does not answer such requests, or not those of this client.
func (e *Error) CannotTell() bool {
	return e.Code/100 == 4 && e.Code != http.StatusTooManyRequests && e.Code != http.StatusRequestTimeout ||
		e.Code == http.StatusNotImplemented
}

// Busy reports whether a server takes no more at the moment.
func (e *Error) Busy() bool {
	switch e.Code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// Refusal reports whether a server will never take that body.
func (e *Error) Refusal() bool {
	switch e.Code {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// Post posts a body of a kind below the address of the server, and returns the answer, at most so many bytes of it. The
// error of an answer that is no success is an [*Error].
func (s *Server) Post(ctx context.Context, path, kind string, body io.Reader, most int64) (text []byte, err error) {
	wait := patience.Begin(ctx, s.Patience)
	defer func() { err = wait.End(err) }()
	r, err := http.NewRequestWithContext(wait, http.MethodPost, s.url+path, body)
	if err != nil {
		return nil, err
	}
	r.Header = s.Header.Clone()
	r.Header.Set("Content-Type", kind)
	if s.user != "" {
		r.SetBasicAuth(s.user, s.password)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	wait.Heard()
	text, err = io.ReadAll(io.LimitReader(wait.Reader(answer.Body), most))
	if answer.StatusCode/100 == 2 {
		if kind := answer.Header.Get("Content-Type"); strings.HasPrefix(kind, "text/html") {
			// Who wants somebody to sign in answers so: the request has not come where it should.
			return nil, &Error{Code: answer.StatusCode,
				text: "a page answers, and no server of this kind: " + Short(text)}
		}
		return text, err
	}
	after, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // seconds; a date counts as none
	return nil, &Error{answer.StatusCode, time.Duration(max(0, after)) * time.Second,
		answer.Status + ": " + Short(text)}
}

// Short returns what a server says, on one line that is not too long.
func Short(text []byte) string {
	s := profile.Printable(strings.Join(strings.Fields(string(text)), " "))
	if len(s) > 300 {
		s = s[:300] + " ..."
	}
	return s
}
