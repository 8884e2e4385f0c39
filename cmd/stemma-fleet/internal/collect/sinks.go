package collect

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/sink"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/store"
)

// sink returns a sink as a destination.
func (a *Agent) sink(s *sink.Sink) *destination {
	d := newDestination(s.Name, "pushed", s.Identity)
	d.complete = func(mark string) bool {
		text, err := readMark(mark)
		return err == nil && bytes.HasSuffix(text, []byte(allDone))
	}
	d.put = func(ctx context.Context, it item, p *record.Record, m *bucket.Manifest) (bool, error) {
		mark, err := openProgress(d.markPath(it.path))
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return false, nil // another agent pushes it
		}
		if err != nil {
			d.notPushed.Add(1)
			return false, fmt.Errorf("%w: what is pushed is noted there, and is not pushed without", err)
		}
		defer mark.Close()
		if mark.complete {
			return true, nil // another agent has pushed it meanwhile
		}
		if m, err = mark.unit(m); err == nil {
			err = mark.decide(d.markPath(it.path), d.markPath(it.live), d.spans)
		}
		if err != nil {
			d.notPushed.Add(1)
			return false, err
		}
		if mark.begun {
			if d.settles(it.path, mark.size, s.Settle) {
				return false, nil // as if another agent still had it
			}
			if err := mark.write(oneBegun); err != nil {
				d.notPushed.Add(1)
				return false, err
			}
		}
		mark.refused = func(err error) {
			d.refused.Add(1)
			d.refusals.add(it.path)
			if a.once { // an agent that stays has no end for which to keep that
				d.allRefusals.add(it.path)
			}
			if mark.refusals == 1 {
				a.say("%s: refused by %s: %v; it is not pushed there again", it.path, s.Name, err)
			}
		}
		before := mark.parts
		if p.IDs == nil { // a record of context IDs has no counts
			err = s.Push(ctx, &sink.Unit{Manifest: m, Profile: p.Profile, Apart: mark.apart}, mark)
		}
		d.parts.Add(int64(mark.parts - before - mark.refusals))
		if err == nil {
			err = mark.write(allDone)
		}
		if err != nil {
			d.loose[it.path] = loose{mark.size, time.Now()}
			d.notPushed.Add(1)
			return false, fmt.Errorf("%s: %w", it.path, err)
		}
		if mark.accepted > 0 { // neither all was refused, nor is it a record without counts
			d.records++
			d.pushed.Add(1)
		}
		return true, nil
	}
	return d
}

// A progress is the mark of an item of a sink: a first line, two with the times of the item, one that says whether
// another item of the run has such a time, one for each part that is done, and a last one. Who goes on behind another
// one writes the first line once more.
type progress struct {
	file     *os.File
	size     int64
	parts    int
	accepted int // of the parts, by the sink
	begun    bool
	span
	decided, apart bool // see decide; former releases did not
	complete       bool
	refusals       int
	refused        func(error)
}

// A span is the times of an item, as whoever has begun to push it has found them; zero if they are not noted. Former
// releases did not note the first.
type span struct{ since, ended time.Time }

// Lines of the mark of a sink.
const (
	oneBegun   = "begun\n"
	oneSince   = "since " // and a time
	oneEnded   = "ended " // and a time
	oneAlone   = "alone\n"
	oneApart   = "apart\n"
	onePushed  = "pushed\n"
	oneRefused = "refused\n"
	allDone    = "complete\n"
)

// openProgress opens a mark, which one agent may have at a time. The lock goes with the process.
func openProgress(path string) (*progress, error) {
	f, err := openMark(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p := &progress{file: f}
	err = p.read(f)
	if info, e := f.Stat(); err == nil && e == nil && info.Size() < p.size { // the last line was not written to its end
		_, err = f.WriteString("\n")
	}
	if err == nil && !p.begun {
		err = p.write(oneBegun)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return p, nil
}

// read reads the lines of a mark.
func (p *progress) read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		p.begun = true
		p.size += int64(len(lines.Bytes())) + 1
		switch lines.Text() + "\n" {
		case onePushed:
			p.parts++
			p.accepted++
		case oneRefused:
			p.parts++
		case oneAlone, oneApart:
			if !p.decided {
				p.decided, p.apart = true, lines.Text()+"\n" == oneApart
			}
		case allDone:
			p.complete = true
		}
		noteTime(lines.Text(), oneSince, &p.since)
		noteTime(lines.Text(), oneEnded, &p.ended)
	}
	return lines.Err()
}

// noteTime takes the time of a line that begins with a prefix, unless there is one. A line that was not written to its
// end has none.
func noteTime(line, prefix string, at *time.Time) {
	if text, ok := strings.CutPrefix(line, prefix); ok && at.IsZero() {
		*at, _ = time.Parse(time.RFC3339Nano, text)
	}
}

// unit returns the manifest of what is pushed. An item has one end for all who push it, since its parts have their
// times from that: when a program without segments has ended is only guessed, by what each agent has seen of it.
func (p *progress) unit(m *bucket.Manifest) (*bucket.Manifest, error) {
	if p.ended.IsZero() {
		p.since, p.ended = m.Began, m.Ended
		return m, p.write(oneSince + m.Began.UTC().Format(time.RFC3339Nano) + "\n" +
			oneEnded + m.Ended.UTC().Format(time.RFC3339Nano) + "\n")
	}
	one := *m
	one.Ended = p.ended
	return &one, nil
}

// decide decides whether another item of the run has times of this one, as the clock was set back: they would be
// profiles of one series with one time, and a server keeps one of these. Whoever begins decides that, and it stays so.
// The times of this one are noted before, so that of two agents at least one sees those of the other. live is the mark
// of the live directory of the run, and known has the spans of marks that were read before, by name.
func (p *progress) decide(path, live string, known map[string]span) error {
	if p.decided || p.since.IsZero() { // a former release has begun it
		return nil
	}
	marks, err := openMarks(filepath.Dir(path), false)
	if err != nil {
		return err
	}
	defer marks.Close()
	list, err := marks.Names()
	if err != nil {
		return err
	}
	if len(known) > 2*len(list) { // most of the marks have gone
		clear(known)
	}
	for _, e := range list {
		name, run := e.Name(), e.Name()
		if segment, _, ok := store.SegmentOf(name); ok {
			run = segment
		}
		if name == filepath.Base(path) || run != filepath.Base(live) {
			continue
		}
		if _, ok := known[name]; !ok {
			other := new(progress)
			if f, err := marks.Open(name); err == nil {
				_ = other.read(f) // what cannot be read has pushed nothing
				f.Close()
			}
			if other.ended.IsZero() {
				continue
			}
			known[name] = other.span // as it stays
		}
		if p.overlaps(known[name]) {
			p.apart = true
			break
		}
	}
	p.decided = true
	if p.apart {
		return p.write(oneApart)
	}
	return p.write(oneAlone)
}

// overlaps reports whether two items have a time in common. One that follows another one has not, nor has one that has
// ended before it began: its parts have series of their own. Of one that a former release has begun the end is known.
func (p span) overlaps(q span) bool {
	in := func(t time.Time, p span) bool { return t.After(p.since) && !t.After(p.ended) }
	former := q.since.IsZero()
	if !p.ended.After(p.since) || !former && !q.ended.After(q.since) {
		return false
	}
	return in(q.ended, p) || !former && in(p.ended, q)
}

func (p *progress) write(line string) error {
	n, err := p.file.WriteString(line)
	p.size += int64(n)
	return err
}

// Close gives the lock back.
func (p *progress) Close() error { return p.file.Close() }

// Parts implements sink.Progress.
func (p *progress) Parts() int { return p.parts }

// Begun implements sink.Progress: whoever has begun may have pushed what is not noted.
func (p *progress) Begun() bool { return p.begun }

// Done implements sink.Progress.
func (p *progress) Done(refusal error) error {
	line := onePushed
	if refusal != nil {
		line = oneRefused
		p.refusals++
		p.refused(refusal)
	}
	if err := p.write(line); err != nil {
		return err
	}
	if p.parts++; refusal == nil {
		p.accepted++
	}
	return nil
}
