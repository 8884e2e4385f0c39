package main

import (
	"flag"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// s3 is a bucket of a real server. Its credentials are in the environment.
var s3 = flag.String("s3", "", "TestS3 uploads to the bucket at `URL`, which is empty, and not to one in memory")

// TestS3 uploads what programs record while they run to a server that speaks S3: over HTTP, with signatures, in pages.
// The server in memory refuses one request in ten, and is away at times. The agent ends with an error then, and the
// next one goes on.
func TestS3(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program; run it without -short")
	}
	store := *s3
	var refused atomic.Int64
	var well atomic.Bool
	if store == "" {
		backend := s3mem.New()
		if err := backend.CreateBucket("records"); err != nil {
			t.Fatal(err)
		}
		handler, began := gofakes3.New(backend).Server(), time.Now()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !well.Load() && (rand.IntN(10) == 0 || time.Since(began)%(3*time.Second) < 500*time.Millisecond) {
				refused.Add(1)
				http.Error(w, "not now", http.StatusServiceUnavailable)
				return
			}
			handler.ServeHTTP(w, r)
		}))
		defer server.Close()
		t.Setenv("AWS_ACCESS_KEY_ID", "test")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
		store = "s3://records/stemma?region=us-east-1&use_path_style=true&endpoint=" + url.QueryEscape(server.URL)
	}
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
	well.Store(true)
	calls, records := collected(t, store)
	if want := uint64(programs * 100 * steps); calls != want {
		t.Errorf("%d calls in the store, want %d", calls, want)
	}
	t.Logf("%d records, %d requests refused, %d agents ended with an error", records, refused.Load(), failed)
}
