// Package sink pushes what records have counted to servers of profiles.
//
// # Once
//
// Servers of profiles have no transactions: what is pushed twice may count twice. So a unit, which is a record, is
// pushed in parts, and each part that the server has acknowledged is noted before the next one. Equal records have
// equal parts, at equal times. When the pusher is killed between an acknowledgement and its note, or a connection
// breaks, nobody here knows whether that part is there: the server is asked before it is pushed again. One part comes
// twice where the server does not answer such questions; none is ever missing.
package sink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/server"
	"github.com/stemma-go/stemma/internal/export"
	"github.com/stemma-go/stemma/profile"
)

// A Unit is the record of a run, or of a segment of one, and what it is.
type Unit struct {
	*bucket.Manifest
	Profile *profile.Profile
	// Apart says that another unit of the run has times of this one, as the clock was set back.
	Apart bool
}

// A Sink is a server that profiles are pushed to.
type Sink struct {
	Name     string // where it is, without credentials
	Identity string // tells servers apart
	push     func(ctx context.Context, p *part) error
	limits   export.Limits
	// has reports whether a part is there. It is nil where nobody can ask that.
	has func(ctx context.Context, p *part) (bool, error)

	// Settle is how long the server may take to show a push that nobody waits for any more. loose is when there may
	// have been one last, in nanoseconds: before the sink was opened, or when a push failed.
	Settle time.Duration
	loose  atomic.Int64
}

// A part is one of the profiles of a unit.
type part struct {
	unit    *Unit
	profile *pprof.Profile
	sampled bool
	number  int       // from 0 on, of the unit's
	at      time.Time // in milliseconds; no other part of the unit has it, unless extra
	extra   bool      // it has a series of its own: others may have its time
}

// Open returns the sink that a text names: KIND=ADDRESS.
func Open(text string) (*Sink, error) {
	kind, address, ok := strings.Cut(text, "=")
	open := kinds[kind]
	if !ok || open == nil || address == "" {
		return nil, fmt.Errorf("-to=%s: want %s", redacted(text), Kinds)
	}
	s, err := open(address)
	if err != nil {
		return nil, fmt.Errorf("-to=%s: %w", kind, err)
	}
	s.loose.Store(time.Now().UnixNano())
	return s, nil
}

// redacted returns a text without what stands before an @ in it, which may be a password.
func redacted(text string) string {
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		return "…" + text[i:]
	}
	return text
}

// Kinds says what [Open] takes.
const Kinds = "pyroscope=http://HOST:PORT or otlp=http://HOST:PORT"

var kinds = map[string]func(address string) (*Sink, error){"pyroscope": openPyroscope, "otlp": openOTLP}

// A Refusal is the error of a part that the server will never take.
type Refusal struct{ err error }

func (r *Refusal) Error() string { return r.err.Error() }
func (r *Refusal) Unwrap() error { return r.err }

// Progress is what has been pushed of a unit.
type Progress interface {
	Parts() int // how many there were before
	// Begun reports whether the part behind those may have been pushed before.
	Begun() bool
	// Done notes that one more is done: pushed, or refused.
	Done(refusal error) error
}

// Push pushes the parts of a unit but those that were pushed before. An error may be tried again: the unit is not
// complete until there is none.
func (s *Sink) Push(ctx context.Context, u *Unit, before Progress) error {
	n, skip, begun := 0, before.Parts(), before.Begun()
	slots := newSlots(u.Began, u.Ended)
	for _, sampled := range []bool{false, true} {
		for out := range export.Parts(u.Profile, sampled, s.limits) {
			if n++; n <= skip {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err // what is begun is pushed, but no more
			}
			p := &part{unit: u, profile: out, sampled: sampled, number: n - 1}
			p.at, p.extra = slots.at(p.number)
			p.extra = p.extra || u.Apart
			err := s.pushPart(context.WithoutCancel(ctx), p, n == skip+1 && begun)
			refusal := new(Refusal)
			if err != nil && !errors.As(err, &refusal) {
				return fmt.Errorf("push to %s: %w", s.Name, err)
			}
			if err = before.Done(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// addLabels adds labels to those that a server has from here, under the names that rename makes of theirs; those
// without are left out. A name that is taken gets a number, always the same for the same labels: so no label gets lost,
// and none is there twice.
func addLabels(to, labels map[string]string, rename func(string) string) {
	keys := slices.SortedFunc(maps.Keys(labels), func(a, b string) int {
		if same := rename(a) == a; same != (rename(b) == b) { // who has the name already keeps it
			if same {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for _, key := range keys {
		name := rename(key)
		if name == "" {
			continue
		}
		free := name
		for n := 2; ; n++ {
			if _, taken := to[free]; !taken {
				break
			}
			free = fmt.Sprint(name, "_", n)
		}
		to[free] = strings.ToValidUTF8(labels[key], "?")
	}
}

// Bounds of one part: how often a server that is busy is asked again at once, and for how long it may take.
const (
	busyTimes = 6
	partTime  = time.Minute
)

// longestRest is for how long a server is left alone that asks for it. If that is too short the next attempt fails as
// well, and the agent rests.
const longestRest = 30 * time.Second

// pushPart pushes a part, and again if the server takes no more at the moment. What may be there, since it was pushed
// before, is not pushed if it is.
func (s *Sink) pushPart(ctx context.Context, p *part, before bool) error {
	for times := 0; ; times++ {
		err := s.pushOnce(ctx, p, before || times > 0)
		if !errors.Is(err, errBusy) || times == busyTimes {
			return err
		}
		wait := 250 * time.Millisecond << times
		wait = wait/2 + rand.N(wait)
		if answer := new(server.Error); errors.As(err, &answer) {
			wait = max(wait, min(answer.After, longestRest))
		}
		time.Sleep(wait)
	}
}

// pushOnce pushes a part, unless it is there.
func (s *Sink) pushOnce(ctx context.Context, p *part, before bool) error {
	ctx, cancel := context.WithTimeout(ctx, partTime)
	defer cancel()
	if before && s.has != nil {
		left := time.Until(time.Unix(0, s.loose.Load()).Add(s.Settle))
		time.Sleep(min(left, s.Settle)) // no longer if the clock was set back
		there, err := s.has(ctx, p)
		if answer := new(server.Error); errors.As(err, &answer) && answer.CannotTell() {
			err = nil
		}
		if there || err != nil {
			return err
		}
	}
	err := s.push(ctx, p)
	if err != nil && !errors.Is(err, errBusy) {
		s.loose.Store(time.Now().UnixNano())
	}
	return err
}

// errBusy is the error of a server that takes no more at the moment.
var errBusy = errors.New("it takes no more at the moment")

// Slots are every other millisecond of a unit, the last one first. Servers take profiles of one series at one
// millisecond for copies of one, and drop all but one: so each part has its own, and units that follow each other share
// none. Nobody has the one behind it, nor the first of a unit: whoever asks for what there is between two times gets
// that of both. Where there are none, and in a unit that has times of another one, each part has a series of its own.
type slots struct{ first, end int64 }

func newSlots(began, ended time.Time) slots { return slots{upToMilli(began), upToMilli(ended)} }

// upToMilli returns a time in milliseconds, rounded up.
func upToMilli(t time.Time) int64 {
	n := t.UnixMilli()
	if t.After(time.UnixMilli(n)) {
		n++
	}
	return n
}

// at returns the time of a part.
func (s slots) at(number int) (at time.Time, extra bool) {
	n := s.end - 1 - 2*int64(number)
	if extra = n <= s.first; extra {
		n = s.end - 1
	}
	return time.UnixMilli(n).UTC(), extra
}

// post posts a body to a server. The error says whether it may be tried again.
func post(ctx context.Context, s *server.Server, path, kind string, body io.Reader) ([]byte, error) {
	text, err := s.Post(ctx, path, kind, body, maxAnswer)
	return text, explain(err)
}

// explain returns the error of a request as one that says whether it may be tried again.
func explain(err error) error {
	answer := new(server.Error)
	if errors.As(err, &answer) {
		switch {
		case answer.Busy():
			return fmt.Errorf("%w: %w", errBusy, err)
		case answer.Refusal():
			return &Refusal{err}
		}
	}
	return err
}

// maxAnswer is how much of an answer is read.
const maxAnswer = 64 << 10
