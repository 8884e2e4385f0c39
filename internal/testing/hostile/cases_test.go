package hostile

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/record"
)

// System calls that filters refuse, as the kernel numbers them on amd64.
const (
	sysFtruncate = "77"
	sysOpenat    = "257"
	sysMkdirat   = "258"
	sysFallocate = "285"

	sysSetpriority  = "141"
	sysSchedSetattr = "314"
)

func here(*place) {}

// cases are the hostile places. The order is that of issue parts: processes, limits, security.
var cases = []hard{
	{name: "nothing special", action: "work", place: here},

	{name: "little work", action: "end", place: memory, check: little},
	{name: "killed after little work", action: "endless", place: killed, check: little},

	{name: "ever new contexts", action: "ever", place: here, maybe: true, lost: true, check: manyContexts,
		says: `^stemma: 2097152 contexts are on record .*; the newest are calls in main\.recur \(\d+ %\)` +
			`.*; beyond 4194304, calls are counted by function only; build with -nodes=N`},

	{name: "working directory", action: "work",
		place: func(p *place) { p.out = ""; p.env = []string{"STEMMA_OUT="} }, check: ignored},
	{name: "replace itself", action: "replace", place: here, runs: 2},
	{name: "child without environment", action: "child", place: here, runs: 2, check: childRecords},
	{name: "copied without what lies beside it", action: "work", place: copied, maybe: true,
		says: `^stemma: .*/hostile.warm: no such file; without it calls take longer: `},
	// A child has one thread, and locks that another one of its parent's held at the fork.
	{name: "fork without exec", action: "fork", place: here, maybe: true, hangs: true,
		says:  `^stemma: nothing is recorded of process \d+: it was forked by a process that is recorded`,
		check: forkRecords},
	{name: "child with users of its own", action: "users", place: here},
	{name: "replicas with one process ID", action: "work", place: replicas, runs: 2},
	{name: "killed", action: "wait", place: killed},

	{name: "files of no size", action: "work", place: taking("limit fsize 4096"), says: nothing + "ulimit -f"},
	{name: "files of some size", action: "work", place: taking("limit fsize 70000"), says: notAll + ".*ulimit -f",
		maybe: true},
	{name: "few addresses", action: "procs", place: taking("limit as 2147483648"), maybe: true,
		says: notAll + "cannot allocate memory"},
	{name: "very few addresses", action: "procs", place: taking("limit as 1600000000"), maybe: true, says: notAll,
		lost: true},
	{name: "little data", action: "procs", place: taking("limit data 200000000"), maybe: true,
		says: notAll + "cannot allocate memory"},
	{name: "no descriptors", action: "work", place: taking("limit nofile 3"), says: nothing + "too many open files"},
	{name: "few descriptors", action: "files", place: taking("limit nofile 40"),
		says: notAll + "too many open files", maybe: true},
	{name: "locked memory", action: "lock", place: memory, check: resident},
	{name: "no openat", action: "work", place: taking("refuse " + sysOpenat),
		says: nothing + "operation not permitted"},
	{name: "no mkdirat", action: "work", place: taking("refuse " + sysMkdirat),
		says: nothing + "operation not permitted"},
	{name: "no fallocate", action: "work", place: taking("refuse " + sysFallocate)},
	{name: "no ftruncate", action: "procs", place: taking("refuse " + sysFtruncate + " " + sysFallocate)},
	{name: "small cgroup", action: "work", place: smallCgroup},
	{name: "read-only root", action: "work", place: taking("readonly"), says: nothing + "read-only file system"},
	{name: "no proc", action: "work", place: taking("hide /proc")},
	{name: "no temporary directory", action: "work", says: nothing + "not a directory.*no such file",
		place: func(p *place) {
			p.out, p.tmp = "/dev/null", filepath.Join(p.dir, "none")
		}},
	{name: "disk without room", action: "work", place: diskOf(0), says: elsewhere + ".*no space left on device"},
	{name: "small disk", action: "work", place: diskOf(300 << 10), says: notAll + "no space left on device",
		maybe: true},
	{name: "disk that fills", action: "fill", says: notAll + "no space left on device", maybe: true,
		place: func(p *place) {
			diskOf(4 << 20)(p)
			p.env = append(p.env, "FILL="+filepath.Join(p.out, "fill"))
		}},
	{name: "standard error is closed", action: "work", place: taking("limit fsize 4096", "close 2"), lost: true},
	{name: "standard error is broken", action: "work", place: brokenStderr, lost: true},

	{name: "rights of another user", action: "work", place: secured(setuid), says: inSecure, lost: true,
		check: secure(other)},
	{name: "rights of another group", action: "work", place: secured(setgid), says: inSecure, lost: true,
		check: secure(0)},
	{name: "capabilities", action: "work", place: secured(capable), says: inSecure, lost: true, check: secure(other)},
	{name: "dropped rights", action: "user", place: asRoot, says: notAll + "permission denied", maybe: true},
	{name: "link instead of the directory", action: "wait", place: swapped, says: notAll + "not a directory",
		maybe: true, lost: true, check: untouched},
}

func taking(list ...step) func(p *place) {
	return func(p *place) { p.steps = append(p.steps, list...) }
}

// diskOf makes the directory for records a small disk.
func diskOf(size int) func(p *place) {
	return func(p *place) {
		// Not in the namespace of the program: the record is to be looked at.
		if err := syscall.Mount("tmpfs", p.out, "tmpfs", 0, "size="+strconv.Itoa(max(size, 4096))); err != nil {
			p.t.Skipf("mount: %v; run as root", err)
		}
		p.t.Cleanup(func() { syscall.Unmount(p.out, syscall.MNT_DETACH) })
	}
}

// ignored checks that the directory that was made ignores itself, and that nobody else may enter the record.
func ignored(t *testing.T, p *place, o outcome) {
	if b, err := os.ReadFile(filepath.Join(p.dir, "stemma.out", ".gitignore")); string(b) != "*\n" {
		t.Errorf(".gitignore: %q, %v", b, err)
	}
	for _, dir := range o.records {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if info, err := f.Info(); err != nil || info.Mode() != 0o600 {
				t.Errorf("%s: %v %v", f.Name(), info.Mode(), err)
			}
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", dir, info.Mode(), err)
		}
	}
}

// childRecords checks that the child, which did not know STEMMA_OUT, has recorded as well.
func childRecords(t *testing.T, p *place, _ outcome) {
	dirs, _ := filepath.Glob(filepath.Join(p.dir, "stemma.out", "hostile.*"))
	if len(dirs) != 1 {
		t.Errorf("records of the child: %v, want one", dirs)
	}
}

// manyContexts checks that who records each context says that there are many. Others have few, or a bound of their own.
func manyContexts(t *testing.T, _ *place, o outcome) {
	if strings.HasSuffix(t.Name(), "/cct") == (o.stderr == "") {
		t.Errorf("standard error: %q", o.stderr)
	}
}

// forkRecords checks that what the child did is not in the record of its parent.
func forkRecords(t *testing.T, _ *place, o outcome) {
	for _, dir := range o.records {
		p, err := record.Open(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Funcs {
			// pcce knows all functions beforehand
			if p.Processes[0].Engine != "pcce" && p.String(p.Funcs[i].Name) == "main.forked" {
				t.Errorf("%s: a function that only the child has called is in the record of its parent", dir)
			}
		}
	}
}

// replicas starts two processes that are number 1 of their namespaces, at the same time.
func replicas(p *place) {
	p.start = func(cmd *exec.Cmd) error {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWPID
		other := exec.Command(cmd.Path, cmd.Args[1:]...)
		other.Dir, other.Env, other.SysProcAttr = cmd.Dir, cmd.Env, cmd.SysProcAttr
		if err := other.Start(); err != nil {
			p.t.Skipf("no namespaces of process IDs: %v", err)
		}
		err := cmd.Run()
		other.Wait()
		return err
	}
}

// talk starts a program that says when it is ready, and returns when it has, with what it will print.
func talk(p *place, cmd *exec.Cmd) (in io.WriteCloser, finish func() error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	stdout := cmd.Stdout.(*bytes.Buffer)
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	for !strings.HasSuffix(stdout.String(), "ready\n") {
		if _, err := io.CopyN(stdout, out, 1); err != nil {
			p.t.Fatal(err)
		}
	}
	return in, func() error {
		in.Close()
		io.Copy(stdout, out)
		return cmd.Wait()
	}
}

// killed kills the program while it waits: its record is there, and small.
func killed(p *place) {
	p.start = func(cmd *exec.Cmd) error {
		_, finish := talk(p, cmd)
		cmd.Process.Kill()
		return finish()
	}
}

// swapped takes the directory of the record away, and puts a link to another one in its place,
// with files of the same names, before the program needs more room.
func swapped(p *place) {
	victim := filepath.Join(p.dir, "victim")
	p.start = func(cmd *exec.Cmd) error {
		_, finish := talk(p, cmd)
		if dirs, _ := filepath.Glob(filepath.Join(p.out, "*")); len(dirs) == 1 {
			files, _ := os.ReadDir(dirs[0])
			os.Mkdir(victim, 0o700)
			for _, f := range files {
				os.WriteFile(filepath.Join(victim, f.Name()), []byte("precious"), 0o600)
			}
			if err := os.Rename(dirs[0], filepath.Join(p.dir, "away")); err != nil {
				p.t.Fatal(err)
			}
			if err := os.Symlink(victim, dirs[0]); err != nil {
				p.t.Fatal(err)
			}
		}
		return finish()
	}
}

func untouched(t *testing.T, p *place, _ outcome) {
	files, err := os.ReadDir(filepath.Join(p.dir, "victim"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no files that could have been touched: ", err)
	}
	for _, f := range files {
		if b, _ := os.ReadFile(filepath.Join(p.dir, "victim", f.Name())); string(b) != "precious" {
			t.Errorf("%s has become %d bytes", f.Name(), len(b))
		}
	}
}

// memory lets the program tell how much memory it has.
func memory(p *place) { p.env = append(p.env, "STATUS="+filepath.Join(p.dir, "status")) }

// little checks that a record is as large as what is in it, and so is the program. It may
// have a megabyte more than the plain one; the test allows for chance.
func little(t *testing.T, p *place, o outcome) {
	if more := p.resident() - p.plain.resident(); more > 4<<10 {
		t.Errorf("%d kB more are resident than without stemma", more)
	} else {
		t.Logf("%d kB more are resident than without stemma", more)
	}
	for _, dir := range o.records {
		if size := apparent(t, dir); size > 1<<20 {
			t.Errorf("%s: %d bytes for next to nothing", dir, size)
		} else {
			t.Logf("%d bytes", size)
		}
	}
}

var residentLine = regexp.MustCompile(`(?m)^VmRSS:\s*(\d+) kB$`)

// maxLocked is what a program that has locked all its memory may have resident, in kB.
const maxLocked = 160 << 10

// resident checks that locked memory is what is used and not what is reserved.
func resident(t *testing.T, p *place, _ outcome) {
	kb := p.resident()
	if kb == 0 || kb > maxLocked {
		t.Errorf("%d MB are resident, want at most %d", kb>>10, maxLocked>>10)
	} else {
		t.Logf("%d MB are resident, %d without stemma", kb>>10, p.plain.resident()>>10)
	}
}

// resident returns how many kB the program had resident at its end, 0 if it did not tell.
func (p *place) resident() int {
	b, _ := os.ReadFile(filepath.Join(p.dir, "status"))
	if m := residentLine.FindSubmatch(b); m != nil {
		kb, _ := strconv.Atoi(string(m[1]))
		return kb
	}
	return 0
}

// smallCgroup gives the program 24 MB of memory, dirty pages of files included.
func smallCgroup(p *place) {
	dir, err := newCgroup("stemma-hostile-"+strconv.Itoa(os.Getpid()), 24<<20)
	if err != nil {
		p.t.Skipf("no cgroups: %v", err)
	}
	p.t.Cleanup(func() {
		for range 50 {
			if os.Remove(dir) == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	p.step("cgroup %s", dir)
}

// brokenStderr gives the program a standard error that nobody reads. A write to it would
// end the program before it has signal handlers.
func brokenStderr(p *place) {
	p.step("limit fsize 4096")
	p.start = func(cmd *exec.Cmd) error {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		r.Close()
		defer w.Close()
		cmd.Stderr = w
		return cmd.Run()
	}
}

// asRoot skips the case for users who have no rights to give away.
func asRoot(p *place) {
	if os.Geteuid() != 0 {
		p.t.Skip("needs the rights of root")
	}
}

// other is a user, and a group, who has no rights.
const other = 65534

// inSecure is what a program says that has more rights than who started it.
const inSecure = elsewhere + `.*: in the working directory, of a program with the rights of another user`

// secured gives the program, by what arm does with a copy of it, more rights than who starts it has. What its
// environment says about records must not be done, though it could.
func secured(arm func(p *place, exe string, cmd *exec.Cmd) error) func(p *place) {
	return func(p *place) {
		asRoot(p)
		p.env = append(p.env, "STEMMA_QUIET=1")
		p.start = func(cmd *exec.Cmd) error {
			if err := moveTo(p.dir, cmd, ".warm"); err != nil {
				return err
			}
			for dir := p.dir; dir != "/" && dir != "/tmp"; dir = filepath.Dir(dir) {
				os.Chmod(dir, 0o755)
			}
			os.Chmod(p.out, 0o777)
			if err := arm(p, cmd.Path, cmd); err != nil {
				return err
			}
			return cmd.Run()
		}
	}
}

// moveTo copies the program of cmd, and the files beside it with these suffixes, to a directory, and lets cmd
// run the copy.
func moveTo(dir string, cmd *exec.Cmd, beside ...string) error {
	exe := filepath.Join(dir, filepath.Base(cmd.Path))
	for _, suffix := range append(beside, "") {
		b, err := os.ReadFile(cmd.Path + suffix)
		if err != nil && suffix != "" {
			continue
		}
		if err == nil {
			err = os.WriteFile(exe+suffix, b, 0o755)
		}
		if err != nil {
			return err
		}
	}
	cmd.Path, cmd.Args[0] = exe, exe
	return nil
}

// copied runs a copy of the program alone.
func copied(p *place) {
	p.start = func(cmd *exec.Cmd) error {
		if err := moveTo(p.dir, cmd); err != nil {
			return err
		}
		return cmd.Run()
	}
}

func setuid(_ *place, exe string, _ *exec.Cmd) error {
	if err := os.Chown(exe, other, other); err != nil {
		return err
	}
	return os.Chmod(exe, 0o755|os.ModeSetuid)
}

func setgid(_ *place, exe string, _ *exec.Cmd) error {
	if err := os.Chown(exe, 0, other); err != nil {
		return err
	}
	return os.Chmod(exe, 0o755|os.ModeSetgid)
}

// capable gives the program a capability, and starts it as a user without any.
func capable(p *place, exe string, cmd *exec.Cmd) error {
	// struct vfs_cap_data: revision 2, effective; CAP_NET_RAW permitted; nothing inheritable; no more
	attr := []byte("\x01\x00\x00\x02" + "\x00\x20\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00")
	if err := syscall.Setxattr(exe, "security.capability", attr, 0); err != nil {
		p.t.Skipf("setxattr: %v", err)
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: other, Gid: other}
	return nil
}

// secure checks that the record is that of the user with this number, and not where the environment says.
func secure(user int) func(t *testing.T, p *place, o outcome) {
	own := regexp.MustCompile(fmt.Sprintf(`recording in (/tmp/stemma-%d/\S+),`, user))
	return func(t *testing.T, _ *place, o outcome) {
		dir := own.FindStringSubmatch(o.stderr)
		if len(o.records) > 0 || dir == nil {
			t.Fatalf("records %v, %s", o.records, o.stderr)
		}
		if err := os.RemoveAll(dir[1]); err != nil {
			t.Error(err)
		}
	}
}
