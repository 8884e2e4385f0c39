package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/fetch"
	"github.com/stemma-go/stemma/internal/command/outside"
)

// fetchFlags are those of fetch.
type fetchFlags struct {
	store, since, until, service, runs, dir string
	size                                    int64
}

func (o *fetchFlags) declare(fs *flag.FlagSet) {
	fs.StringVar(&o.store, "store", "", "fetch from the bucket at `URL`")
	fs.StringVar(&o.since, "since", "", "records that ended after `TIME`: as long ago as 24h or 7d, or "+
		"2026-11-26T08:00:00Z")
	fs.StringVar(&o.until, "until", "", "records that began before `TIME`")
	fs.StringVar(&o.service, "service", "", "records of the service `NAME`")
	fs.StringVar(&o.runs, "run", "", "records of these `RUNS`, 16 digits each, with commas between")
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	fs.StringVar(&o.dir, "cache", filepath.Join(dir, "stemma-fleet"), "keep what was fetched in `DIRECTORY`")
	fs.Int64Var(&o.size, "cache-size", 4<<30, "keep at most so many `BYTES` there, besides what is asked for")
}

// runFetch prints the files, a line for each.
func runFetch(fs *flag.FlagSet, args []string) error {
	var o fetchFlags
	o.declare(fs)
	rest, err := parse(fs, args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return wrong(fs, "%q: want flags only", rest[0])
	case o.store == "":
		return wrong(fs, "no -store given; want the URL of a bucket")
	}
	q := &bucket.Query{Service: o.service}
	now := time.Now()
	if q.Since, err = outside.Moment(o.since, now); err != nil {
		return wrong(fs, "-since=%s: %v", o.since, err)
	}
	if q.Until, err = outside.Moment(o.until, now); err != nil {
		return wrong(fs, "-until=%s: %v", o.until, err)
	}
	if o.runs != "" {
		q.Runs = make(map[string]bool)
		for run := range strings.SplitSeq(o.runs, ",") {
			q.Runs[run] = true
		}
	}
	ctx := context.Background()
	b, err := bucket.Open(ctx, o.store)
	if err != nil {
		return err
	}
	defer b.Close()
	warn := func(err error) { fmt.Fprintf(os.Stderr, "stemma-fleet: warning: %v\n", err) }
	files, err := (&fetch.Cache{Dir: o.dir, Most: o.size, Warn: warn}).Fetch(ctx, b, q)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(os.Stdout)
	for _, file := range files {
		fmt.Fprintln(w, file)
	}
	return w.Flush()
}
