package e2e

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// NeedKernel skips tests with -arch that run programs by their names, or programs that run others, unless the kernel
// knows the emulator.
func NeedKernel(t *testing.T, reason string) {
	t.Helper()
	if *arch == "" {
		return
	}
	if _, err := os.Stat("/proc/sys/fs/binfmt_misc/" + emulators[*arch]); err != nil {
		t.Skipf("-arch=%s: %s; run it by way of .ci/emulated", *arch, reason)
	}
}

// TargetEnv returns the environment of builds of the program in dir with these flags.
func TargetEnv(dir string, flags ...string) []string {
	switch {
	case *arch == "":
		return os.Environ()
	case *compiler != "" && usesC(dir, flags):
		return append(os.Environ(), "GOARCH="+*arch, "CGO_ENABLED=1", "CC="+*compiler)
	}
	return append(os.Environ(), "GOARCH="+*arch, "CGO_ENABLED=0")
}

// needTarget skips tests of programs that another architecture needs a C compiler for.
func needTarget(t *testing.T, dir string, flags []string) {
	t.Helper()
	if *compiler == "" && usesC(dir, flags) {
		OnlyHost(t, "it needs a C compiler for that, which -cc names")
	}
}

// scriptTarget returns the variables with which scripts build for another architecture. They run programs by their
// names, and test binaries and programs run others, so the kernel must know the emulator.
func scriptTarget(t *testing.T) []string {
	if *arch == "" {
		return nil
	}
	NeedKernel(t, "scripts run programs by their names")
	if libraries := targetLibraries(); libraries != nil {
		return append(libraries, "GOARCH="+*arch, "CGO_ENABLED=1", "CC="+*compiler)
	}
	return []string{"GOARCH=" + *arch, "CGO_ENABLED=0"}
}

// usingC is an import of C, or of what needs it.
var usingC = regexp.MustCompile(`(?m)^import "C"|^\s+"plugin"$`)

// usesC reports whether the program in dir, built with these flags, has C in it: plugins and what loads them do.
func usesC(dir string, flags []string) bool {
	if slices.Contains(flags, "-buildmode=plugin") {
		return true
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	return slices.ContainsFunc(files, func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && usingC.Match(text)
	})
}

// targetCommand returns a command that runs an executable.
func targetCommand(ctx context.Context, exe string) *exec.Cmd {
	if *arch == "" {
		return exec.CommandContext(ctx, exe)
	}
	return exec.CommandContext(ctx, emulators[*arch], exe)
}

// targetLibraries returns the variable by which the emulator finds the libraries of the C compiler, also for programs
// that what it runs starts.
func targetLibraries() []string {
	if name, ok := strings.CutSuffix(*compiler, "-gcc"); ok && *arch != "" {
		return []string{"QEMU_LD_PREFIX=/usr/" + name}
	}
	return nil
}

// programOf returns the executable that a command of targetCommand runs.
func programOf(cmd *exec.Cmd) string {
	if *arch == "" {
		return cmd.Path
	}
	return cmd.Args[1]
}
