// Package events adds up and prints the events that programs recorded.
package events

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/command/decode"
	"github.com/stemma-go/stemma/internal/command/outside"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/store"
)

// Load reads what load reads. Profiles without context IDs are left out, but there
// must be one with them.
func Load(paths []string) (*store.Records, error) {
	r, err := store.LoadEvents(paths)
	if err != nil {
		return nil, err
	}
	r.Profiles = slices.DeleteFunc(r.Profiles, func(p *record.Record) bool { return p.IDs == nil })
	if len(r.Profiles) == 0 {
		return nil, store.In(r.Sources[0].Path, decode.ErrNoContexts)
	}
	return r, nil
}

// Options are the flags of events. by and format hold one of the words that
// check knows; kinds are separated by commas, none stands for all.
type Options struct {
	Kinds, By, Format    string
	Top                  int
	JSON, Log, Histogram bool
	Fingerprint          bool // contexts count by their fingerprints
	Store                outside.Store
}

// ShowSums prints the events of all processes, added up, and beside JSON what is missing to warnings.
func ShowSums(w, warnings io.Writer, rec *store.Records, o *Options) error {
	t, err := addEvents(rec, o)
	if err != nil {
		return err
	}
	for _, p := range rec.Profiles {
		t.spilt += p.IDs.EventsSpilt
	}
	return t.print(w, warnings, o)
}

// shortLine leaves out the outer frames of a long line but for the root. Sums are
// made by whole stacks, so that two of them may look the same.
func shortLine(line string) string {
	const arrow = " ←"
	at := 0
	for range decode.ShortFrames {
		i := strings.Index(line[at:], arrow)
		if i < 0 {
			return line
		}
		at += i + len(arrow)
	}
	at -= len(arrow)
	root := strings.LastIndex(line, arrow)
	if left := strings.Count(line[at:root], arrow); left > 1 {
		return line[:at] + fmt.Sprintf(" ← %d more", left) + line[root:]
	}
	return line
}
