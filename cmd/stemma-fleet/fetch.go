package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/fetch"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/pyroscope"
	"github.com/stemma-go/stemma/internal/command/outside"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/safefile"
	"github.com/stemma-go/stemma/profile"
)

// storeFlags say which records of a bucket are asked for, and where they are kept here.
type storeFlags struct {
	store, since, until, service, dir string
	size                              int64
	stderr                            io.Writer    // for warnings, os.Stderr if nil
	read                              atomic.Int64 // how many records were read
}

// warn prints a warning.
func (o *storeFlags) warn(format string, args ...any) {
	w := o.stderr
	if w == nil {
		w = os.Stderr
	}
	fmt.Fprintf(w, "stemma-fleet: warning: %s\n", profile.Printable(fmt.Sprintf(format, args...)))
}

func (o *storeFlags) declare(fs *flag.FlagSet) {
	fs.StringVar(&o.store, "store", "", "fetch from the bucket at `URL`")
	fs.StringVar(&o.since, "since", "", "records that ended after `TIME`: as long ago as 24h or 7d, or "+
		"2026-11-26T08:00:00Z")
	fs.StringVar(&o.until, "until", "", "records that began before `TIME`")
	fs.StringVar(&o.dir, "cache", cacheDir(), "keep what was fetched in `DIRECTORY`")
	fs.Int64Var(&o.size, "cache-size", 4<<30, "keep at most so many `BYTES` there, besides what is asked for")
}

// cacheDir returns where what was fetched is kept: in the user's cache directory, or that of [homeless].
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return homeless()
	}
	return filepath.Join(dir, "stemma-fleet")
}

// homeless is the directory of a user who has no cache directory. Anybody can make one of its name.
func homeless() string { return filepath.Join(os.TempDir(), fmt.Sprint("stemma-fleet-", os.Geteuid())) }

// cache returns the cache. Its directory is made; what all users know the name of must be this user's alone.
func (o *storeFlags) cache() (*fetch.Cache, error) {
	c := &fetch.Cache{Dir: o.dir, Most: o.size, Warn: func(err error) { o.warn("%v", err) }}
	if o.dir != homeless() {
		return c, nil
	}
	if err := os.Mkdir(o.dir, 0o700); err != nil && !os.IsExist(err) {
		return nil, err
	}
	d, err := safefile.OpenItself(o.dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	why := "others may enter it"
	uid, private := d.Owner()
	if !d.IsOwn() {
		private, why = false, fmt.Sprintf("it belongs to user %d", uid)
	}
	if !private {
		return nil, fmt.Errorf("%s: %s, so that what is read may be anybody's; set HOME or XDG_CACHE_HOME, or name "+
			"another directory with -cache", o.dir, why)
	}
	return c, nil
}

// query returns the query that the flags are.
func (o *storeFlags) query(fs *flag.FlagSet) (*bucket.Query, error) {
	q := &bucket.Query{Service: o.service}
	now := time.Now()
	var err error
	if q.Since, err = outside.Moment(o.since, now); err != nil {
		return nil, wrong(fs, "-since=%s: %v", o.since, err)
	}
	if q.Until, err = outside.Moment(o.until, now); err != nil {
		return nil, wrong(fs, "-until=%s: %v", o.until, err)
	}
	return q, nil
}

// each calls do with each record that a query selects.
func (o *storeFlags) each(q *bucket.Query, do func(m *bucket.Manifest, file string) error) error {
	ctx := context.Background()
	b, err := bucket.OpenThere(ctx, o.store)
	if err != nil {
		return err
	}
	defer b.Close()
	c, err := o.cache()
	if err != nil {
		return err
	}
	return c.Each(ctx, b, q, do)
}

// runFetch prints the files, a line for each, when all are there.
func runFetch(fs *flag.FlagSet, args []string) error {
	var o storeFlags
	o.declare(fs)
	fs.StringVar(&o.service, "service", "", "records of the service `NAME`")
	runs := fs.String("run", "", "records of these `RUNS`, 16 digits each, with commas between")
	from := fs.String("pyroscope", "", "not from a bucket, but what was counted, from the Pyroscope at `URL`")
	rest, err := parse(fs, args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return wrong(fs, "%q: want flags only", rest[0])
	case o.store != "" && *from != "":
		return wrong(fs, "have -store and -pyroscope; give one of them")
	case *from != "" && o.since+o.until+o.service+*runs != "":
		return wrong(fs, "-since, -until, -service and -run are for buckets; the URL of a Pyroscope has from, until, "+
			"service and query")
	case *from != "":
		return o.fetchCounts(fs, *from)
	case o.store == "":
		return wrong(fs, "no -store given; want the URL of a bucket")
	}
	q, err := o.query(fs)
	if err != nil {
		return err
	}
	if *runs != "" {
		q.Runs = make(map[string]bool)
		for run := range strings.SplitSeq(*runs, ",") {
			q.Runs[run] = true
		}
	}
	var lines strings.Builder
	err = o.each(q, func(_ *bucket.Manifest, file string) error {
		lines.WriteString(file + "\n")
		return nil
	})
	if err == nil {
		_, err = os.Stdout.WriteString(lines.String())
	}
	return err
}

// fetchCounts writes what a Pyroscope has of a query to a record, and prints where that is.
func (o *storeFlags) fetchCounts(fs *flag.FlagSet, url string) error {
	q, err := pyroscope.Parse(url, time.Now())
	if err != nil {
		return wrong(fs, "%v", err)
	}
	c, err := o.cache()
	if err != nil {
		return err
	}
	p, err := q.Fetch(context.Background())
	if err != nil {
		return err
	}
	file, err := c.Keep(q.Identity(), p.Processes[0].Args[0]+store.SealedSuffix, p.Write)
	if err == nil {
		_, err = fmt.Println(file)
	}
	return err
}
