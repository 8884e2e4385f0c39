package e2e

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var arch = flag.String("arch", "",
	"build programs for this `ARCHITECTURE` and run them in QEMU's emulator of user space")

var compiler = flag.String("cc", "",
	"with -arch, the C `COMPILER` of programs with C in them, as aarch64-linux-gnu-gcc; without, they are skipped")

// emulators are the names of QEMU's emulators, by GOARCH.
var emulators = map[string]string{"arm64": "qemu-aarch64"}

// OnlyHost skips tests of what other architectures than that of this machine do not have, for a reason.
func OnlyHost(t *testing.T, reason string) {
	t.Helper()
	if *arch != "" {
		t.Skipf("-arch=%s: %s; run without -arch", *arch, reason)
	}
}

// Target returns a name that tests expect something by, as it is with -arch: behind the architecture.
func Target(name string) string { return *arch + name }

// Slowness is how many times as long programs take to start as on this machine.
func Slowness() time.Duration {
	if *arch != "" {
		return 10
	}
	return 1
}

// TargetEnv returns the environment of builds of the program in dir.
func TargetEnv(dir string) []string {
	switch {
	case *arch == "":
		return os.Environ()
	case *compiler != "" && usesC(dir):
		return append(os.Environ(), "GOARCH="+*arch, "CGO_ENABLED=1", "CC="+*compiler)
	}
	return append(os.Environ(), "GOARCH="+*arch, "CGO_ENABLED=0")
}

// needTarget skips tests of programs that another architecture needs a C compiler for.
func needTarget(t *testing.T, dir string, flags []string) {
	t.Helper()
	if slices.Contains(flags, "-buildmode=plugin") || *compiler == "" && usesC(dir) {
		OnlyHost(t, "it needs a C compiler for that, which -cc names")
	}
}

// scriptTarget returns the variables with which scripts build for another architecture. They run programs by their
// names, and test binaries and programs run others, so the kernel must know the emulator.
func scriptTarget(t *testing.T) []string {
	if *arch == "" {
		return nil
	}
	if _, err := os.Stat("/proc/sys/fs/binfmt_misc/" + emulators[*arch]); err != nil {
		t.Skipf("-arch=%s: scripts run programs by their names; run it by way of .ci/emulated", *arch)
	}
	if name, ok := strings.CutSuffix(*compiler, "-gcc"); ok {
		return []string{"GOARCH=" + *arch, "CGO_ENABLED=1", "CC=" + *compiler, "QEMU_LD_PREFIX=/usr/" + name}
	}
	return []string{"GOARCH=" + *arch, "CGO_ENABLED=0"}
}

// usesC reports whether the program in dir has C in it.
func usesC(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	return slices.ContainsFunc(files, func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && bytes.Contains(text, []byte("\nimport \"C\""))
	})
}

// targetCommand returns a command that runs an executable.
func targetCommand(ctx context.Context, exe string) *exec.Cmd {
	if *arch == "" {
		return exec.CommandContext(ctx, exe)
	}
	cmd := exec.CommandContext(ctx, emulators[*arch], exe)
	if name, ok := strings.CutSuffix(*compiler, "-gcc"); ok { // it has its libraries there
		cmd.Args = slices.Insert(cmd.Args, 1, "-L", "/usr/"+name)
	}
	return cmd
}

// programOf returns the executable that a command of targetCommand runs.
func programOf(cmd *exec.Cmd) string {
	if *arch == "" {
		return cmd.Path
	}
	if cmd.Args[1] == "-L" {
		return cmd.Args[3]
	}
	return cmd.Args[1]
}
