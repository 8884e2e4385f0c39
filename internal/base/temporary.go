package base

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"github.com/stemma-go/stemma/internal/safefile"
)

// A Temporary is a directory below the temporary one that is removed when stemma is done with it, and also if a signal
// ends stemma before.
type Temporary struct {
	*safefile.Dir
}

// Interrupts are the signals that ask this process to end.
var Interrupts = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// temporaries are the directories that a signal removes.
var temporaries struct {
	sync.Mutex
	list    []*Temporary
	held    int // how many others look after signals now
	signals chan os.Signal
}

// MakeTemporary makes a directory as [os.MkdirTemp] does.
func MakeTemporary(pattern string) (*Temporary, error) {
	t := &temporaries
	t.Lock()
	defer t.Unlock()
	dir, err := safefile.MakeDir("", pattern)
	if err != nil {
		return nil, err
	}
	d := &Temporary{dir}
	if t.list = append(t.list, d); t.signals == nil {
		t.signals = make(chan os.Signal, 1)
		for _, s := range Interrupts {
			if !signal.Ignored(s) { // as under nohup
				signal.Notify(t.signals, s)
			}
		}
		go endBySignal(t.signals)
	}
	return d, nil
}

// RemoveAll removes the directory and closes it.
func (d *Temporary) RemoveAll() error {
	t := &temporaries
	t.Lock()
	defer t.Unlock()
	t.list = slices.DeleteFunc(t.list, func(other *Temporary) bool { return other == d })
	if len(t.list) == 0 && t.signals != nil {
		signal.Stop(t.signals)
		close(t.signals)
		t.signals = nil
	}
	return d.Dir.RemoveAll()
}

// HoldSignals leaves signals to the caller, a child say, until release is called.
func HoldSignals() (release func()) {
	t := &temporaries
	t.Lock()
	defer t.Unlock()
	t.held++
	return func() {
		t.Lock()
		defer t.Unlock()
		t.held--
	}
}

// endBySignal removes all directories when a signal comes that nobody else looks after, and ends the process by it, as
// whoever sent it expects.
func endBySignal(signals chan os.Signal) {
	t := &temporaries
	for s := range signals {
		t.Lock()
		if t.held > 0 {
			t.Unlock()
			continue
		}
		for _, d := range t.list {
			_ = d.Dir.RemoveAll() // there is nobody to tell
		}
		EndBy(s)
	}
}

// EndBy ends this process by a signal that it has caught.
func EndBy(s os.Signal) {
	signal.Reset(s)
	_ = syscall.Kill(os.Getpid(), s.(syscall.Signal))
	select {} // it may arrive a little later
}
