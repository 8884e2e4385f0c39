package stemma

import (
	"errors"
	_ "unsafe" // for go:linkname
)

// A recordingAPI is what the runtime of a program provides that records anything.
type recordingAPI struct {
	State      func() (dir, problem string)
	CountInuse func() bool
	Bypass     func(f func())
}

// recordingRuntime is nil in a normal build, for the reason that runtimeAPI gives.
//
//go:linkname recordingRuntime runtime.stemmaRecordingAPI2
var recordingRuntime *recordingAPI

// Recording returns the absolute name of the live directory that this process records
// into. stemma report, stemma decode and package profile read it at any time. If nothing
// is recorded, dir is "" and the error gives the reason for each directory that was tried,
// as the program did on standard error when it started. In a normal build both are zero.
//
// A directory belongs to one start of one process. It is made new each time, and its name
// cannot be known beforehand.
func Recording() (dir string, err error) {
	if recordingRuntime == nil {
		return "", nil
	}
	dir, problem := recordingRuntime.State()
	if dir == "" {
		return "", errors.New("stemma: nothing is recorded: " + problem)
	}
	return dir, nil
}

// ErrInuseNotRecorded is returned in a program whose reachable objects are not counted.
var ErrInuseNotRecorded = errors.New("stemma: the program is not built with -metrics=calls,alloc,inuse")

// CountInuse counts the objects that are reachable now, by the context that allocated each. The numbers, inuse_space
// and inuse_objects, replace those in the record. The end of the program counts them in any case.
//
// CountInuse runs a collection, and then stops the world for as long as it takes to look at all objects.
func CountInuse() error {
	if recordingRuntime == nil || !recordingRuntime.CountInuse() {
		return ErrInuseNotRecorded
	}
	return nil
}

// CountLive is the former name of [CountInuse], for one release.
//
// Deprecated: use CountInuse.
func CountLive() error { return CountInuse() }

// ErrNotLive is the former name of [ErrInuseNotRecorded], for one release.
//
// Deprecated: use ErrInuseNotRecorded.
var ErrNotLive = ErrInuseNotRecorded

// Bypass calls f. Where calls are counted (engine cct) the profile has nothing of f: neither what f calls, allocates or
// waits for, nor what the goroutines do that f starts, nor deferred functions that run because f panics. The call of
// Bypass is in it, and so are timers, finalizers and cleanups that f leaves. Builds with -verify or -record=calls have
// all of f, and so has a tree that is full. With engine cct+acct the samples have f. With other engines, and in a
// normal build, Bypass only calls f.
func Bypass(f func()) {
	if recordingRuntime == nil {
		f()
		return
	}
	recordingRuntime.Bypass(f)
}
