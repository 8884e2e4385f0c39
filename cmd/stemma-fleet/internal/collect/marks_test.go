package collect

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket/buckettest"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/sink"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/sink/sinktest"
)

// TestMarksAreLinks has links where an agent keeps its marks: instead of .collected, of the directory of a
// destination, and of a mark. What they lead to is neither written, nor removed as an old mark, nor taken for one: the
// record is uploaded. It is pushed only where that can be noted.
func TestMarksAreLinks(t *testing.T) {
	for _, c := range []struct {
		name string
		sink bool
		link func(mark string) string // what is to be a link
		said string                   // of what is not noted
	}{
		{"store, .collected", false, func(mark string) string { return filepath.Dir(filepath.Dir(mark)) }, marksDir},
		{"store, destination", false, filepath.Dir, "no link"},
		{"store, mark", false, func(mark string) string { return mark }, ""},
		{"sink, .collected", true, func(mark string) string { return filepath.Dir(filepath.Dir(mark)) }, marksDir},
		{"sink, destination", true, filepath.Dir, "no link"},
		{"sink, mark", true, func(mark string) string { return mark }, "a.1-0a1b2c: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, outside := t.TempDir(), t.TempDir()
			path := filepath.Join(out, "a.1-0a1b2c")
			write(t, path, 1)
			b, server := new(buckettest.Memory), new(sinktest.Pyroscope)
			var sinks []*sink.Sink
			if c.sink {
				sinks = append(sinks, pyroscope(t, server))
			}
			a, log := agent(b, out, nil, sinks...)
			mark := a.to[len(sinks)].markPath(path)
			// It has what would be there if the link were followed: a mark, and old ones of records that have gone.
			old := time.Now().Add(-2 * markTime)
			link, files := c.link(mark), []string{"old", filepath.Join(filepath.Base(filepath.Dir(mark)), "old")}
			to := outside
			if link == mark {
				to = filepath.Join(outside, "old")
			}
			for _, name := range files {
				name = filepath.Join(outside, name)
				if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte("mine\n"+allDone), 0o666); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(name, old, old); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(filepath.Dir(link), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(to, link); err != nil {
				t.Fatal(err)
			}
			err := a.Once(context.Background())
			said := log.String()
			if c.sink && err != nil {
				said = err.Error()
			}
			if !strings.Contains(said, c.said) || (err != nil) != c.sink {
				t.Errorf("%v, said:\n%s", err, log)
			}
			if n := len(manifests(t, b)); n != 1 {
				t.Errorf("%d records in the store, want 1", n)
			}
			if list, _ := server.Profiles(); len(list) > 0 {
				t.Errorf("%d profiles were pushed", len(list))
			}
			for _, name := range files {
				text, err := os.ReadFile(filepath.Join(outside, name))
				if err != nil || string(text) != "mine\n"+allDone {
					t.Errorf("outside %s is %q, %v", name, text, err)
				}
			}
			entries, _ := filepath.Glob(filepath.Join(outside, "*", "*"))
			if len(entries) != 1 {
				t.Errorf("outside there is %q", entries)
			}
		})
	}
}

// TestMarksOfOthers has marks that another user has made, or could. The record is uploaded in spite of them, and is not
// removed before.
func TestMarksOfOthers(t *testing.T) {
	for _, depth := range []int{1, 2} {
		for what, plant := range map[string]func(dir string) error{
			"another user's": func(dir string) error { return os.Chown(dir, 1, 1) },
			"for all":        func(dir string) error { return os.Chmod(dir, 0o777) },
		} {
			if what == "another user's" && os.Geteuid() != 0 {
				continue // only root can give a directory away
			}
			out, b := t.TempDir(), new(buckettest.Memory)
			path := filepath.Join(out, "a.1-0a1b2c")
			write(t, path, 1)
			a, log := agent(b, out, func(o *Options) { o.Delete = true })
			mark := a.to[0].markPath(path)
			dir := filepath.Dir(mark)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(mark, []byte("mine\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if depth == 1 {
				dir = filepath.Dir(dir)
			}
			if err := plant(dir); err != nil {
				t.Fatal(err)
			}
			if err := a.Once(context.Background()); err != nil || len(manifests(t, b)) != 1 {
				t.Errorf("%s is %s: %v, %d records in the store\n%s", dir, what, err, len(manifests(t, b)), log)
			}
			if !strings.Contains(log.String(), dir+": ") {
				t.Errorf("%s is %s: said\n%s", dir, what, log)
			}
		}
	}
}

// TestMarksOfGroup has marks where a group may write, as on a volume that belongs to one. They hold.
func TestMarksOfGroup(t *testing.T) {
	out, b := t.TempDir(), new(buckettest.Memory)
	path := filepath.Join(out, "a.1-0a1b2c")
	write(t, path, 1)
	a, _ := agent(b, out, nil)
	if err := a.Once(context.Background()); err != nil {
		t.Fatal(err)
	}
	mark := a.to[0].markPath(path)
	for _, dir := range []string{filepath.Dir(filepath.Dir(mark)), filepath.Dir(mark)} {
		if err := os.Chmod(dir, 0o770); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := readMark(mark); err != nil || len(text) == 0 {
		t.Errorf("the mark is %q, %v", text, err)
	}
	again, log := agent(b, out, nil)
	if err := again.Once(context.Background()); err != nil || strings.Contains(log.String(), marksDir) {
		t.Errorf("%v\n%s", err, log)
	}
}
