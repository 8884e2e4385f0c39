package bucket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcerrors"
	"gocloud.dev/gcp"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
)

// This file has what clients of stores do otherwise than this package needs it.

// emulator returns where a server is that stands for Google's, "" if none does.
func emulator() string { return os.Getenv("STORAGE_EMULATOR_HOST") }

// openGCS opens a bucket of Google's. Package gcsblob would go on without credentials if there are none, and print that
// to standard output, where stacks and tables go.
func openGCS(ctx context.Context, text string) (*blob.Bucket, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	for name := range q {
		if name != "anonymous" || q.Get(name) != "true" {
			return nil, fmt.Errorf("have a parameter %s; Google's buckets take anonymous=true alone", name)
		}
	}
	var options []option.ClientOption
	client := &http.Client{Transport: lists{gcp.DefaultTransport()}}
	if emulator() == "" && !q.Has("anonymous") {
		// A token may be wanted while the agent ends, and the client asks for it without the request's context.
		ctx := context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, &http.Client{Timeout: time.Minute})
		found, err := gcp.DefaultCredentials(ctx)
		if err != nil {
			return nil, err
		}
		google, err := gcp.NewHTTPClient(client.Transport, gcp.CredentialsTokenSource(found))
		if err != nil {
			return nil, err
		}
		client = &google.Client
		if universe, err := found.GetUniverseDomain(); err == nil && universe != "" {
			options = append(options, option.WithUniverseDomain(universe))
		}
	}
	c, err := storage.NewClient(ctx, append(options, option.WithHTTPClient(client))...)
	if err != nil {
		return nil, err
	}
	c.SetRetry(storage.WithMaxAttempts(4)) // otherwise as long as somebody waits, who then gets no reason
	return gcsblob.OpenBucket(ctx, nil, u.Host, &gcsblob.Options{Client: c})
}

// lists checks the answers of Google's servers to questions for a list, as [checkLists] does those of S3: the client
// takes any JSON for a list, without what it does not find in it.
type lists struct{ http.RoundTripper }

// maxList is how long a page of a list may be: it has at most 1,000 objects.
const maxList = 64 << 20

// RoundTrip implements http.RoundTripper.
func (l lists) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.RoundTripper.RoundTrip(r)
	if err != nil || r.Method != http.MethodGet || answer.StatusCode != http.StatusOK ||
		!strings.HasPrefix(r.URL.Path, "/storage/v1/b/") || !strings.HasSuffix(r.URL.Path, "/o") {
		return answer, err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxList))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	var list struct{ Kind string }
	if err := json.Unmarshal(text, &list); err != nil || list.Kind != "storage#objects" {
		return nil, errNoList
	}
	answer.Body = io.NopCloser(bytes.NewReader(text))
	return answer, nil
}

// errNoList is the error of an answer that is something else.
var errNoList = errors.New("what answers is no bucket: have no list of objects")

// reader returns a reader of an object. Package azureblob panics where an answer has no time of a blob, as a page of a
// proxy.
func (b *Bucket) reader(ctx context.Context, key string) (r *blob.Reader, err error) {
	defer func() {
		if failed := recover(); failed != nil {
			r, err = nil, fmt.Errorf("what answers is no bucket: %v", failed)
		}
	}()
	return b.blob.NewReader(ctx, key, nil)
}

// notThere reports whether an error is that of an object that is not there. For package gcsblob one that may not be
// read is one of those, and for azureblob one of a server without an address.
func notThere(err error) bool {
	answer, name := new(googleapi.Error), new(net.DNSError)
	if errors.As(err, &answer) && answer.Code != http.StatusNotFound || errors.As(err, &name) {
		return false
	}
	return gcerrors.Code(err) == gcerrors.NotFound
}

// A clientError is an error of a store's client. Its text is one line, and does not have what stands behind the
// question mark of a URL, which may be a token.
type clientError struct{ err error }

func (e *clientError) Unwrap() error { return e.err }

func (e *clientError) Error() string {
	err := e.err
	if answer := new(azcore.ResponseError); errors.As(err, &answer) {
		return strings.TrimSpace(fmt.Sprintf("the server answers %d %s", answer.StatusCode, answer.ErrorCode))
	}
	text := err.Error()
	if asked := new(url.Error); errors.As(err, &asked) {
		if secret := asked.URL; strings.Contains(secret, "?") {
			for _, form := range []string{fmt.Sprintf("%q", secret), secret} {
				text = strings.ReplaceAll(text, form, withoutSecrets(secret))
			}
		}
	}
	return strings.Join(strings.Fields(text), " ")
}
