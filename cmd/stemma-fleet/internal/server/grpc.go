package server

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// A connection is one for gRPC. It is made when the first request needs it, and again when it broke.
type connection struct {
	once sync.Once
	to   *grpc.ClientConn
	err  error
}

// Invoke calls a method of a server by gRPC, at the address that it has for HTTP: https means TLS. The error of an
// answer that is no success is an [*Error].
func (s *Server) Invoke(ctx context.Context, method string, request, answer proto.Message) error {
	s.grpc.once.Do(func() { s.grpc.to, s.grpc.err = s.dial() })
	if s.grpc.err != nil {
		return s.grpc.err
	}
	r := &http.Request{Header: s.Header.Clone()}
	if s.user != "" {
		r.SetBasicAuth(s.user, s.password)
	}
	headers := make(metadata.MD)
	for key, values := range r.Header {
		headers[strings.ToLower(key)] = values
	}
	ctx = metadata.NewOutgoingContext(ctx, headers)
	return answered(s.grpc.to.Invoke(ctx, method, request, answer))
}

func (s *Server) dial() (*grpc.ClientConn, error) {
	u, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	secure := insecure.NewCredentials()
	if u.Scheme == "https" {
		secure = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = "4317"
	}
	// A connection that a router has forgotten is noticed while somebody waits, or given up before the next push.
	return grpc.NewClient("dns:///"+net.JoinHostPort(host, port), grpc.WithTransportCredentials(secure),
		grpc.WithIdleTimeout(time.Minute),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}))
}

// answered returns the error of a call, with the code that a server of HTTP answers with in its place. Who takes no
// more at the moment says when to come again; otherwise nothing is known of what was sent, and Unavailable is also the
// code of a server that is away. Internal is what a collector answers that will never take it, and the code of an
// answer that means nothing: another try might add it once more. What is too large has the code of a server that has
// had enough, which a proxy may have as well.
func answered(err error) error {
	if err == nil {
		return nil
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	code, after := 0, time.Duration(0)
	for _, detail := range s.Details() {
		if retry, ok := detail.(*errdetails.RetryInfo); ok {
			code, after = http.StatusServiceUnavailable, retry.GetRetryDelay().AsDuration()
		}
	}
	switch {
	case code != 0:
	case s.Code() == codes.InvalidArgument || s.Code() == codes.Internal || s.Code() == codes.FailedPrecondition ||
		s.Code() == codes.AlreadyExists:
		code = http.StatusBadRequest
	case s.Code() == codes.ResourceExhausted && strings.Contains(s.Message(), "larger than max"):
		code = http.StatusRequestEntityTooLarge
	case s.Code() == codes.ResourceExhausted:
		code = http.StatusTooManyRequests
	case s.Code() == codes.Unauthenticated:
		code = http.StatusUnauthorized
	case s.Code() == codes.PermissionDenied:
		code = http.StatusForbidden
	case s.Code() == codes.Unimplemented || s.Code() == codes.NotFound:
		code = http.StatusNotFound
	default:
		return err
	}
	return &Error{code, after, s.Code().String() + ": " + Short([]byte(s.Message()))}
}
