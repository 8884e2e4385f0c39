// Package bucket keeps sealed records in a bucket, each under its identity and with a manifest.
//
// # Keys
//
// A record is a segment of a run, what a run has behind its segments, or a whole run without any. Its key is what
// it is, so that whoever uploads it, however often, uploads it to one place:
//
//	SERVICE/HOST/RUN/000003.json                        the manifest
//	SERVICE/HOST/RUN/000003.0123456789abcdef.stemma     the sealed record, with the beginning of its checksum
//
// The manifest is written when the record is there and has been read back. What has no manifest is not there: an
// upload that was interrupted leaves nothing that is read.
//
// The IDs in a log are to be decoded before the program ends. So a record of context IDs is uploaded again and again
// while it grows, under the name growing: each manifest there takes the place of the one before, whose record goes some
// time later. When the whole record is there, both go.
package bucket

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"gocloud.dev/blob"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/patience"
)

// A Bucket is a store of records. It may be used by several goroutines.
type Bucket struct {
	URL string // without credentials, for messages
	// Identity tells stores apart: the URL with its settings, without credentials.
	Identity string
	// Patience is for how long nothing may come of an answer when something is read or listed.
	Patience time.Duration
	blob     *blob.Bucket
	dir      string // that it is, or ""
	azure    bool   // it is one of Azure's
}

// Close closes the bucket.
func (b *Bucket) Close() error { return b.blob.Close() }

// Kind is what part of a run a record is.
type Kind string

// The kinds of records.
const (
	Whole   Kind = "whole"   // a run without segments
	Segment Kind = "segment" // a segment of a run
	Rest    Kind = "rest"    // what a run that has ended has behind its segments
	Growing Kind = "growing" // a run of context IDs that goes on, as far as it had come
)

// Format is the version of the manifests that this package writes.
const Format = 1

// A Manifest says what a record is, so that a reader finds it without opening it. It has nothing of the command line.
type Manifest struct {
	Format    int               `json:"format"`
	Service   string            `json:"service"`
	Host      string            `json:"host"`
	Run       string            `json:"run"` // 16 digits; of the context IDs of the run as well
	Kind      Kind              `json:"kind"`
	Segment   uint64            `json:"segment,omitempty"` // from 1 on; that of a rest is the one that had not ended
	PID       int               `json:"pid"`
	Program   string            `json:"program"`
	GoVersion string            `json:"goVersion"`
	Engine    string            `json:"engine"`
	IDs       bool              `json:"ids,omitempty"` // a record of context IDs
	Metrics   []string          `json:"metrics,omitempty"`
	Start     time.Time         `json:"start"` // of the program
	Began     time.Time         `json:"began"`
	Ended     time.Time         `json:"ended"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Sums are what the record has counted, by metric, and how much it has of what there is no metric for. They tell
	// apart records whose bytes differ since another release of stemma has sealed them, and records that are others.
	Sums   map[string]uint64 `json:"sums,omitempty"`
	Object string            `json:"object"` // the sealed record, beside the manifest
	Size   int64             `json:"size"`
	SHA256 string            `json:"sha256"`
}

// escape makes one part of a key of any text: only letters, digits, dots, hyphens and underscores stay.
func escape(s string) string {
	var b strings.Builder
	for i, c := range []byte(s) {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' ||
			c == '.' && i > 0
		if plain {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if b.Len() == 0 {
		return "%"
	}
	return b.String()
}

// dir is where a manifest and its record are.
func (m *Manifest) dir() string { return escape(m.Service) + "/" + escape(m.Host) + "/" + m.Run + "/" }

// name is what the record is called among those of its run.
func (m *Manifest) name() string {
	if m.Kind == Whole || m.Kind == Growing {
		return string(m.Kind)
	}
	return fmt.Sprintf("%06d", m.Segment)
}

// Key returns the key of the manifest.
func (m *Manifest) Key() string { return m.dir() + m.name() + ".json" }

// ObjectKey returns the key of the sealed record.
func (m *Manifest) ObjectKey() string { return m.dir() + m.Object }

// object is what a sealed record with a checksum is called.
func (m *Manifest) object() string { return m.name() + "." + m.SHA256[:16] + ".stemma" }

var (
	runDigits = regexp.MustCompile(`^[0-9a-f]{16}$`)
	checksum  = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// check returns an error unless a manifest that was read is one, and the one for a key: it may be anybody's.
func (m *Manifest) check(key string) error {
	switch {
	case m.Format != Format:
		return fmt.Errorf("%s: a manifest of format %d, want %d; use the stemma-fleet that wrote it", key, m.Format,
			Format)
	case !runDigits.MatchString(m.Run) || !checksum.MatchString(m.SHA256) || m.Size < 0:
		return fmt.Errorf("%s: no manifest of a record: run %q, %d bytes with checksum %q", key, m.Run, m.Size,
			m.SHA256)
	case m.Kind != Whole && m.Kind != Segment && m.Kind != Rest && m.Kind != Growing:
		return fmt.Errorf("%s: a manifest of kind %q, want %s, %s, %s or %s", key, m.Kind, Whole, Segment, Rest,
			Growing)
	case m.Key() != key || m.Object != m.object():
		return fmt.Errorf("%s: the manifest of another record: of %s, with %q", key, m.Key(), m.Object)
	}
	return nil
}

// An Error is what has failed, for those who count.
type Error struct {
	Step string // list, read, upload or verify
	Key  string
	Err  error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s %s: %v%s", e.Step, e.Key, &clientError{e.Err}, remedy(e.Err))
}
func (e *Error) Unwrap() error { return e.Err }

// failed returns the error of a step, nil if there is none.
func (b *Bucket) failed(step, key string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{step, b.URL + "/" + key, err}
}

// errNone is the error of what is not there.
var errNone = errors.New("not there")

// maxManifest is how long a manifest may be.
const maxManifest = 1 << 20

// manifest reads the manifest at a key. The error is errNone if there is none. S3 may answer with 200 and an error, and
// a proxy with a page where one is to sign in: both begin with "<", which no manifest and no other JSON does. That is
// an error of the store, since the manifest may be there.
func (b *Bucket) manifest(ctx context.Context, key string) (*Manifest, error) {
	text, err := b.read(ctx, key)
	if err != nil {
		return nil, err
	}
	if start := bytes.TrimLeft(text, "\ufeff \t\r\n"); bytes.HasPrefix(start, []byte("<")) {
		return nil, fmt.Errorf("have a page or an error of the server, and no manifest: %.100q", start)
	}
	m := new(Manifest)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", key, errNoManifest, err)
	}
	if m.Format > Format {
		return nil, fmt.Errorf("%s: a manifest of a later stemma-fleet (format %d, want %d); install that one", key,
			m.Format, Format)
	}
	if err := m.check(key); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoManifest, err)
	}
	return m, nil
}

// errNoManifest is the error of an object that is no manifest, although its key is that of one. Other errors are the
// store's, or of a later format.
var errNoManifest = errors.New("no manifest")

// read returns a small object.
func (b *Bucket) read(ctx context.Context, key string) (text []byte, err error) {
	wait := patience.Begin(ctx, b.Patience)
	defer func() { err = wait.End(err) }()
	r, err := b.reader(wait, key)
	if notThere(err) {
		return nil, errNone
	}
	if err != nil {
		return nil, err
	}
	text, err = io.ReadAll(io.LimitReader(wait.Reader(r), maxManifest+1))
	if err = errors.Join(err, r.Close()); err == nil && len(text) > maxManifest {
		err = fmt.Errorf("more than %d bytes, where a manifest is wanted", maxManifest)
	}
	return text, err
}

// verify reads a record back, and compares what came with what its manifest says.
func (b *Bucket) verify(ctx context.Context, m *Manifest) error { return b.copy(ctx, m, io.Discard) }

// Get writes the sealed record of a manifest to w. It returns an error if the store has other bytes than were
// uploaded; these may have been written by then.
func (b *Bucket) Get(ctx context.Context, m *Manifest, w io.Writer) error {
	return b.failed("read", m.ObjectKey(), b.copy(ctx, m, w))
}

func (b *Bucket) copy(ctx context.Context, m *Manifest, w io.Writer) (err error) {
	wait := patience.Begin(ctx, b.Patience)
	defer func() { err = wait.End(err) }()
	r, err := b.reader(wait, m.ObjectKey())
	if notThere(err) {
		return errNone
	}
	if err != nil {
		return err
	}
	if r.Size() != m.Size && r.Size() >= 0 { // before anything is written
		return errors.Join(fmt.Errorf("%w: %d bytes, want %d", ErrOther, r.Size(), m.Size), r.Close())
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, sum), io.LimitReader(wait.Reader(r), m.Size+1))
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	if have := hex.EncodeToString(sum.Sum(nil)); n != m.Size || have != m.SHA256 {
		return fmt.Errorf("%w: %s, want %d with checksum %s", ErrOther, got(n, m.Size, have), m.Size, m.SHA256)
	}
	return nil
}

// ErrOther is the error of a record that is not what was uploaded.
var ErrOther = errors.New("the store has other bytes than were uploaded")

// got says what came.
func got(n, want int64, sum string) string {
	if n > want {
		return fmt.Sprintf("more than %d bytes", want)
	}
	return fmt.Sprintf("%d bytes with checksum %s", n, sum)
}

// Put uploads a sealed record, unless it is there already, and then its manifest, whose Object, Size and SHA256 it
// sets. When it returns without error the record is there: all of it was read back. there reports that it was before.
func (b *Bucket) Put(ctx context.Context, m *Manifest, content io.ReadSeeker) (there bool, err error) {
	m.Format = Format
	sum := sha256.New()
	if m.Size, err = io.Copy(sum, content); err != nil {
		return false, err
	}
	m.SHA256 = hex.EncodeToString(sum.Sum(nil))
	m.Object = m.object()
	// What another one has uploaded may have other bytes: another release of stemma seals otherwise.
	had, err := b.manifest(ctx, m.Key())
	switch {
	case err == nil && (m.Kind != Growing || had.SHA256 == m.SHA256) && b.verify(ctx, had) == nil:
		if had.SHA256 != m.SHA256 && !sameSums(had, m) {
			return false, fmt.Errorf("%s/%s: %w", b.URL, m.Key(), ErrAnother)
		}
		*m = *had
		return true, nil
	case err != nil && !errors.Is(err, errNone) && !errors.Is(err, errNoManifest):
		return false, b.failed("read", m.Key(), err)
	}
	if _, err = content.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	if err := b.write(ctx, m.ObjectKey(), content); err != nil {
		return false, b.failed("upload", m.ObjectKey(), err)
	}
	if err := b.verify(ctx, m); err != nil {
		return false, b.failed("verify", m.ObjectKey(), err)
	}
	text, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return false, err
	}
	if err := b.write(ctx, m.Key(), bytes.NewReader(text)); err != nil {
		return false, b.failed("upload", m.Key(), err)
	}
	have, err := b.read(ctx, m.Key())
	if err == nil && !bytes.Equal(have, text) {
		err = ErrOther
	}
	return false, b.failed("verify", m.Key(), err)
}

// ErrAnother is the error of a record whose place another one has: a live directory was copied while its program ran.
var ErrAnother = errors.New("the store has a record of the same run that has counted otherwise: one of the two was " +
	"copied while the program ran; remove the copy, here or there")

// sameSums reports whether two manifests may be of records of the same counts. Those of older releases have no sums.
func sameSums(a, b *Manifest) bool {
	return a.Sums == nil || b.Sums == nil || maps.Equal(a.Sums, b.Sums)
}

// Clear removes what a record that is there takes the place of: what was uploaded of the run while it grew. Another
// agent may upload that at the same time, so what its manifest names stays until the run is whole; and who has uploaded
// a record that grows when the run was whole already removes it again. After an error some of it is left, which nobody
// reads.
func (b *Bucket) Clear(ctx context.Context, m *Manifest) error {
	if m.Kind != Growing && (m.Kind != Whole || !m.IDs) {
		return nil
	}
	was, whole := *m, *m
	was.Kind, whole.Kind = Growing, Whole
	ended := m.Kind == Whole
	if !ended {
		_, err := b.manifest(ctx, whole.Key())
		ended = err == nil
	}
	if ended {
		if err := b.blob.Delete(ctx, was.Key()); err != nil && !notThere(err) {
			return b.failed("remove", was.Key(), err)
		}
	}
	for it := b.blob.List(&blob.ListOptions{Prefix: m.dir() + string(Growing) + ".", BeforeList: checkLists}); ; {
		one, err := b.next(ctx, it)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return b.failed("list", m.dir(), err)
		}
		if !grown.MatchString(path.Base(one.Key)) || !ended && (one.Key == m.ObjectKey() ||
			time.Since(one.ModTime) < growingTime) {
			continue
		}
		if err := b.blob.Delete(ctx, one.Key); err != nil && !notThere(err) {
			return b.failed("remove", one.Key, err)
		}
	}
}

// grown is what a record that grows is called.
var grown = regexp.MustCompile(`^growing\.[0-9a-f]{16}\.stemma$`)

// Instead returns what has taken the place of a record that has gone while it was read: a later one of a run that
// grows, or the whole run. The error is that of a record that is not there.
func (b *Bucket) Instead(ctx context.Context, m *Manifest) (*Manifest, error) {
	if m.Kind == Growing {
		for _, kind := range []Kind{Whole, Growing} {
			of := *m
			of.Kind = kind
			now, err := b.manifest(ctx, of.Key())
			if err == nil && now.ObjectKey() != m.ObjectKey() {
				return now, nil
			}
			if err != nil && !errors.Is(err, errNone) {
				return nil, b.failed("read", of.Key(), err)
			}
		}
	}
	return nil, b.failed("read", m.ObjectKey(), errNone)
}

// Gone reports whether an error is that of a record that is not there.
func Gone(err error) bool { return errors.Is(err, errNone) }

// growingTime is how long ago a record that grows must have been uploaded to go when a later one has taken its place:
// somebody may have read its manifest.
const growingTime = 10 * time.Minute

// write writes an object. It appears when it is complete. In a directory it is on the disk when write returns: then
// whoever uploads a record may remove it.
func (b *Bucket) write(ctx context.Context, key string, from io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // an unfinished upload is given up
	kind := "application/octet-stream"
	if path.Ext(key) == ".json" {
		kind = "application/json"
	}
	if b.azure { // its writer panics if it is closed after an error
		return b.blob.Upload(ctx, key, from, &blob.WriterOptions{ContentType: kind})
	}
	var file *os.File // that is to become the object, if the bucket is a directory
	w, err := b.blob.NewWriter(ctx, key, &blob.WriterOptions{ContentType: kind,
		BeforeWrite: func(as func(any) bool) error { as(&file); return nil }})
	if err != nil {
		return err
	}
	_, err = io.Copy(w, from)
	if err == nil && file != nil {
		err = syncFile(file)
	}
	if err != nil {
		cancel()
		_ = w.Close() // it says that it was given up
		return err
	}
	if err := w.Close(); err != nil || file == nil {
		return err
	}
	return syncDirs(filepath.Dir(file.Name()), strings.Count(key, "/")+1)
}

// syncFile is a variable for the test, which sees what is synced.
var syncFile = (*os.File).Sync

// syncDirs syncs a directory, and those that it is in, n in all. Some file systems cannot, and need not.
func syncDirs(dir string, n int) error {
	for range n {
		f, err := os.Open(dir)
		if err != nil {
			return err
		}
		err = syncFile(f)
		f.Close()
		if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		dir = filepath.Dir(dir)
	}
	return nil
}
