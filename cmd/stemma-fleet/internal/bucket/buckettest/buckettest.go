// Package buckettest has a bucket in memory that fails, lies and blocks, as a test wants it.
package buckettest

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"
)

// A Memory is a bucket. Its functions may be nil.
type Memory struct {
	// Fail is asked before each operation: get, put, list or delete. An error is its result.
	Fail func(op, key string) error
	// Stuck is asked before each get and list: true for one that is not answered.
	Stuck func(op, key string) bool
	// Lie changes what is kept.
	Lie func(key string, content []byte) []byte
	// Now is the time of what is written.
	Now func() time.Time

	mu      sync.Mutex
	objects map[string]object
	puts    map[string]int // how often a key was written
}

type object struct {
	content []byte
	changed time.Time
}

// Bucket returns the bucket as programs use one.
func (m *Memory) Bucket() *blob.Bucket {
	if m.objects == nil {
		m.objects, m.puts = make(map[string]object), make(map[string]int)
	}
	return blob.NewBucket(m)
}

// Keys returns the keys that there are, sorted.
func (m *Memory) Keys() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.objects))
}

// Puts returns how often a key was written.
func (m *Memory) Puts(key string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.puts[key]
}

// Content returns what is kept at a key.
func (m *Memory) Content(key string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.objects[key].content
}

// Change changes what is kept at a key; nil removes it.
func (m *Memory) Change(key string, change func([]byte) []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.objects[key]
	if o.content = change(bytes.Clone(o.content)); o.content == nil {
		delete(m.objects, key)
		return
	}
	m.objects[key] = o
}

func (m *Memory) fail(op, key string) error {
	if m.Fail == nil {
		return nil
	}
	return m.Fail(op, key)
}

// wait waits for the end of a request that is not answered.
func (m *Memory) wait(ctx context.Context, op, key string) error {
	if m.Stuck == nil || !m.Stuck(op, key) {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

var (
	errNone = errors.New("no such key")
	errNot  = errors.New("not done by this bucket")
)

// get returns an object.
func (m *Memory) get(key string) (object, error) {
	if err := m.fail("get", key); err != nil {
		return object{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[key]
	if !ok {
		return o, errNone
	}
	return o, nil
}

// ErrorCode implements driver.Bucket.
func (m *Memory) ErrorCode(err error) gcerrors.ErrorCode {
	if errors.Is(err, errNone) {
		return gcerrors.NotFound
	}
	return gcerrors.Unknown
}

// As implements driver.Bucket.
func (m *Memory) As(any) bool { return false }

// ErrorAs implements driver.Bucket.
func (m *Memory) ErrorAs(error, any) bool { return false }

// Attributes implements driver.Bucket.
func (m *Memory) Attributes(_ context.Context, key string) (*driver.Attributes, error) {
	o, err := m.get(key)
	if err != nil {
		return nil, err
	}
	sum := md5.Sum(o.content)
	return &driver.Attributes{ModTime: o.changed, Size: int64(len(o.content)), MD5: sum[:]}, nil
}

// ListPaged implements driver.Bucket. Pages are small, so that there are several.
func (m *Memory) ListPaged(ctx context.Context, o *driver.ListOptions) (*driver.ListPage, error) {
	if err := m.wait(ctx, "list", o.Prefix); err != nil {
		return nil, err
	}
	if err := m.fail("list", o.Prefix); err != nil {
		return nil, err
	}
	const most = 7
	page := new(driver.ListPage)
	for _, key := range m.Keys() {
		rest, ok := strings.CutPrefix(key, o.Prefix)
		if !ok {
			continue
		}
		one := &driver.ListObject{Key: key}
		if before, _, found := strings.Cut(rest, o.Delimiter); o.Delimiter != "" && found {
			one.Key, one.IsDir = o.Prefix+before+o.Delimiter, true
		} else {
			m.mu.Lock()
			one.Size, one.ModTime = int64(len(m.objects[key].content)), m.objects[key].changed
			m.mu.Unlock()
		}
		if one.Key <= string(o.PageToken) {
			continue
		}
		if n := len(page.Objects); n > 0 && page.Objects[n-1].Key == one.Key {
			continue
		} else if n == most {
			page.NextPageToken = []byte(page.Objects[n-1].Key)
			break
		}
		page.Objects = append(page.Objects, one)
	}
	return page, nil
}

type reader struct {
	io.Reader
	attributes driver.ReaderAttributes
}

func (r *reader) Close() error                         { return nil }
func (r *reader) Attributes() *driver.ReaderAttributes { return &r.attributes }
func (r *reader) As(any) bool                          { return false }

// NewRangeReader implements driver.Bucket.
func (m *Memory) NewRangeReader(ctx context.Context, key string, offset, length int64,
	_ *driver.ReaderOptions) (driver.Reader, error) {
	if err := m.wait(ctx, "get", key); err != nil {
		return nil, err
	}
	o, err := m.get(key)
	if err != nil {
		return nil, err
	}
	content := o.content[min(offset, int64(len(o.content))):]
	if length >= 0 {
		content = content[:min(length, int64(len(content)))]
	}
	return &reader{bytes.NewReader(content), driver.ReaderAttributes{ModTime: o.changed, Size: int64(len(o.content))}},
		nil
}

type writer struct {
	bytes.Buffer
	ctx context.Context
	m   *Memory
	key string
}

// Close implements driver.Writer: what was written appears.
func (w *writer) Close() error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if err := w.m.fail("put", w.key); err != nil {
		return err
	}
	content, now := bytes.Clone(w.Bytes()), time.Now()
	if w.m.Lie != nil {
		content = w.m.Lie(w.key, content)
	}
	if w.m.Now != nil {
		now = w.m.Now()
	}
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	w.m.objects[w.key] = object{content, now}
	w.m.puts[w.key]++
	return nil
}

// NewTypedWriter implements driver.Bucket.
func (m *Memory) NewTypedWriter(ctx context.Context, key, _ string, _ *driver.WriterOptions) (driver.Writer, error) {
	return &writer{ctx: ctx, m: m, key: key}, nil
}

// Copy implements driver.Bucket.
func (m *Memory) Copy(context.Context, string, string, *driver.CopyOptions) error { return errNot }

// Delete implements driver.Bucket.
func (m *Memory) Delete(_ context.Context, key string, _ *driver.DeleteOptions) error {
	if err := m.fail("delete", key); err != nil {
		return err
	}
	m.mu.Lock()
	_, ok := m.objects[key]
	m.mu.Unlock()
	if !ok {
		return errNone
	}
	m.Change(key, func([]byte) []byte { return nil })
	return nil
}

// SignedURL implements driver.Bucket.
func (m *Memory) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errNot
}

// Close implements driver.Bucket.
func (m *Memory) Close() error { return nil }
