package main

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsouza/fake-gcs-server/fakestorage"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket/buckettest"
)

// real is a bucket of a real server. Its credentials are in the environment.
var real = flag.String("store", "", "TestServers uploads to the bucket at `URL`, which is empty, and not to those in "+
	"memory")

// A memory returns what answers for a server in memory at an address, as 127.0.0.1:80, and the URL of a store in it.
type memory func(t *testing.T, address string) (handler http.Handler, store string)

var memories = map[string]memory{
	"s3": func(t *testing.T, address string) (http.Handler, string) {
		backend := s3mem.New()
		if err := backend.CreateBucket("records"); err != nil {
			t.Fatal(err)
		}
		t.Setenv("AWS_ACCESS_KEY_ID", "test")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
		return gofakes3.New(backend).Server(),
			"s3://records/stemma?region=r&use_path_style=true&endpoint=" +
				url.QueryEscape("http://"+address)
	},
	"gs": func(t *testing.T, address string) (http.Handler, string) {
		server, err := fakestorage.NewServerWithOptions(fakestorage.Options{NoListener: true, PublicHost: address})
		if err != nil {
			t.Fatal(err)
		}
		server.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: "records"})
		t.Setenv("STORAGE_EMULATOR_HOST", address)
		return server.HTTPHandler(), "gs://records/stemma"
	},
	"azblob": func(t *testing.T, address string) (http.Handler, string) {
		t.Setenv("AZURE_STORAGE_ACCOUNT", "test")
		t.Setenv("AZURE_STORAGE_KEY", "dGVzdA==")
		return new(buckettest.Azure), "azblob://records/stemma?protocol=http&domain=" + address
	},
}

// TestServers uploads what programs record while they run to servers of each kind: over HTTP, in pages. The server in
// memory refuses one request in five, and is away at times. The agent may end with an error, and the next one goes on.
func TestServers(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program; run it without -short")
	}
	if *real != "" {
		testServer(t, *real, func() int64 { return 0 })
		return
	}
	for name, open := range memories {
		t.Run(name, func(t *testing.T) {
			var requests, refused atomic.Int64
			var well atomic.Bool
			began := time.Now()
			server := httptest.NewUnstartedServer(nil)
			handler, store := open(t, server.Listener.Addr().String())
			server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				away := time.Since(began)%(3*time.Second) < 500*time.Millisecond
				if !well.Load() && (requests.Add(1)%5 == 0 || away) {
					refused.Add(1)
					http.Error(w, "not now", http.StatusServiceUnavailable)
					return
				}
				handler.ServeHTTP(w, r)
			})
			server.Start()
			defer server.Close()
			testServer(t, store, func() int64 { well.Store(true); return refused.Load() })
			if refused.Load() == 0 {
				t.Error("no request was refused")
			}
		})
	}
}

// testServer uploads what programs record. From the call of well on, which returns how many requests were refused, the
// server is well.
func testServer(t *testing.T, store string, well func() (refused int64)) {
	const programs, steps = 2, 20_000
	out := t.TempDir()
	wait := rotating(t, out, programs, steps)
	failed := 0
	collect := func() bool {
		text, err := fleet(t, "collect", "-once", "-delete", "-store", store, out).CombinedOutput()
		if err != nil {
			failed++
			t.Logf("%v: %s", err, text)
		}
		return err == nil
	}
	collect()
	wait()
	for try, wells := 0, 0; wells < 2; try++ {
		if wells++; !collect() {
			wells = 0
		}
		if try == 40 {
			t.Fatal("the store is there, and the agent does not end well")
		}
	}
	refused := well()
	calls, records := collected(t, store)
	if want := uint64(programs * 100 * steps); calls != want {
		t.Errorf("%d calls in the store, want %d", calls, want)
	}
	t.Logf("%d records, %d requests refused, %d agents ended with an error", records, refused, failed)
}
