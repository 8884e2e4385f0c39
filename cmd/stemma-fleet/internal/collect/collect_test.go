package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket/buckettest"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/sink"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// write writes the record of a run that is not one of another test, as its program leaves it, and a segment if it is
// called as one.
func write(t *testing.T, path string, run uint64) {
	t.Helper()
	d := recordtest.Shapes()
	_, number, segment := store.SegmentOf(path)
	d.Header(func(h *layout.Header) {
		h.Run = run
		if segment {
			h.Segment, h.Began, h.Ended = number, h.Start+number*1e9, h.Start+(number+1)*1e9
		}
	})
	d.WriteTo(t, path)
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

// agent returns an agent of a directory.
func agent(b *buckettest.Memory, dir string, change func(*Options), sinks ...*sink.Sink) (*Agent, *strings.Builder) {
	log := new(strings.Builder)
	o := Options{Dirs: []string{dir}, Host: "h/1", Log: log, Labels: map[string]string{"version": "7"}}
	if change != nil {
		change(&o)
	}
	return New(bucket.New(b.Bucket(), "mem://"), sinks, o), log
}

// manifests returns those in a bucket, by the key of the record. Each is of one record, whose checksum it has.
func manifests(t *testing.T, b *buckettest.Memory) map[string]bucket.Manifest {
	t.Helper()
	list := map[string]bucket.Manifest{}
	for _, key := range b.Keys() {
		if !strings.HasSuffix(key, ".json") {
			continue
		}
		var m bucket.Manifest
		if err := json.Unmarshal(b.Content(key), &m); err != nil {
			t.Fatal(err)
		}
		p, err := record.Read(bytes.NewReader(b.Content(m.ObjectKey())))
		if err != nil || fmt.Sprintf("%016x", p.Processes[0].Run) != m.Run {
			t.Errorf("%s: %v", key, err)
		}
		list[m.ObjectKey()] = m
	}
	return list
}

// TestOnce has records of programs that have ended and that run, segments of both, and what is no record.
func TestOnce(t *testing.T) {
	out := t.TempDir()
	for i, name := range []string{"a.12-0a1b2c", "a.12-0a1b2c.000001", "b.12-0a1b2d", "c.12-0a1b2e.000007"} {
		write(t, filepath.Join(out, name), uint64(max(1, i)))
	}
	if err := os.MkdirAll(filepath.Join(out, "notes"), 0o777); err != nil {
		t.Fatal(err)
	}
	running, err := os.Open(filepath.Join(out, "a.12-0a1b2c", "tree"))
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	if err := store.Hold(running); err != nil {
		t.Fatal(err)
	}
	b := new(buckettest.Memory)
	a, log := agent(b, out, nil)
	if err := a.Once(context.Background()); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	list := manifests(t, b)
	if keys := b.Keys(); len(list) != 3 || len(keys) != 6 {
		t.Fatalf("keys are %q\n%s", keys, log)
	}
	for key, m := range list {
		if !strings.HasPrefix(key, "shapes/h%2F1/00000000000000") || m.Labels["version"] != "7" || m.Metrics == nil ||
			m.Began.IsZero() || m.Ended.Before(m.Began) {
			t.Errorf("%s: %+v", key, m)
		}
	}
	// Another agent, and one without what the first has noted, find all that is there.
	again, _ := agent(b, out, nil)
	if err := again.Once(context.Background()); err != nil || again.Numbers.sealed.Load() != 0 {
		t.Errorf("%v, %d sealed again", err, again.Numbers.sealed.Load())
	}
	if err := os.RemoveAll(filepath.Join(out, marksDir)); err != nil {
		t.Fatal(err)
	}
	again, _ = agent(b, out, nil)
	if err := again.Once(context.Background()); err != nil || again.Numbers.there.Load() != 3 {
		t.Errorf("%v, %d were there", err, again.Numbers.there.Load())
	}
	for _, key := range b.Keys() {
		if b.Puts(key) != 1 {
			t.Errorf("%s was written %d times", key, b.Puts(key))
		}
	}
	w := httptest.NewRecorder()
	a.Numbers.ServeHTTP(w, nil)
	for _, want := range []string{"\nstemma_collect_uploaded_total 3\n", "\nstemma_collect_backlog 0\n",
		"\nstemma_collect_failures_total{step=\"upload\"} 0\n"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %q in\n%s", want, w.Body)
		}
	}
}

// TestDelete removes what is in the store, but no segment whose being there still decides something.
func TestDelete(t *testing.T) {
	out := t.TempDir()
	for i, name := range []string{"a.12-0a1b2c.000001", "a.12-0a1b2c.000002", "b.12-0a1b2d"} {
		write(t, filepath.Join(out, name), uint64(1+i/2))
	}
	live := recordtest.Shapes()
	live.Header(func(h *layout.Header) { h.Run, h.Segment = 1, 2 }) // it has not said that the second has ended
	live.WriteTo(t, filepath.Join(out, "a.12-0a1b2c"))
	f, err := os.Open(filepath.Join(out, "a.12-0a1b2c", "tree"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := store.Hold(f); err != nil {
		t.Fatal(err)
	}
	b := new(buckettest.Memory)
	a, log := agent(b, out, func(o *Options) { o.Delete = true })
	for range 3 {
		if err := a.Once(context.Background()); err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
	}
	if list := manifests(t, b); len(list) != 3 {
		t.Errorf("%d records in the store", len(list))
	}
	if n := a.Numbers.lost.Load(); n != 0 {
		t.Errorf("%d of the records that were removed count as lost\n%s", n, log)
	}
	for name, want := range map[string]bool{"a.12-0a1b2c": true, "a.12-0a1b2c.000001": false,
		"a.12-0a1b2c.000002": true, "b.12-0a1b2d": false} {
		if _, err := os.Stat(filepath.Join(out, name)); (err == nil) != want {
			t.Errorf("%s: there is %v, want %v", name, err, want)
		}
	}
}

// TestBadStore has a store that fails and lies at random, and comes back at last: all is there then, once. What a lying
// store has is never noted as done, and never removed here.
func TestBadStore(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 0))
		out := t.TempDir()
		const records = 6
		for i := range records {
			write(t, filepath.Join(out, fmt.Sprintf("a.%d-0a1b2c", i+1)), uint64(i+1))
		}
		bad := 0.5
		b := &buckettest.Memory{
			Fail: func(op, key string) error {
				if r.Float64() < bad {
					return errors.New("out of order")
				}
				return nil
			},
			Lie: func(_ string, content []byte) []byte {
				if r.Float64() < bad {
					content = content[:r.IntN(len(content))]
				}
				return content
			},
		}
		a, log := agent(b, out, func(o *Options) { o.Delete = true })
		for range 30 {
			_, _ = a.Pass(context.Background())
			if r.IntN(3) == 0 {
				a, log = agent(b, out, func(o *Options) { o.Delete = true })
			}
			// What has gone here is there.
			for i := range records {
				_, err := os.Stat(filepath.Join(out, fmt.Sprintf("a.%d-0a1b2c", i+1)))
				key := fmt.Sprintf("shapes/h%%2F1/%016x/whole.json", i+1)
				var m bucket.Manifest
				if os.IsNotExist(err) && (json.Unmarshal(b.Content(key), &m) != nil ||
					int64(len(b.Content(m.ObjectKey()))) != m.Size) {
					t.Fatalf("seed %d: record %d was removed and is not in the store", seed, i+1)
				}
			}
		}
		bad = 0
		for range 2 {
			if err := a.Once(context.Background()); err != nil {
				t.Fatalf("%v\n%s", err, log)
			}
		}
		if list := manifests(t, b); len(list) != records || len(b.Keys()) != 2*records {
			t.Errorf("seed %d: %d records in the store, keys are %q", seed, len(list), b.Keys())
		}
	}
}

// TestUnreadable has a record that cannot be read: it is said once, and others are uploaded.
func TestUnreadable(t *testing.T) {
	out := t.TempDir()
	write(t, filepath.Join(out, "a.12-0a1b2c"), 1)
	write(t, filepath.Join(out, "b.12-0a1b2d"), 2)
	if err := os.WriteFile(filepath.Join(out, "a.12-0a1b2c", "tree"), []byte("no record"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := new(buckettest.Memory)
	a, log := agent(b, out, nil)
	for range 3 {
		if err := a.Once(context.Background()); err == nil {
			t.Error("no error")
		}
	}
	if n := strings.Count(log.String(), "a.12-0a1b2c"); n != 1 || len(manifests(t, b)) != 1 {
		t.Errorf("it is said %d times:\n%s", n, log)
	}
}
