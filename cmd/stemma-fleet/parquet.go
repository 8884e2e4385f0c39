package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/parquet"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/safefile"
)

// runParquet writes records as tables.
func runParquet(fs *flag.FlagSet, args []string) error {
	var from storeFlags
	from.declare(fs)
	o := parquet.Origin{Labels: map[string]string{}}
	out := fs.String("o", "", "write the tables to `DIR`; those of the same days there are replaced")
	fs.StringVar(&o.Service, "service", "", "call the programs `NAME`; by default each is what its file is called. "+
		"With -store, records of the service NAME")
	fs.Func("label", "add `KEY=VALUE` to each value; may be given several times", func(s string) error {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return errors.New("want KEY=VALUE")
		}
		o.Labels[key] = value
		return nil
	})
	paths, err := parse(fs, args)
	switch {
	case err != nil:
		return err
	case *out == "":
		return wrong(fs, "no -o given; want a directory")
	case from.store != "" && len(paths) > 0:
		return wrong(fs, "have %q and -store; give one of them", paths[0])
	case from.store == "" && from.since+from.until != "":
		return wrong(fs, "-since and -until choose records in a bucket; give it with -store")
	}
	from.service = o.Service
	q, err := from.query(fs)
	if err != nil {
		return err
	}
	wholeDays(q)
	if len(paths) == 0 {
		paths = []string{store.Out()}
	}
	made := missing(*out)
	if err := os.MkdirAll(*out, 0o777); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	w, n, where := parquet.NewWriter(*out), 0, strings.Join(paths, " ")
	if from.store != "" {
		where, _, _ = strings.Cut(from.store, "?")
	}
	work := progress.Begin(fs.Output(), "tables")
	from.stderr = work.Output(fs.Output())
	over := work.Step(where, "records", func() (done, total int64) { return from.read.Load(), 0 })
	if from.store == "" {
		n, err = from.addRecords(ctx, w, paths, o)
	} else {
		n, err = from.addBucket(ctx, w, q, o)
	}
	over()
	work.End()
	if err == nil && n == 0 {
		err = fmt.Errorf("no counts in %s; want records of builds that count", where)
	}
	if err != nil {
		w.Discard()
		for _, dir := range made {
			_ = os.Remove(dir) // unless somebody has put something there
		}
		return err
	}
	return w.Close()
}

// missing returns which directories are to be made for one to be there, the innermost first.
func missing(dir string) (list []string) {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			return list
		}
		list = append(list, dir)
	}
}

// wholeDays makes the time of a query whole days, in UTC, as the tables are: those of a day are made of all of it.
func wholeDays(q *bucket.Query) {
	const day = 24 * time.Hour
	if !q.Since.IsZero() {
		q.Since = q.Since.UTC().Truncate(day)
	}
	if !q.Until.IsZero() {
		q.Until = q.Until.UTC().Add(day - 1).Truncate(day)
	}
}

// addBucket adds the records of a bucket that a query selects, and returns how many had counts.
func (from *storeFlags) addBucket(ctx context.Context, w *parquet.Writer, q *bucket.Query, o parquet.Origin) (n int,
	err error) {
	earlier := make(map[string]int) // days before those of the query, and how many records belong to them
	err = from.each(q, func(m *bucket.Manifest, file string) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if m.Began.Before(q.Since) {
			earlier[m.Began.UTC().Format(time.DateOnly)]++
			return nil
		}
		written, err := from.addStored(w, m, file, o)
		if written {
			n++
		}
		return err
	})
	for _, day := range slices.Sorted(maps.Keys(earlier)) {
		from.warn("%d records that began on %s have ended since; their rows are in the tables of that day: use "+
			"-since=%sT00:00:00Z to make those anew", earlier[day], day, day)
	}
	return n, err
}

// addStored adds a record of a bucket, with what its manifest says.
func (from *storeFlags) addStored(w *parquet.Writer, m *bucket.Manifest, file string, o parquet.Origin) (written bool,
	err error) {
	defer from.read.Add(1)
	p, err := store.Sum([]string{file})
	if err != nil {
		return false, err
	}
	of := parquet.Origin{Service: m.Service, Labels: maps.Clone(m.Labels)}
	if of.Labels == nil {
		of.Labels = make(map[string]string)
	}
	maps.Copy(of.Labels, o.Labels)
	if written, err = w.Add(p.Profile, of); err != nil {
		return false, fmt.Errorf("%s: %w", file, err)
	}
	if !written && len(p.Columns) > 0 {
		from.warn("%s: the run is in the tables already: it is in the store from two hosts or services", m.Key())
	}
	return written, nil
}

// addRecords adds the records at paths, one after the other, and returns how many had counts.
func (from *storeFlags) addRecords(ctx context.Context, w *parquet.Writer, paths []string, o parquet.Origin) (n int,
	err error) {
	for _, path := range paths {
		place, err := store.Probe(path)
		if err != nil {
			return n, err
		}
		records, err := place.Records()
		if err != nil {
			return n, err
		}
		for _, record := range records {
			parts := partsOf(record)
			listed := len(parts)
			for i := 0; i < len(parts); i++ {
				one := parts[i]
				if err := ctx.Err(); err != nil {
					return n, err
				}
				p, err := store.Sum([]string{one})
				if err != nil {
					return n, err
				}
				written, err := w.Add(p.Profile, o)
				from.read.Add(1)
				if err != nil {
					return n, fmt.Errorf("%s: %w", one, err)
				}
				if written {
					n++
				} else if i < listed && len(p.Columns) > 0 {
					from.warn("%s: the run is in the tables already, from a record before this one; give the "+
						"fullest one alone", one)
				}
				if i == listed-1 && listed > 1 { // segments that ended while the others were read
					for _, later := range store.Segments(record) {
						if !slices.Contains(parts, later) {
							parts = append(parts, later)
						}
					}
				}
			}
		}
	}
	return n, nil
}

// partsOf returns the segments of a live directory and what is in none of them, or the record itself if it has none:
// each with its own time.
func partsOf(path string) []string {
	segments := store.Segments(path)
	if next, err := livedir.NextSegment(safefile.Files(path)); err != nil || next == 0 || len(segments) == 0 {
		return []string{path}
	}
	return append(segments, path+store.RestSuffix)
}
