// Package hostile runs a program in hostile places: full disks, dropped rights, limits, forks.
// Programs must behave there as plain Go programs do, and what was not recorded must be reported.
// There are few resources, refused system calls, processes of unusual origin and users with other
// rights.
//
// A place is made by steps that the test binary takes in a process of its own, in
// namespaces of its own, before it becomes the program. What a machine does not allow
// is skipped, with the reason.
package hostile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// A step makes the process's surroundings a little more hostile. It is one line of words.
type step = string

// steps are the kinds of steps, by their first words.
var steps = map[string]func(words []string) error{
	"limit":    limit,
	"refuse":   func(w []string) error { return filter(w, 0x00050000|uint32(syscall.EPERM)) },
	"forbid":   func(w []string) error { return filter(w, 0x80000000) }, // whoever makes the call is killed
	"hide":     func(w []string) error { return syscall.Mount("tmpfs", w[0], "tmpfs", syscall.MS_RDONLY, "") },
	"readonly": readonly,
	"cgroup":   cgroup,
	"close":    func(w []string) error { return syscall.Close(number(w[0])) },
}

// errSkip is why a step cannot be taken here.
var errSkip = errors.New("not on this machine")

// skipCode is the exit code of a process that could not take its steps.
const skipCode = 77

// become takes the steps and becomes the program. It returns only if that fails.
func become(list []step, args []string) error {
	runtime.LockOSThread() // filters of system calls are a thread's
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil && needsMounts(list) {
		return fmt.Errorf("mount: %w: %w", err, errSkip)
	}
	for _, s := range list {
		words := strings.Fields(s)
		if err := steps[words[0]](words[1:]); err != nil {
			return fmt.Errorf("%s: %w: %w", s, err, errSkip)
		}
	}
	return syscall.Exec(args[0], args, os.Environ())
}

func needsMounts(list []step) bool {
	for _, s := range list {
		switch strings.Fields(s)[0] {
		case "hide", "readonly":
			return true
		}
	}
	return false
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// limit NAME N sets a resource limit.
func limit(w []string) error {
	resources := map[string]int{"fsize": 1, "data": 2, "nofile": 7, "as": 9, "memlock": 8}
	n := uint64(number(w[1]))
	// Package syscall would put the limit of descriptors back before it executes a program.
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, uintptr(resources[w[0]]),
		uintptr(unsafe.Pointer(&[2]uint64{n, n})), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// readonly makes the root's file system read-only, with all that is on it.
func readonly([]string) error {
	if err := syscall.Mount("/", "/", "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return err
	}
	if err := syscall.Chroot("/"); err != nil {
		return err
	}
	return syscall.Mount("", "/", "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
}

// filter makes the kernel answer system calls, by their numbers, in a way of its own.
func filter(w []string, answer uint32) error {
	const load, equal, ret, allow = 0x20, 0x15, 0x06, 0x7fff0000
	prog := []syscall.SockFilter{{Code: load}}
	for i, nr := range w {
		prog = append(prog, syscall.SockFilter{Code: equal, K: uint32(number(nr)), Jt: uint8(len(w) - i)})
	}
	prog = append(prog, syscall.SockFilter{Code: ret, K: allow},
		syscall.SockFilter{Code: ret, K: answer})
	const setNoNewPrivs, setSeccomp, modeFilter = 38, 22, 2
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	arg := struct {
		n    uint16
		prog *syscall.SockFilter
	}{uint16(len(prog)), &prog[0]}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setSeccomp, modeFilter, uintptr(unsafe.Pointer(&arg)),
		0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// cgroup NAME BYTES moves the process into a group with little memory, which its parent has made.
func cgroup(w []string) error {
	return os.WriteFile(filepath.Join(w[0], "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
}

// newCgroup makes a group with little memory. It returns its directory.
func newCgroup(name string, bytes int) (dir string, err error) {
	for root, file := range map[string]string{"/sys/fs/cgroup": "memory.max",
		"/sys/fs/cgroup/memory": "memory.limit_in_bytes"} {
		dir = filepath.Join(root, name)
		if err = os.Mkdir(dir, 0o755); err != nil {
			continue
		}
		if err = os.WriteFile(filepath.Join(dir, file), []byte(strconv.Itoa(bytes)), 0); err == nil {
			return dir, nil
		}
		os.Remove(dir)
	}
	return "", err
}
