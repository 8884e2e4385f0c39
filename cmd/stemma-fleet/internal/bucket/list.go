package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	"gocloud.dev/blob"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/patience"
)

// A Query selects records. One that grows is there for the IDs of its run: only who names the run gets it, and Since
// does not leave it out, as the run goes on.
type Query struct {
	Service string          // "" for all
	Since   time.Time       // records that ended before are left out; the zero time for none
	Until   time.Time       // and those that began at this time or later
	Runs    map[string]bool // only of these runs, nil for all
}

// skew is how much later the clock of the store may be than that of the machine that recorded.
const skew = time.Hour

// Has reports whether a record is one of those. If the clock was set back meanwhile, what it ended at is before what it
// began at.
func (q *Query) Has(m *Manifest) bool {
	first, last := m.Began, m.Ended
	if last.Before(first) {
		first, last = last, first
	}
	if m.Kind == Growing {
		last = time.Now()
	}
	return (q.Service == "" || m.Service == q.Service) && (q.Runs == nil || q.Runs[m.Run]) &&
		(q.Since.IsZero() || last.After(q.Since)) && (q.Until.IsZero() || first.Before(q.Until))
}

// mayHave reports whether the record of a manifest may be one of those, by its key and the time of its upload: it had
// ended by then.
func (q *Query) mayHave(key string, uploaded time.Time) bool {
	parts := strings.Split(key, "/")
	if len(parts) != 4 || !strings.HasSuffix(key, ".json") {
		return false
	}
	if parts[3] == growingName {
		return q.Runs[parts[2]]
	}
	return (q.Runs == nil || q.Runs[parts[2]]) && (q.Since.IsZero() || uploaded.Add(skew).After(q.Since))
}

// growingName is what the manifest of a record that grows is called, and wholeName that of the whole record.
const (
	growingName = string(Growing) + ".json"
	wholeName   = string(Whole) + ".json"
)

// atOnce is how many manifests are read at once: a store far away takes longer to answer than to read a small object.
const atOnce = 32

// List returns the manifests of the records that a query selects, in the order of their keys. A manifest that is none,
// and a directory beside those of services that cannot be read, are given to bad, and left out.
func (b *Bucket) List(ctx context.Context, q *Query, bad func(error)) (list []*Manifest, err error) {
	keys, err := b.keys(ctx, q, bad)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	manifests, errs := make([]*Manifest, len(keys)), make([]error, len(keys))
	var next atomic.Int64
	var reading sync.WaitGroup
	for range min(atOnce, len(keys)) {
		reading.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(keys)); i = next.Add(1) - 1 {
				m, err := b.manifest(ctx, keys[i])
				if dir, ok := strings.CutSuffix(keys[i], growingName); ok && errors.Is(err, errNone) {
					m, err = b.manifest(ctx, dir+wholeName) // its run has ended meanwhile
				}
				switch {
				case errors.Is(err, errNone): // it was there when it was listed
				case err != nil:
					if errs[i] = err; !errors.Is(err, errNoManifest) {
						cancel() // nobody needs the others
					}
				case q.Has(m):
					manifests[i] = m
				}
			}
		})
	}
	reading.Wait()
	for i, key := range keys { // of several errors the first that is not one of the others' cancellation
		if err := errs[i]; err != nil && !errors.Is(err, errNoManifest) && !errors.Is(err, context.Canceled) {
			return nil, b.failed("read", key, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, key := range keys {
		if errs[i] != nil {
			bad(b.failed("read", key, errs[i]))
		} else if manifests[i] != nil {
			list = append(list, manifests[i])
		}
	}
	return withoutGrown(list), nil
}

// withoutGrown leaves out what was uploaded of runs while they grew that are there as a whole, and what is there twice.
func withoutGrown(list []*Manifest) []*Manifest {
	whole := make(map[string]int)
	for _, m := range list {
		if m.Kind == Whole {
			whole[m.Key()]++
		}
	}
	return slices.DeleteFunc(list, func(m *Manifest) bool {
		if m.Kind != Growing {
			whole[m.Key()]--
			return m.Kind == Whole && whole[m.Key()] > 0
		}
		of := *m
		of.Kind = Whole
		_, ended := whole[of.Key()]
		return ended
	})
}

// keys returns the keys of the manifests that may be of records that a query selects.
func (b *Bucket) keys(ctx context.Context, q *Query, bad func(error)) (keys []string, err error) {
	o := &blob.ListOptions{BeforeList: checkLists}
	if q.Service != "" {
		o.Prefix = escape(q.Service) + "/"
	}
	if err := b.readable(o.Prefix, bad); err != nil {
		return nil, b.failed("list", o.Prefix, err)
	}
	tries := 0
	for it := b.blob.List(o); ; {
		one, err := b.next(ctx, it)
		if errors.Is(err, io.EOF) {
			return keys, nil
		}
		if errors.Is(err, fs.ErrNotExist) && tries < maxTries { // a file has gone while a directory was listed
			tries++
			it, keys = b.blob.List(o), nil
			continue
		}
		if err != nil {
			return nil, b.failed("list", o.Prefix, err)
		}
		if q.mayHave(one.Key, one.ModTime) {
			keys = append(keys, one.Key)
		}
	}
}

// maxTries is how often a directory is listed once more.
const maxTries = 10

// ofService is what the directory of a service is called, see escape. Others are not of this package, as lost+found.
var ofService = regexp.MustCompile(`^[A-Za-z0-9_%-][A-Za-z0-9_.%-]*$`)

// readable returns an error if a directory below a prefix cannot be read, in a store that is one: package fileblob
// leaves out without an error what is in it. One beside those of services may be anybody's, and a service that this
// user may not read is none of theirs: it is given to bad, and the others are read.
func (b *Bucket) readable(prefix string, bad func(error)) error {
	if b.dir == "" {
		return nil
	}
	return filepath.WalkDir(filepath.Join(b.dir, prefix), func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // nothing is, or it has gone
			return nil
		case errors.Is(err, fs.ErrPermission) && filepath.Dir(path) == filepath.Clean(b.dir) && prefix == "":
			bad(fmt.Errorf("%w; the records in it are left out; -service=NAME reads one service alone", err))
			return fs.SkipDir
		case err != nil:
			return err
		case filepath.Dir(path) == filepath.Clean(b.dir) && d.IsDir() && !ofService.MatchString(d.Name()):
			return fs.SkipDir
		}
		return nil
	})
}

// checkLists makes the answers of S3 to questions for a list be checked. Its client takes any text for a list, without
// what it does not find in it: so an error that comes as a success, or a page of a proxy, would be an empty bucket, or
// the end of what is there.
func checkLists(as func(any) bool) error {
	var options *[]func(*s3.Options)
	if as(&options) {
		*options = append(*options, s3.WithAPIOptions(func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("stemma-fleet: check lists", checkList),
				middleware.After)
		}))
	}
	return nil
}

func checkList(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
	out, metadata, err = next.HandleInitialize(ctx, in)
	list, ok := out.Result.(*s3.ListObjectsV2Output)
	switch {
	case err != nil || !ok:
	case list.Name == nil && list.IsTruncated == nil && list.KeyCount == nil:
		err = errNoList
	case aws.ToBool(list.IsTruncated) && aws.ToString(list.NextContinuationToken) == "":
		err = errors.New("the list has more pages, and the answer does not name the next one")
	}
	return out, metadata, err
}

// next returns the next object of a list. Package azureblob panics where an answer has no list in it.
func (b *Bucket) next(ctx context.Context, it *blob.ListIterator) (one *blob.ListObject, err error) {
	wait := patience.Begin(ctx, b.Patience)
	defer func() {
		if failed := recover(); failed != nil {
			one, err = nil, fmt.Errorf("%w (%v)", errNoList, failed)
		}
		err = wait.End(err)
	}()
	return it.Next(wait)
}
