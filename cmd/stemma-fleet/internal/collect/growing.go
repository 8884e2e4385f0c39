package collect

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/safefile"
)

// # Records that grow
//
// Who reads a log of a program that runs needs its record of context IDs before that ends, or its segment does. So what
// decodes IDs is uploaded while it grows, without events, and nobody keeps a mark of that. An agent that was started
// again uploads it once more.

// growEvery is how often at most a record that grows is uploaded. One that takes long has more time in between.
const (
	growEvery  = time.Minute
	growFactor = 20 // times what it took
)

// A growing is what an agent knows of a record that grows.
type growing struct {
	next time.Time // when it is looked at again
	had  uint64    // what was uploaded last, as [ids.Grown] measures it; 0 for nothing
	err  error     // why it was not uploaded when that was tried last
	said string    // the last error that was said
}

// grow uploads the records of context IDs of programs that run, to the buckets that take anything.
func (a *Agent) grow(ctx context.Context, now time.Time) {
	for path := range a.growing {
		if _, runs := a.running[path]; !runs {
			delete(a.growing, path)
		}
	}
	takes := func(d *destination) bool { return d.bucket != nil && d.goesOn() }
	for path, seen := range a.running {
		if ctx.Err() != nil || !slices.ContainsFunc(a.to, takes) {
			return
		}
		g := a.growing[path]
		if seen != now || g != nil && now.Before(g.next) {
			continue
		}
		info, err := os.Lstat(path)
		if place, e := store.Probe(path); err != nil || e != nil || !place.IDs() || now.Sub(info.ModTime()) < settled {
			continue
		}
		if g == nil {
			g = new(growing)
			a.growing[path] = g
		}
		has, err := ids.Grown(safefile.Files(path))
		if err == nil && has == g.had {
			continue
		}
		if g.err = a.growOne(ctx, item{path: path, live: path, growing: true}, g.had == 0); g.err == nil {
			g.had = has
			g.next = now.Add(max(a.growEvery, growFactor*time.Since(now)))
		}
	}
}

// growOne uploads one of them. The error of a store is also its destination's.
func (a *Agent) growOne(ctx context.Context, it item, first bool) error {
	dir, err := a.open(it)
	if err != nil {
		return a.notGrown(it, err)
	}
	defer dir.Close()
	p, m, err := a.read(dir, it)
	if err != nil {
		return a.notGrown(it, err)
	}
	p.IDs.DropEvents()
	for _, d := range a.to {
		if d.bucket == nil || !d.goesOn() {
			continue
		}
		there, e := a.upload(ctx, d.bucket, it, p, m)
		if unread, ok := errors.AsType[*readError](e); ok {
			return a.notGrown(it, unread.error)
		}
		if e != nil {
			d.err, err = e, e
			d.failures++
			continue
		}
		if a.clear(ctx, d.bucket, m); !there {
			a.Numbers.grown.Add(1)
			a.Numbers.bytes.Add(m.Size)
		}
		if first {
			a.say("uploaded %s, %s, to %s: its program runs, so it is uploaded again when it has grown", it.path,
				humanize.Bytes(uint64(m.Size)), d.name)
		}
		d.failures, d.times = 0, 0
	}
	return err
}

// notGrown notes that a record cannot be read while its program runs. That is said once, and tried again: the program
// may be about to write what is missing. It is no failure of a record that has gone, or that is complete by now.
func (a *Agent) notGrown(it item, err error) error {
	g := a.growing[it.path]
	if passes(err) || gone(it.path) {
		return nil
	}
	if text := err.Error(); text != g.said {
		g.said = text
		a.Numbers.unreadable.Add(1)
		a.say("%v; its IDs cannot be decoded from the store yet, and it is tried again", err)
	}
	g.next = time.Now().Add(a.growEvery)
	return err
}
