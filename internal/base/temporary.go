package base

import (
	"os"
	"os/signal"
	"regexp"
	"slices"
	"sync"
	"syscall"

	"github.com/stemma-go/stemma/internal/safefile"
)

// A Temporary is a directory below the temporary one that is removed when stemma is done with it, and also if a signal
// ends stemma before.
// What is left if it is killed is known by its name and by nobody's lock: stemma clean removes it.
type Temporary struct {
	*safefile.Dir
	lock *os.File
}

// TemporaryName matches the names of such directories.
var TemporaryName = regexp.MustCompile(`^stemma-(run|costs|compiled|overlay)[0-9]+$`)

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
	d := &Temporary{Dir: dir}
	if d.lock, err = dir.Root.Open("."); err == nil {
		_ = syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // where the file system knows locks
	}
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
	err := d.Dir.RemoveAll() // a signal waits until it has gone
	d.lock.Close()
	t.list = slices.DeleteFunc(t.list, func(other *Temporary) bool { return other == d })
	if len(t.list) == 0 && t.signals != nil {
		signal.Stop(t.signals)
		close(t.signals) // one that has come by now still ends the process
		t.signals = nil
	}
	return err
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

// WithoutPipe makes it an error to write to an output that nobody reads any more, until restore is called. Else the
// signal SIGPIPE ends stemma, half-way through what it has to tidy up. Children get the signal as usual.
func WithoutPipe() (restore func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGPIPE)
	return func() { signal.Stop(c) }
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
