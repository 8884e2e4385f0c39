package machine

import (
	"fmt"
	"os"
	"runtime"
)

// Emulators are the names of QEMU's emulators of user space, by GOARCH.
var Emulators = map[string]string{"amd64": "qemu-x86_64", "arm64": "qemu-aarch64", "riscv64": "qemu-riscv64"}

// Target makes what is built from now on be for an architecture, without C, and returns the flags by which the go
// command runs tests there: none on this machine's own.
func Target(arch string) (flags []string, err error) {
	if arch == runtime.GOARCH {
		return nil, nil
	}
	emulator := Emulators[arch]
	if emulator == "" {
		return nil, fmt.Errorf("-arch: no emulator is known for %q", arch)
	}
	os.Setenv("GOARCH", arch)
	os.Setenv("CGO_ENABLED", "0")
	return []string{"-exec=" + emulator}, nil
}
