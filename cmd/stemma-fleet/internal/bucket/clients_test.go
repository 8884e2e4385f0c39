package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
)

// azure opens a container of a server that answers like this.
func azure(t *testing.T, answer http.HandlerFunc) *bucket.Bucket {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	b, err := bucket.Open(context.Background(), "azblob://b?protocol=http&domain="+server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// google opens a bucket of a server that answers like this.
func google(t *testing.T, answer http.HandlerFunc) *bucket.Bucket {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	t.Setenv("STORAGE_EMULATOR_HOST", server.Listener.Addr().String())
	b, err := bucket.Open(context.Background(), "gs://b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// says returns a handler that answers anything so.
func says(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		io.WriteString(w, text)
	}
}

// lists returns what is wrong with a list, or nil.
func lists(t *testing.T, b *bucket.Bucket) error {
	t.Helper()
	list, err := b.List(context.Background(), new(bucket.Query), func(err error) { t.Error(err) })
	if len(list) > 0 {
		t.Errorf("%d records", len(list))
	}
	return err
}

// TestNoListElsewhere is TestNoList for the servers of Azure and of Google.
func TestNoListElsewhere(t *testing.T) {
	const xml = `<?xml version="1.0"?>`
	for text, fine := range map[string]bool{
		"":                     false,
		"{}":                   false,
		"<html>Sign in</html>": false,
		xml + "<Error><Code>InternalError</Code></Error>":                false,
		xml + "<EnumerationResults><Blobs></Blobs></EnumerationResults>": true,
	} {
		if err := lists(t, azure(t, says(200, text))); (err == nil) != fine {
			t.Errorf("Azure: %q: %v", text, err)
		}
	}
	for text, fine := range map[string]bool{"": false, "{}": false, "<html>": false,
		`{"kind": "storage#objects"}`: true} {
		if err := lists(t, google(t, says(200, text))); (err == nil) != fine {
			t.Errorf("Google: %q: %v", text, err)
		}
	}
}

// TestRefused has servers that list a record, and refuse or garble all else: each is an error with the answer, and not
// that of a record that is not there. So are uploads.
func TestRefused(t *testing.T) {
	at := manifest(run).Key()
	const azureList = `<?xml version="1.0"?><EnumerationResults><Blobs><Blob><Name>%s</Name><Properties><Last-Modified>` +
		`%s</Last-Modified><Content-Length>5</Content-Length></Properties></Blob></Blobs></EnumerationResults>`
	stores := map[string]func(all http.HandlerFunc) *bucket.Bucket{
		"Azure": func(all http.HandlerFunc) *bucket.Bucket {
			return azure(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("comp") != "list" {
					all(w, r)
					return
				}
				fmt.Fprintf(w, azureList, at, time.Now().UTC().Format(http.TimeFormat))
			})
		},
		"Google": func(all http.HandlerFunc) *bucket.Bucket {
			return google(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/o") {
					all(w, r)
					return
				}
				fmt.Fprintf(w, `{"kind": "storage#objects", "items": [{"name": %q, "updated": %q, "size": "5"}]}`, at,
					time.Now().UTC().Format(time.RFC3339))
			})
		},
	}
	for name, store := range stores {
		for _, c := range []struct {
			code      int
			text      string
			gone      bool // it is no record any more
			want, put string
		}{
			{403, "no", false, "403", "403"},
			{404, "no", true, "", ""},
			{200, "<html>Sign in</html>", false, "", ""},
		} {
			err := lists(t, store(says(c.code, c.text)))
			if (err == nil) != c.gone || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %d %q: listed with %v, want %q", name, c.code, c.text, err, c.want)
			}
			err = put(store(says(c.code, c.text)), run, "record")
			if err == nil || !strings.Contains(err.Error(), c.put) {
				t.Errorf("%s, %d %q: uploaded with %v, want %q", name, c.code, c.text, err, c.put)
			}
		}
	}
}

// TestNoAddress has a server without an address: that is no object that is not there, so nothing is uploaded.
func TestNoAddress(t *testing.T) {
	if testing.Short() {
		t.Skip("its client tries four times, for ten seconds; run it without -short")
	}
	b, err := bucket.Open(context.Background(), "azblob://b?protocol=http&domain=store.invalid")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := put(b, run, "record"); err == nil || !strings.HasPrefix(err.Error(), "read ") {
		t.Errorf("%v, want an error of the read before the upload", err)
	}
}

// TestTokens has errors with a URL behind whose question mark a token stands.
func TestTokens(t *testing.T) {
	const token = "sig=secret"
	for _, err := range []error{
		&url.Error{Op: "Get", URL: "https://a.blob.core.windows.net/b?comp=list&" + token, Err: errors.New("refused")},
		&url.Error{Op: "parse", URL: "https://a.blob.core.windows.net/b?" + token + "\n", Err: errors.New("invalid")},
	} {
		text := bucket.Text(fmt.Errorf("blob: %w", err))
		if strings.Contains(text, "secret") || !strings.Contains(text, "a.blob.core.windows.net/b") ||
			strings.Contains(text, "\n") {
			t.Errorf("%q", text)
		}
	}
}

// TestParameters has parameters of Google's URLs that would do nothing, or what is not checked here.
func TestParameters(t *testing.T) {
	for _, q := range []string{"grpc=true", "anonymous=1", "universe_domain=x", "endpoint=http://x"} {
		if _, err := bucket.Open(context.Background(), "gs://b?"+q); err == nil ||
			!strings.Contains(err.Error(), "anonymous=true alone") {
			t.Errorf("%s: %v", q, err)
		}
	}
	b, err := bucket.Open(context.Background(), "gs://b?anonymous=true")
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
}
