package bucket

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"gocloud.dev/blob"
)

// A Query selects records.
type Query struct {
	Service string          // "" for all
	Since   time.Time       // records that ended before are left out; the zero time for none
	Until   time.Time       // and those that began at this time or later
	Runs    map[string]bool // only of these runs, nil for all
}

// skew is how much later the clock of the store may be than that of the machine that recorded.
const skew = time.Hour

// Has reports whether a record is one of those.
func (q *Query) Has(m *Manifest) bool {
	return (q.Service == "" || m.Service == q.Service) && (q.Runs == nil || q.Runs[m.Run]) &&
		(q.Since.IsZero() || m.Ended.After(q.Since)) && (q.Until.IsZero() || m.Began.Before(q.Until))
}

// mayHave reports whether the record of a manifest may be one of those, by its key and the time of its upload: it had
// ended by then.
func (q *Query) mayHave(key string, uploaded time.Time) bool {
	parts := strings.Split(key, "/")
	if len(parts) != 4 || !strings.HasSuffix(key, ".json") {
		return false
	}
	return (q.Runs == nil || q.Runs[parts[2]]) && (q.Since.IsZero() || uploaded.Add(skew).After(q.Since))
}

// List returns the manifests of the records that a query selects, in the order of their keys. A manifest that is none
// is given to bad, and left out.
func (b *Bucket) List(ctx context.Context, q *Query, bad func(error)) (list []*Manifest, err error) {
	o := new(blob.ListOptions)
	if q.Service != "" {
		o.Prefix = escape(q.Service) + "/"
	}
	for it := b.blob.List(o); ; {
		one, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, b.failed("list", o.Prefix, err)
		}
		if !q.mayHave(one.Key, one.ModTime) {
			continue
		}
		m, err := b.manifest(ctx, one.Key)
		switch {
		case errors.Is(err, errNone): // it was there when it was listed
		case err != nil && !errors.Is(err, errNoManifest):
			return nil, b.failed("read", one.Key, err)
		case err != nil:
			bad(b.failed("read", one.Key, err))
		case q.Has(m):
			list = append(list, m)
		}
	}
}
