// Unasked calls C, and is called back, on a thread that is ended by the kernel if it asks for its segment base; or, with
// a number in SET, on one whose base C has set to that.
package main

/*
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void back(void);

static void nop(void) {}
static void callBack(void) { back(); }

// forbid makes arch_prctl(ARCH_GET_GS) end the process, from this thread and those that it makes.
static int forbid(void) {
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 158, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x1004, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof filter / sizeof *filter, filter};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static long set(unsigned long base) { return syscall(SYS_arch_prctl, 0x1001, base); }
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
)

var backs int

//export back
func back() { backs++ }

func main() {
	runtime.LockOSThread() // others are made by a thread without the filter from here on
	C.nop()                // counts here, and is known to
	if base, err := strconv.ParseUint(os.Getenv("SET"), 0, 64); err == nil {
		if C.set(C.ulong(base)) != 0 {
			panic("a base that the kernel refuses")
		}
	} else if C.forbid() != 0 {
		fmt.Println("no filter")
		os.Exit(0)
	}
	for range 1000 {
		C.nop()
		C.callBack()
	}
	fmt.Println("called back", backs)
}
