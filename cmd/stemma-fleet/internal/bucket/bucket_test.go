package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket/buckettest"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/patience"
)

// TestMain sets what the client of Azure reads once.
func TestMain(m *testing.M) {
	os.Setenv("AZURE_STORAGE_ACCOUNT", "test")
	os.Setenv("AZURE_STORAGE_KEY", "dGVzdA==")
	os.Exit(m.Run())
}

// manifest returns one of a run.
func manifest(run string) *bucket.Manifest {
	now := time.Now()
	return &bucket.Manifest{Service: "srv", Host: "h", Run: run, Kind: bucket.Whole, Began: now.Add(-time.Hour),
		Ended: now}
}

const run, otherRun = "0000000000000001", "0000000000000002"

// put uploads a record.
func put(b *bucket.Bucket, run, content string) error {
	_, err := b.Put(context.Background(), manifest(run), strings.NewReader(content))
	return err
}

// TestIdentity has URLs of stores that are another one, although they are shown alike, and of the same one.
func TestIdentity(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	open := func(url string) *bucket.Bucket {
		b, err := bucket.Open(context.Background(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b
	}
	one := open("s3://b/p?region=r&endpoint=http://one")
	other, same := open("s3://b/p?region=r&endpoint=http://two"), open("s3://b/p/?endpoint=http://one&region=r")
	if one.URL != other.URL || one.Identity == other.Identity || one.Identity != same.Identity {
		t.Errorf("%q is shown as %q; others are %q and %q", one.Identity, one.URL, other.Identity, same.Identity)
	}
	dir := t.TempDir()
	t.Setenv("AWS_ENDPOINT_URL", "http://one")
	one, same = open("s3://b?region=r"), open("s3://b?region=r")
	t.Setenv("AWS_ENDPOINT_URL", "http://two")
	other = open("s3://b?region=r")
	if one.Identity == other.Identity || one.Identity != same.Identity {
		t.Errorf("servers that variables name are %q, %q and %q", one.Identity, other.Identity, same.Identity)
	}
	const account = "https://test.blob.core.windows.net/"
	if one = open("azblob://b/p"); !strings.Contains(one.Identity, account) {
		t.Errorf("%q does not name the account %q", one.Identity, account)
	}
	one, other, same = open("file://"+dir+"/a"), open("file://"+dir+"/b"), open("file://"+dir+"/b/../a")
	if one.Identity == other.Identity || one.Identity != same.Identity {
		t.Errorf("directories are %q, %q and %q", one.Identity, other.Identity, same.Identity)
	}
}

// TestOnDisk has a directory sync what is uploaded, and the directories on the way to it, before Put returns: then the
// record may be removed, and the machine may lose its power. What is synced before the manifest is the record.
func TestOnDisk(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := bucket.Open(context.Background(), "file://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var synced []string
	defer bucket.OnSync(func(name string) {
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			rel = fmt.Sprint("a file of ", info.Size(), " bytes in ", filepath.Dir(rel))
		}
		synced = append(synced, rel)
	})()
	const content = "a record"
	if err := put(b, run, content); err != nil {
		t.Fatal(err)
	}
	const at = "srv/h/" + run
	manifest, err := os.Stat(filepath.Join(dir, at, "whole.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, size := range []int64{int64(len(content)), manifest.Size()} {
		want = append(want, fmt.Sprint("a file of ", size, " bytes in ", at), at, "srv/h", "srv", ".")
	}
	if !slices.Equal(synced, want) {
		t.Errorf("synced %q, want %q", synced, want)
	}
}

// TestTidy has files in a directory that are called as those of uploads that were killed. Those of the host go if they
// are old; others stay, and so do objects, and files that are called otherwise.
func TestTidy(t *testing.T) {
	dir := t.TempDir()
	b, err := bucket.Open(context.Background(), "file://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := put(b, run, "a record"); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "srv", "h", run, "*"))
	if err != nil || len(names) != 2 {
		t.Fatalf("%q, %v", names, err)
	}
	now, old := time.Now(), time.Now().Add(-25*time.Hour)
	stays := map[string]time.Time{}
	goes := []string{"srv/h/" + run + "/000012.json.18af3.tmp"}
	for _, name := range names {
		name, _ = filepath.Rel(dir, name)
		stays[name] = old
		goes = append(goes, name+".18af3c4d5e6f7a8b.tmp")
		stays[name+".18af3c4d5e6f7a8c.tmp"] = now
		stays[strings.Replace(name, "/h/", "/other/", 1)+".18af3c4d5e6f7a8b.tmp"] = old
		stays["srv/h/"+filepath.Base(name)+".18af3c4d5e6f7a8b.tmp"] = old
	}
	for _, name := range []string{"notes.tmp", "whole.json.tmp", "whole.json.18af3.tmp.bak", "a.json.18af3.tmp"} {
		stays["srv/h/"+run+"/"+name] = old
	}
	make := func(name string, at time.Time) {
		name = filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(name), 0o777)
		if _, there := os.Stat(name); err == nil && there != nil {
			err = os.WriteFile(name, []byte("half"), 0o666)
		}
		if err = errors.Join(err, os.Chtimes(name, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	for name, at := range stays {
		make(name, at)
	}
	for _, name := range goes {
		make(name, old)
	}
	if n, err := b.Tidy(context.Background(), "h"); err != nil || n != len(goes) {
		t.Errorf("%d files were removed, %v; want %d", n, err, len(goes))
	}
	for _, name := range goes {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	for name := range stays {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	none := bucket.New(new(buckettest.Memory).Bucket(), "mem://")
	if n, err := none.Tidy(context.Background(), "h"); n != 0 || err != nil {
		t.Errorf("%d, %v of a store that is no directory", n, err)
	}
}

// TestManifestInTheWay has something at the key of a manifest. What is none is replaced; what a later release wrote, or
// what cannot be read at the moment, is not.
func TestManifestInTheWay(t *testing.T) {
	key := manifest(run).Key()
	for name, c := range map[string]struct {
		there string
		away  bool // the store does not let it be read
		want  string
	}{
		"none":  {"no manifest", false, ""},
		"later": {`{"format": 2}`, false, "later stemma-fleet"},
		"away":  {"no manifest", true, "away"},
	} {
		away := false
		m := &buckettest.Memory{Fail: func(op, k string) error {
			if away && op == "get" && k == key {
				return errors.New("away")
			}
			return nil
		}}
		b := bucket.New(m.Bucket(), "mem://")
		if err := put(b, run, "the record"); err != nil {
			t.Fatal(err)
		}
		m.Change(key, func([]byte) []byte { return []byte(c.there) })
		away = c.away
		err := put(b, run, "the record")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if kept := string(m.Content(key)) == c.there; kept != (c.want != "") {
			t.Errorf("%s: what was there is kept is %v", name, kept)
		}
	}
}

// TestClockSetBack has a segment in which the clock was set back by an hour. Whoever divides all time at some moment,
// as a comparison with what was before does, finds it on one side at least.
func TestClockSetBack(t *testing.T) {
	m := manifest(run)
	m.Ended = m.Began.Add(-time.Hour)
	for at := m.Ended.Add(-time.Minute); at.Before(m.Began.Add(time.Hour)); at = at.Add(10 * time.Minute) {
		before, after := bucket.Query{Until: at}, bucket.Query{Since: at}
		if !before.Has(m) && !after.Has(m) {
			t.Errorf("a segment from %v to %v is neither before nor after %v", m.Began, m.Ended, at)
		}
	}
}

// TestListed has manifests that go while they are listed, that are none, and that a later release wrote.
func TestListed(t *testing.T) {
	gone := false
	key := manifest(run).Key()
	var m *buckettest.Memory
	m = &buckettest.Memory{Fail: func(op, k string) error {
		if gone && op == "get" && k == key {
			m.Change(key, func([]byte) []byte { return nil })
		}
		return nil
	}}
	b := bucket.New(m.Bucket(), "mem://")
	for _, r := range []string{run, otherRun} {
		if err := put(b, r, "record "+r); err != nil {
			t.Fatal(err)
		}
	}
	list := func() (n, bad int, err error) {
		found, err := b.List(context.Background(), new(bucket.Query), func(error) { bad++ })
		return len(found), bad, err
	}
	for _, c := range []struct {
		there     string
		n, bad    int
		fails     bool
		disappear bool
	}{{"no manifest", 1, 1, false, false}, {`{"format": 2}`, 0, 0, true, false}, {"x", 1, 0, false, true},
		{`{"Resources": {}}`, 1, 1, false, false}, // of somebody else
		{`<?xml version="1.0"?><Error><Code>InternalError</Code></Error>`, 0, 0, true, false},
		{"\n<html>Please sign in", 0, 0, true, false}} {
		m.Change(key, func([]byte) []byte { return []byte(c.there) })
		gone = c.disappear
		if n, bad, err := list(); n != c.n && !c.fails || bad != c.bad || (err != nil) != c.fails {
			t.Errorf("%q: %d found, %d bad, %v", c.there, n, bad, err)
		}
	}
}

// TestListAtOnce has a store that answers when eight manifests are asked for: so they are read at once, and come in the
// order of their keys. Of an error of the store nobody waits for the rest.
func TestListAtOnce(t *testing.T) {
	var mu sync.Mutex
	var waiting int
	enough := make(chan bool)
	listing, broken := false, false
	m := &buckettest.Memory{Fail: func(op, key string) error {
		if !listing || op != "get" || !strings.HasSuffix(key, ".json") {
			return nil
		}
		mu.Lock()
		if waiting++; waiting == 8 {
			close(enough)
		}
		mu.Unlock()
		select {
		case <-enough:
		case <-time.After(30 * time.Second):
			t.Error("eight manifests are not read at once")
		}
		if broken {
			return errors.New("away")
		}
		return nil
	}}
	b := bucket.New(m.Bucket(), "mem://")
	for i := range 100 {
		one := manifest(fmt.Sprintf("%016x", i+1))
		if _, err := b.Put(context.Background(), one, strings.NewReader("record")); err != nil {
			t.Fatal(err)
		}
	}
	listing = true
	list, err := b.List(context.Background(), new(bucket.Query), func(err error) { t.Error(err) })
	if err != nil || len(list) != 100 {
		t.Fatalf("%d, %v", len(list), err)
	}
	for i, one := range list {
		if want := fmt.Sprintf("%016x", i+1); one.Run != want {
			t.Errorf("%d is of run %s, want %s", i, one.Run, want)
		}
	}
	broken = true
	if _, err := b.List(context.Background(), new(bucket.Query), func(error) {}); err == nil ||
		!strings.Contains(err.Error(), "away") {
		t.Errorf("with a store that is away: %v", err)
	}
}

// TestGetOther has a store that keeps fewer or more bytes than it got: nothing of them is written.
func TestGetOther(t *testing.T) {
	m := new(buckettest.Memory)
	b := bucket.New(m.Bucket(), "mem://")
	if err := put(b, run, "the record"); err != nil {
		t.Fatal(err)
	}
	list, err := b.List(context.Background(), new(bucket.Query), func(err error) { t.Error(err) })
	if err != nil || len(list) != 1 {
		t.Fatalf("%d, %v", len(list), err)
	}
	for _, lie := range []string{"", "the recor", "the record and more"} {
		m.Change(list[0].ObjectKey(), func([]byte) []byte { return []byte(lie) })
		var out bytes.Buffer
		if err := b.Get(context.Background(), list[0], &out); !errors.Is(err, bucket.ErrOther) || out.Len() > 0 {
			t.Errorf("%q: %v, and %q is written", lie, err, out.String())
		}
	}
}

// halfRead is read once, for its checksum. The second time it fails.
type halfRead struct {
	*strings.Reader
	again bool
}

func (h *halfRead) Seek(offset int64, whence int) (int64, error) {
	h.again = true
	return h.Reader.Seek(offset, whence)
}

func (h *halfRead) Read(p []byte) (int, error) {
	if h.again {
		return 0, errors.New("no more")
	}
	return h.Reader.Read(p)
}

func (h *halfRead) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, struct{ io.Reader }{h}) }

// TestUnfinished has an upload that is given up: the error says why, and not that it was given up.
func TestUnfinished(t *testing.T) {
	b, err := bucket.Open(context.Background(), "file://"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, err = b.Put(context.Background(), &bucket.Manifest{Run: "0123456789abcdef", Kind: bucket.Whole},
		&halfRead{Reader: strings.NewReader("record")})
	if err == nil || !strings.HasSuffix(err.Error(), "no more") || strings.Contains(err.Error(), "cancel") {
		t.Errorf("have %v", err)
	}
}

// TestNoChecksums has a server of S3 that knows no checksums: records have their own, and nothing is said.
func TestNoChecksums(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "no manifest")
	}))
	defer server.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	said, stderr := filepath.Join(t.TempDir(), "stderr"), os.Stderr
	var err error
	if os.Stderr, err = os.Create(said); err != nil {
		t.Fatal(err)
	}
	b, err := bucket.Open(context.Background(), "s3://b?region=us-east-1&use_path_style=true&endpoint="+server.URL)
	if err == nil {
		err = b.Get(context.Background(), manifest(run), io.Discard)
		b.Close()
	}
	os.Stderr.Close()
	os.Stderr = stderr
	if !errors.Is(err, bucket.ErrOther) {
		t.Error(err)
	}
	if text, err := os.ReadFile(said); err != nil || len(text) > 0 {
		t.Errorf("said %q, %v", text, err)
	}
}

// TestNoList has servers that answer a question for the list of a bucket with a success, and with no list, or not all
// of one: each is an error, and no empty bucket. An empty one has a list.
func TestNoList(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	const xml, none = `<?xml version="1.0"?>`, "no bucket"
	for text, want := range map[string]string{
		"":                     none,
		"{}":                   none,
		"<html>Sign in</html>": none,
		xml + "<Error><Code>InternalError</Code></Error>":                                          none,
		xml + "<ListBucketResult><Name>b</Name><IsTruncated>true</IsTruncated></ListBucketResult>": "more pages",
		xml + "<ListBucketResult><Name>b</Name></ListBucketResult>":                                "",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, text)
		}))
		b, err := bucket.Open(context.Background(), "s3://b?region=r&use_path_style=true&endpoint="+server.URL)
		if err != nil {
			t.Fatal(err)
		}
		list, err := b.List(context.Background(), new(bucket.Query), func(err error) { t.Error(err) })
		if len(list) > 0 || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %d records, %v; want %q", text, len(list), err, want)
		}
		b.Close()
		server.Close()
	}
}

// TestOpen has URLs that mean nothing, and what may be a password in them, which no message has.
func TestOpen(t *testing.T) {
	for url, want := range map[string]string{
		"s3://key:secret@b":     "AWS_SECRET_ACCESS_KEY",
		"s3://key:%secret@b":    "no URL",
		"s3://key:1/secret@b:x": "no URL",
		"key:secret@b":          "no URL",
		"b/p":                   "-store=b/p: no URL",
		"ftp://b":               "ftp",
		"gs://key:secret@b":     "GOOGLE_APPLICATION_CREDENTIALS",
		"azblob://k:secret@b":   "AZURE_STORAGE_KEY",
		"file:///dev/null?":     "-store=file:///dev/null: ",
	} {
		if _, err := bucket.Open(context.Background(), url); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
}

// TestOpenThere has a directory that is not there: who reads gets an error and makes none, who uploads makes it.
func TestOpenThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	if _, err := bucket.OpenThere(context.Background(), "file://"+dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("to read: %v, want that it does not exist", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after that: %v, want no directory", err)
	}
	for _, open := range []func(context.Context, string) (*bucket.Bucket, error){bucket.Open, bucket.OpenThere} {
		b, err := open(context.Background(), "file://"+dir)
		if err != nil {
			t.Fatal(err)
		}
		b.Close()
	}
}

// TestSilent has a store that does not answer: when it lists, of a manifest, and of a record.
func TestSilent(t *testing.T) {
	for _, silent := range []string{"list", ".json", ".stemma"} {
		synctest.Test(t, func(t *testing.T) {
			stuck := false
			m := &buckettest.Memory{Stuck: func(op, key string) bool {
				return stuck && (op == silent || strings.HasSuffix(key, silent))
			}}
			b := bucket.New(m.Bucket(), "mem://")
			if err := put(b, run, "record"); err != nil {
				t.Fatal(err)
			}
			stuck = true
			list, err := b.List(t.Context(), new(bucket.Query), func(err error) { t.Error(err) })
			if silent == ".stemma" && err == nil {
				err = b.Get(t.Context(), list[0], io.Discard)
			}
			if !errors.Is(err, patience.ErrSilent) {
				t.Errorf("%s: %v, want an error", silent, err)
			}
		})
	}
}

// TestRemedy has what the client of S3 lacks, which it does not say how to give it.
func TestRemedy(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID",
		"AWS_SECRET_ACCESS_KEY", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
		"AWS_WEB_IDENTITY_TOKEN_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	lists := func(url, want string) {
		t.Helper()
		b, err := bucket.Open(context.Background(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		_, err = b.List(context.Background(), new(bucket.Query), nil)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: have %v, want %q at the end", url, err, want)
		}
	}
	lists("s3://b/p?region=r&endpoint=http://127.0.0.1:1",
		"; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	lists("s3://bucket/p", "; set AWS_REGION, or append ?region=NAME to the URL")
}
