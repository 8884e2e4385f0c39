package toolchain

import (
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// progressAfter is how long something may take before it is told about.
const progressAfter = 2 * time.Second

// A Progress tells the user what takes time: on a terminal in one line that is
// kept up to date and goes away, elsewhere in one line at the start.
type Progress struct {
	w        io.Writer
	terminal bool
}

// NewProgress returns a Progress that writes to w.
func NewProgress(w io.Writer) *Progress {
	f, ok := w.(*os.File)
	return &Progress{w, ok && IsTerminal(f)}
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := foreground(f)
	return err == nil
}

// Foreground reports whether f is a terminal whose keys send signals to this
// process's group.
func Foreground(f *os.File) bool {
	group, err := foreground(f)
	return err == nil && group == syscall.Getpgrp()
}

// foreground asks a terminal for its foreground process group.
func foreground(f *os.File) (int, error) {
	var group int32
	// The system call writes to group, and nothing keeps the pointer.
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group)))
	if errno != 0 {
		return 0, errno
	}
	return int(group), nil
}

// line prints one line.
func (p *Progress) line(format string, args ...any) {
	fmt.Fprintf(p.w, "stemma: "+format+"\n", args...)
}

// start tells that something begins; the function that it returns, that it ended.
// Without a terminal nothing follows the line at the start: a log that stands
// still for a minute shall say why, and no more.
func (p *Progress) start(format string, args ...any) (stop func()) {
	if !p.terminal {
		p.line(format, args...)
		return func() {}
	}
	done, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		p.follow(done, fmt.Sprintf(format, args...))
	}()
	return func() {
		close(done)
		<-ended
	}
}

// follow shows what is going on, and for how long, until done.
// Something that is done within progressAfter leaves no trace. It owns the
// terminal line until it returns; nothing else may write to w meanwhile.
func (p *Progress) follow(done chan bool, what string) {
	const clear = "\r\x1b[K"
	began := time.Now()
	wait := time.After(progressAfter)
	for {
		select {
		case <-done:
			if time.Since(began) >= progressAfter {
				fmt.Fprint(p.w, clear)
			}
			return
		case <-wait:
			fmt.Fprintf(p.w, clear+"stemma: %s %d s", what, int(time.Since(began).Seconds()))
			wait = time.After(time.Second)
		}
	}
}

// Wait tells on a terminal, from two seconds on, that something goes on, until stop is called,
// for the first time. Elsewhere it says nothing.
func (p *Progress) Wait(what string) (stop func()) {
	if !p.terminal {
		return func() {}
	}
	return sync.OnceFunc(p.start("%s", what))
}
