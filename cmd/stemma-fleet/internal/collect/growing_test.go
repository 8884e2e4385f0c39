package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket/buckettest"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// grows is a program with context IDs that runs, and its agent.
type grows struct {
	*recordtest.Program
	t       *testing.T
	path    string
	running *os.File
	ids     []ctxid.ID
	bucket  *buckettest.Memory
	agent   *Agent
	log     *strings.Builder
	age     time.Duration // of what is uploaded
}

func newGrows(t *testing.T) *grows {
	out := t.TempDir()
	x := &grows{Program: recordtest.NewProgram(1, 9), t: t, path: filepath.Join(out, "prog.12-0a1b2c"),
		bucket: new(buckettest.Memory)}
	x.bucket.Now = func() time.Time { return time.Now().Add(-x.age) }
	x.write()
	running, err := os.Open(filepath.Join(x.path, "cce"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	if x.running = running; store.Hold(running) != nil {
		t.Fatal("the record cannot be held")
	}
	x.agent, x.log = agent(x.bucket, out, nil)
	x.agent.growEvery = 0
	return x
}

// write has the program do something, and writes its record.
func (x *grows) write() {
	for range 50 {
		x.Act()
		c := x.Capture()
		x.ids = append(x.ids, ctxid.ID{Hi: c.Hi, Lo: c.Lo, Run: recordtest.Run})
	}
	x.D.WriteTo(x.t, x.path)
	x.old()
}

// old makes the record one that has not changed for a while.
func (x *grows) old() {
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(x.path, old, old); err != nil {
		x.t.Fatal(err)
	}
}

// pass has the agent look once.
func (x *grows) pass() {
	x.t.Helper()
	for _, g := range x.agent.growing {
		g.next = time.Time{}
	}
	if err := x.agent.Once(context.Background()); err != nil {
		x.t.Fatalf("%v\n%s", err, x.log)
	}
}

// has fails the test unless the store has records of these kinds, and they are what a query finds; the last decodes
// the first n IDs, and no more.
func (x *grows) has(n int, kinds ...bucket.Kind) {
	x.t.Helper()
	q := &bucket.Query{Since: time.Now(), // behind the upload
		Runs: map[string]bool{fmt.Sprintf("%016x", recordtest.Run): true}}
	if slices.Contains(kinds, bucket.Whole) {
		q.Since = time.Time{}
	}
	store := bucket.New(x.bucket.Bucket(), "mem://")
	fail := func(err error) { x.t.Error(err) }
	list, err := store.List(context.Background(), q, fail)
	q.Runs = nil
	counts, e := store.List(context.Background(), q, fail)
	if e != nil || len(counts) > 0 && counts[0].Kind != bucket.Whole {
		x.t.Errorf("who asks for what was counted gets %+v, %v", counts, e)
	}
	if err != nil || len(list) != len(kinds) {
		x.t.Fatalf("%d records are in the store, want %v; %v\n%s", len(list), kinds, err, x.log)
	}
	for i, m := range list {
		if m.Kind != kinds[i] || !m.IDs {
			x.t.Errorf("a record is %+v, want %s", m, kinds[i])
		}
	}
	p, err := record.Read(bytes.NewReader(x.bucket.Content(list[len(list)-1].ObjectKey())))
	if err != nil {
		x.t.Fatal(err)
	}
	of, err := decode.NewRun(p)
	if err != nil {
		x.t.Fatal(err)
	}
	for i, id := range x.ids[:n] {
		if _, err := of.Decode(id); err != nil {
			x.t.Errorf("ID %d of %d: %v", i, n, err)
		}
	}
}

// objects returns the names of the objects there.
func (x *grows) objects() (names []string) {
	for _, key := range x.bucket.Keys() {
		names = append(names, filepath.Base(key))
	}
	return names
}

// TestGrowing uploads the record of a program that runs, again when it has grown, and as a whole when it has ended.
func TestGrowing(t *testing.T) {
	x := newGrows(t)
	x.age = time.Hour
	x.pass()
	x.has(50, bucket.Growing)
	first := x.objects()
	for range 5 { // it has done something, and has not grown
		x.D.Second(func(h *layout.ContextsHeader) { h.Dacce.Pushes += 1024 })
		x.D.WriteTo(t, x.path)
		x.old()
		x.pass()
	}
	if n, sealed := x.agent.Numbers.grown.Load(), x.agent.Numbers.sealed.Load(); n != 1 || sealed != 1 {
		t.Errorf("%d uploads of one record, which was sealed %d times", n, sealed)
	}
	x.age = 0
	x.write()
	x.pass()
	x.has(100, bucket.Growing)
	if names := x.objects(); len(names) != 2 || names[0] == first[0] {
		t.Errorf("%q are in the store, and were %q", names, first)
	}
	x.write()
	x.pass()
	x.has(150, bucket.Growing)
	if names := x.objects(); len(names) != 3 {
		t.Errorf("%q are in the store, want the last record as well, which somebody may read", names)
	}
	x.write()
	x.running.Close()
	x.pass()
	x.has(200, bucket.Whole)
	if names := x.objects(); len(names) != 2 || !strings.HasPrefix(names[0], "whole.") {
		t.Errorf("%q are in the store when the program has ended", names)
	}
}

// TestGrowingEnds has a store that lets nothing be removed: the whole record is there, and what was uploaded before as
// well, and who asks for records gets the whole one alone.
func TestGrowingEnds(t *testing.T) {
	x := newGrows(t)
	x.pass()
	x.write()
	x.running.Close()
	x.bucket.Fail = func(op, key string) error {
		if op == "delete" {
			return errors.New("not allowed")
		}
		return nil
	}
	x.pass()
	x.has(100, bucket.Whole)
	x.pass()
	if lines := strings.Count(x.log.String(), "must be allowed"); lines != 1 || x.agent.held() > 0 {
		t.Errorf("%d lines tell that objects cannot be removed:\n%s", lines, x.log)
	}
}

// TestGrowingLate has two agents: one uploads what it has of a record that grows when the other one has uploaded the
// whole.
func TestGrowingLate(t *testing.T) {
	x := newGrows(t)
	other, _ := agent(x.bucket, filepath.Dir(x.path), nil)
	other.growEvery = 0
	x.bucket.Fail = func(op, key string) error {
		if op == "put" && strings.HasSuffix(key, "growing.json") {
			x.bucket.Fail = nil
			x.running.Close()
			return other.Once(context.Background())
		}
		return nil
	}
	x.pass()
	x.has(50, bucket.Whole)
	if names := x.objects(); len(names) != 2 {
		t.Errorf("%q are in the store", names)
	}
}

// TestGrowingAway has a store that is away for a while: the agent reports it, and the next pass uploads what there is.
func TestGrowingAway(t *testing.T) {
	x := newGrows(t)
	x.bucket.Fail = func(string, string) error { return errors.New("away") }
	write(t, filepath.Join(filepath.Dir(x.path), "young.13-0a1b2d"), 7)
	young := time.Now()
	if err := os.Chtimes(filepath.Join(filepath.Dir(x.path), "young.13-0a1b2d"), young, young); err != nil {
		t.Fatal(err)
	}
	x.bucket.Fail = func(_, key string) error {
		if strings.Contains(key, "growing") {
			return errors.New("away")
		}
		return nil
	}
	if err := x.agent.Once(context.Background()); err == nil || !strings.Contains(err.Error(), "away") {
		t.Fatalf("error %v of a store that is away", err)
	}
	x.bucket.Fail = nil
	x.agent.to[0].next = time.Time{}
	if _, err := x.agent.Pass(context.Background()); err != nil { // at once
		t.Error(err)
	}
	x.has(50, bucket.Growing)
}
