package collect

import (
	"context"
	"os"
	"time"

	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/store"
)

// # Records that grow
//
// A record of context IDs has no segments. Who reads a log of a program that runs needs it before the program ends. So
// it is uploaded while it grows, and nobody keeps a mark of that. An agent that was started again uploads it once more.

// growEvery is how often at most a record that grows is uploaded. One that takes long has more time in between.
const (
	growEvery  = time.Minute
	growFactor = 20 // times what it took
)

// A growing is what an agent knows of a record that grows.
type growing struct {
	next time.Time // when it is uploaded again
	sum  string    // of what was uploaded last
}

// grow uploads the records of context IDs of programs that run, to the buckets that take anything.
func (a *Agent) grow(ctx context.Context, now time.Time) {
	for path, seen := range a.running {
		if ctx.Err() != nil {
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
		a.growOne(ctx, item{path: path, live: path, growing: true}, g)
		g.next = now.Add(max(a.growEvery, growFactor*time.Since(now)))
	}
	for path := range a.growing {
		if _, runs := a.running[path]; !runs {
			delete(a.growing, path)
		}
	}
}

// growOne uploads one of them.
func (a *Agent) growOne(ctx context.Context, it item, g *growing) {
	dir, err := a.open(it)
	if err != nil {
		a.unread(it, err)
		return
	}
	defer dir.Close()
	p, m, err := a.read(dir, it)
	if err != nil {
		a.unread(it, err)
		return
	}
	for _, d := range a.to {
		if d.bucket == nil || !d.goesOn() {
			continue
		}
		there, err := a.upload(ctx, d.bucket, it, p, m)
		if err != nil {
			d.err = err
			d.failures++
			continue
		}
		if !there {
			a.Numbers.grown.Add(1)
			a.Numbers.bytes.Add(m.Size)
		}
		if g.sum == "" {
			a.say("uploaded %s, %s, to %s: its program runs, so it is uploaded again when it has grown", it.path,
				humanize.Bytes(uint64(m.Size)), d.name)
		}
		g.sum = m.SHA256
		d.failures, d.times = 0, 0
	}
}
