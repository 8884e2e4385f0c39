// Package page shows a record in a browser: it answers what the page asks for, and serves the
// page.
//
// # Terminology
//
// A plot is a tree that is drawn: all contexts, those above or below a function, or the
// goroutines by what started them. A box is a node of it. What a page has no room for is a
// rest: so many contexts with so much of the value. Whatever is answered, what is shown and
// what is not drawn together are the total; nothing is left out.
//
// # Where it is pruned
//
// A record may have millions of contexts. A screen shows some thousands of them. So the page
// gets only what is on screen, see plot.prune, and asks again for what it zooms to. A
// file that is written once has answers to what it may ask, see Write.
package page

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/diff"
	"github.com/stemma-go/stemma/internal/record"
)

// Data is what is shown, as it was read at one time.
type Data struct {
	Title    string
	Records  []string // what was read, in words
	Programs []string // what was recorded, a line for each process
	Warnings []string // what is missing
	Record   *record.Record
	Base     *diff.Side // what to compare with, or nil
	Running  bool       // reading it again may show more
}

// A Decode finds out what an ID stands for.
type Decode func(ctxid.ID) (decode.Stack, error)

// Options say where data comes from.
type Options struct {
	Load   func() (*Data, error)                    // reads it, again while its program runs
	Decode Decode                                   // nil if there is no record of IDs
	Open   func(name string) (io.ReadCloser, error) // a file of source; nil: there is none
	// OpenPublic is Open for a page that somebody else is going to have.
	OpenPublic func(name string) (io.ReadCloser, error)
}

// A View answers questions about a record. It may be used by several goroutines.
type View struct {
	o Options

	mu      sync.Mutex // held while a question is answered: datasets are made when asked for
	m       *model
	work    *work
	loading bool
	loaded  time.Time     // when the last reading had ended
	took    time.Duration // how long it took
	failed  error         // of the last reading
}

// New reads the data for the first time.
func New(o Options) (*View, error) {
	v := &View{o: o, work: new(work)}
	begin := time.Now()
	data, err := o.Load()
	if err != nil {
		return nil, err
	}
	if v.m, err = newModel(data, &v.o, v.work); err != nil {
		return nil, err
	}
	v.m.generation = 1
	v.loaded, v.took = time.Now(), time.Since(begin)
	return v, nil
}

// Reading again takes at most a third of the time, so that a page that is left open does not
// compete with the program that it shows.
const (
	minReload    = time.Second
	reloadFactor = 2
)

// refresh begins to read the data again, if the program runs and that is due. Needs v.mu.
func (v *View) refresh() {
	if !v.m.data.Running || v.loading || time.Since(v.loaded) < max(minReload, reloadFactor*v.took) {
		return
	}
	v.loading = true
	go v.reload()
}

// reload reads the data again. Questions are answered from what was read before meanwhile.
func (v *View) reload() {
	begin := time.Now()
	data, err := v.o.Load()
	var m *model
	if err == nil {
		m, err = newModel(data, &v.o, v.work)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.loading, v.loaded, v.took, v.failed = false, time.Now(), time.Since(begin), err
	if err == nil {
		m.generation = v.m.generation + 1
		v.m = m
	}
}

// Answer returns the answer to a question of the page: a name, and arguments.
func (v *View) Answer(question string, args Args) (any, error) {
	if question == "work" { // while others are being answered
		return v.work.say(), nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	defer v.work.end()
	if question == "info" {
		v.refresh()
		return v.m.info(v.failed), nil
	}
	answer, ok := questions[question]
	if !ok {
		return nil, fmt.Errorf("no question %q", question)
	}
	return answer(v.m, args)
}

// questions are what can be asked beside info.
var questions = map[string]func(*model, Args) (any, error){
	"flame":     func(m *model, a Args) (any, error) { return m.flame(a) },
	"functions": func(m *model, a Args) (any, error) { return m.functions(a) },
	"source":    func(m *model, a Args) (any, error) { return m.source(a) },
	"context":   func(m *model, a Args) (any, error) { return m.context(a) },
	"epochs":    func(m *model, a Args) (any, error) { return m.epochs(), nil },
}
