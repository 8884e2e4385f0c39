package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/parquet"
	"github.com/stemma-go/stemma/profile"
)

// TestWholeDays writes the tables of a bucket once a day, at different times of the day, always of the last 24 hours:
// in the end each day has all that began in it, once.
func TestWholeDays(t *testing.T) {
	ctx, dir, out := context.Background(), "file://"+t.TempDir(), t.TempDir()
	b, err := bucket.Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	first := time.Date(2026, 11, 23, 0, 30, 0, 0, time.UTC)
	want := make(map[string]int)
	run := 0
	put := func(began time.Time) {
		run++
		text, err := os.ReadFile("../../profile/testdata/shapes.txt")
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.ParseText(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		p.Processes = p.Processes[:1]
		p.Processes[0].Run, p.Processes[0].Start = uint64(run), began
		var sealed bytes.Buffer
		if err := p.Write(&sealed); err != nil {
			t.Fatal(err)
		}
		m := &bucket.Manifest{Format: bucket.Format, Service: "s", Host: "h", Run: fmt.Sprintf("%016x", run),
			Kind:  bucket.Whole,
			Start: began, Began: began, Ended: began.Add(40 * time.Minute), Size: int64(sealed.Len()),
			SHA256: fmt.Sprintf("%x", sha256.Sum256(sealed.Bytes()))}
		if _, err := b.Put(ctx, m, bytes.NewReader(sealed.Bytes())); err != nil {
			t.Fatal(err)
		}
		want[began.Format(time.DateOnly)]++
	}
	at := first
	for day := range 3 {
		export := time.Date(2026, 11, 24+day, 8+day, 0, 0, 0, time.UTC)
		for ; at.Before(export); at = at.Add(time.Hour) {
			put(at)
		}
		q := &bucket.Query{Since: export.Add(-24 * time.Hour)}
		wholeDays(q)
		w := parquet.NewWriter(out)
		from := &storeFlags{store: dir, dir: t.TempDir(), size: 1 << 30}
		if _, err := from.addBucket(ctx, w, q, parquet.Origin{}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	have := make(map[string]map[string]bool)
	for _, v := range rows[parquet.Value](t, filepath.Join(out, "values-*")) {
		day := v.Time.Format(time.DateOnly)
		if have[day] == nil {
			have[day] = make(map[string]bool)
		}
		have[day][v.Run] = true
	}
	for day, n := range want {
		if len(have[day]) != n {
			t.Errorf("%s: %d runs are in the tables, want %d", day, len(have[day]), n)
		}
	}
	if entries, err := os.ReadDir(out); err != nil || len(entries) != 2*len(want) {
		t.Errorf("files: %v, %v", entries, err)
	}
	q := &bucket.Query{Since: first, Until: first}
	wholeDays(q)
	if !q.Until.Equal(q.Since.Add(24*time.Hour)) || !strings.HasSuffix(q.Since.String(), "00:00:00 +0000 UTC") {
		t.Errorf("a time is %v to %v", q.Since, q.Until)
	}
}
