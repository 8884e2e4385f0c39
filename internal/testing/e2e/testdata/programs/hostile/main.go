// Program hostile does a known amount of work in places where programs have a hard time:
// package internal/testing/hostile makes them. Its argument says what else it does; its output and
// exit code are the same whether it is recorded or not.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	_ "unsafe"
)

// api is what an instrumented runtime provides.
//
//go:linkname api runtime.stemmaAPI2
var api *struct{ here func() (hi, lo, run uint64) }

// Each of these is called from two places, so that leaf has thousands of contexts: more than the
// first step of any file holds.

//go:noinline
func f0(n int) int { return f1(n) + f1(n+1) }

//go:noinline
func f1(n int) int { return f2(n) + f2(n+1) }

//go:noinline
func f2(n int) int { return f3(n) + f3(n+1) }

//go:noinline
func f3(n int) int { return f4(n) + f4(n+1) }

//go:noinline
func f4(n int) int { return f5(n) + f5(n+1) }

//go:noinline
func f5(n int) int { return f6(n) + f6(n+1) }

//go:noinline
func f6(n int) int { return f7(n) + f7(n+1) }

//go:noinline
func f7(n int) int { return f8(n) + f8(n+1) }

//go:noinline
func f8(n int) int { return f9(n) + f9(n+1) }

//go:noinline
func f9(n int) int { return f10(n) + f10(n+1) }

//go:noinline
func f10(n int) int { return f11(n) + f11(n+1) }

//go:noinline
func f11(n int) int { return leaf(n) + leaf(n+1) }

//go:noinline
func leaf(n int) int {
	capture()
	return n & 1
}

// recur has as many contexts for an engine that does not fold recursion.
//
//go:noinline
func recur(n int) int {
	if n == 0 {
		return leaf(0)
	}
	return recur(n-1) + recur(n-1)
}

func capture() {
	if api != nil {
		api.here()
	}
}

func more() { fmt.Println("more", f0(0), recur(12)) }

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

var actions = map[string]func(){
	"work": func() {},
	"busy": busy,
	"ever": func() { fmt.Println("ever", recur(20)) }, // three million contexts, if recursion is not folded
	"end":  func() { end() },
	"endless": func() {
		fmt.Println("ready")
		io.ReadAll(os.Stdin)
		end()
	},
	"procs": func() {
		runtime.GOMAXPROCS(16)
		done := make(chan int)
		for range 64 {
			go func() { done <- f8(1) }()
		}
		sum := 0
		for range 64 {
			sum += <-done
		}
		fmt.Println("goroutines", sum)
	},
	"files": func() { // until there are no more descriptors
		n := 0
		for {
			if _, err := syscall.Dup(1); err != nil {
				break
			}
			n++
		}
		fmt.Println("descriptors", n)
	},
	"lock": func() { // all memory
		const current, future = 1, 2
		check(syscall.Mlockall(current | future))
	},
	"user": func() { check(syscall.Setuid(65534)) },
	"wait": func() {
		fmt.Println("ready")
		io.ReadAll(os.Stdin)
	},
	"replace": func() {
		exe := os.Args[0]
		check(syscall.Exec(exe, []string{exe, "work"}, os.Environ()))
	},
	"child": func() { // whose environment is empty
		cmd := exec.Command(os.Args[0], "work")
		cmd.Env = []string{}
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		fmt.Printf("child %s %v\n", bytes.TrimSpace(out), err)
	},
	"fork":  fork,
	"users": users,
	"fill": func() { // the disk that the record is on
		f, err := os.Create(os.Getenv("FILL"))
		check(err)
		for _, size := range []int{1 << 16, 1 << 12} {
			for err = nil; err == nil; {
				_, err = f.Write(make([]byte, size))
			}
		}
		fmt.Println(strings.HasSuffix(err.Error(), "no space left on device"))
	},
}

// fork makes a child that goes on without exec, as C can. It may call functions that its parent
// has called, and others.
func fork() {
	r, w, err := os.Pipe()
	check(err)
	out := int(w.Fd())
	runtime.LockOSThread()
	// Not every architecture has fork.
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		check(errno)
	}
	if pid == 0 {
		// It may hang. Then it ends with its parent, which is killed.
		syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0)
		n := f0(0) + forked(3)
		syscall.Write(out, []byte{byte(n), byte(n >> 8)})
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	}
	w.Close()
	b, err := io.ReadAll(r)
	fmt.Println("forked", b, err)
	var status syscall.WaitStatus
	_, err = syscall.Wait4(int(pid), &status, 0, nil)
	fmt.Println("status", status, err)
}

// users starts a child in namespaces of its own, so that it has a copy of this process's memory until it becomes
// another program, and not the memory itself.
func users() {
	cmd := exec.Command("/bin/sh", "-c", "echo process $$")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Setpgid:     true,
	}
	out, err := cmd.CombinedOutput()
	fmt.Printf("child %q %v\n", out, err)
}

//go:noinline
func forked(n int) int {
	if n == 0 {
		return leaf(1)
	}
	return forked(n-1) + recur(3)
}

func main() {
	fmt.Println("begin", leaf(1))
	actions[os.Args[1]]()
	more()
	end()
}

// end ends the program, and lets the test know what the kernel counts.
func end() {
	if file := os.Getenv("STATUS"); file != "" {
		if b, err := os.ReadFile("/proc/self/status"); err == nil {
			os.WriteFile(file, b, 0o600)
		}
	}
	os.Exit(3)
}
