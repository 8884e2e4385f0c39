// Package onoff starts and stops sampling.
//
// A request ends only what requests have started.
package onoff

import (
	"sync"
	"sync/atomic"
	"time"
	_ "unsafe" // for go:linkname
)

// An API is what the runtime of a program provides that is built for sampling.
type API struct {
	Version  uint64 // Version
	Start    func(interval int64)
	Stop     func()
	Retrieve func()
	State    func() (active bool, interval int64)
	Dir      func() string
	Sample   func(id uint64)
	Labeled  func(id uint64, key, value string) int
}

// Version is the version of API that is known here.
const Version = 3

// InRuntime is nil in a program that is not built for sampling: the variable is the runtime's there, and is one of this
// package else.
//
//go:linkname InRuntime runtime.stemmaSamplingAPI
var InRuntime *API

// Runtime returns the API, nil if there is none that is known here.
func Runtime() *API {
	if InRuntime == nil || InRuntime.Version != Version {
		return nil
	}
	return InRuntime
}

// A Switch has the program and requests start and stop sampling. What the program does counts: sampling that a request
// has started is the program's once the program has started it as well.
type Switch struct {
	lock    sync.RWMutex  // a request has it alone, calls of the program share it
	changes atomic.Uint64 // by the program and by requests
	// Of the sampling that requests have started; under the lock.
	mine  uint64 // the change that started it
	users int
}

// Shared is the switch of the program.
var Shared Switch

// ByProgram has the program start or stop sampling.
func (s *Switch) ByProgram(change func()) {
	s.lock.RLock()
	defer s.lock.RUnlock()
	s.changes.Add(1)
	change()
}

// Begin starts sampling for a request, unless the program samples already. If the request must end it, number is not 0.
func (s *Switch) Begin(every time.Duration) (number uint64) {
	api := Runtime()
	if api == nil {
		return 0
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	active, _ := api.State()
	switch {
	case active && (s.users == 0 || s.changes.Load() != s.mine):
		return 0 // it is the program's
	case !active:
		api.Start(int64(every))
		s.mine, s.users = s.changes.Add(1), 0
	}
	s.users++
	return s.mine
}

// End stops what Begin has started under a number, if this was the last of its requests, and the program has not
// started or stopped anything since.
func (s *Switch) End(number uint64) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if number == 0 || number != s.mine {
		return
	}
	if s.users--; s.users == 0 && s.changes.Load() == s.mine {
		Runtime().Stop()
	}
}
