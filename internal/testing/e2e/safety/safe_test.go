package safety

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// TestKilled kills a program at random moments. All calls that it had
// reported by then must be in its profile.
func TestKilled(t *testing.T) {
	exe := e2e.Build(t, "progress")
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			cmd := e2e.Command(t, out, exe)
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Duration(rand.IntN(300))*time.Millisecond, func() { cmd.Process.Kill() })
			said, err := io.ReadAll(stdout)
			if err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			dirs, _ := filepath.Glob(filepath.Join(out, "*"))
			if len(dirs) == 0 && len(said) == 0 {
				return // killed before it began
			}
			checkKilled(t, e2e.LiveDir(out, cmd), said)
		})
	}
}

// reported returns how many calls a program said that it had made, by its last line.
func reported(said []byte) uint64 {
	if n := len(said) / 8; n > 0 {
		return binary.LittleEndian.Uint64(said[8*(n-1):])
	}
	return 0
}

// checkKilled compares what a killed program said with what it recorded.
func checkKilled(t *testing.T, dir string, said []byte) {
	min := reported(said)
	p, err := record.Open(os.DirFS(dir))
	if err != nil {
		if min > 0 {
			t.Fatal(err)
		}
		t.Skipf("killed before the profile began: %v", err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	tree := cct.New(p.Profile)
	// At most 100 calls were made and not reported, or one report was cut.
	for _, name := range []string{"main.step", "main.inner"} {
		if have := e2e.Calls(tree, name); have < min || have > min+200 {
			t.Errorf("%s: have %d calls, the program reported %d", name, have, min)
		}
	}
	for _, l := range p.Lost() {
		if l.Kind != profile.LossIncomplete {
			t.Errorf("lost %d %s", l.Count, l.Kind)
		}
	}
}

const steps = "STEPS=200"

// stepsOutput is what progress prints with steps.
func stepsOutput() string {
	var b []byte
	for n := range uint64(200) {
		b = binary.LittleEndian.AppendUint64(b, 100*(n+1))
	}
	return string(b)
}

// unchanged fails the test unless the program did what it does without stemma.
func unchanged(t *testing.T, r e2e.Result) {
	t.Helper()
	r.OK(t)
	if r.Stdout != stepsOutput() {
		t.Error("the program's output has changed")
	}
}

// TestNoDirectory runs programs that cannot make their live directory.
func TestNoDirectory(t *testing.T) {
	exe := e2e.Build(t, "progress")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	readonly := filepath.Join(t.TempDir(), "readonly")
	if err := os.Mkdir(readonly, 0o555); err != nil {
		t.Fatal(err)
	}
	dirs := map[string]string{
		"file":     file,
		"below":    filepath.Join(file, "x"),
		"missing":  filepath.Join(t.TempDir(), "no", "such", "dir"),
		"long":     strings.Repeat("x", 5000),
		"readonly": readonly,
		"proc":     "/proc",
		"null":     "/dev/null",
	}
	if os.Geteuid() == 0 { // whom modes do not stop
		dirs["readonly"] = smallDisk(t, 4096)
		if err := syscall.Mount("tmpfs", dirs["readonly"], "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY,
			""); err != nil {
			t.Fatal(err)
		}
	}
	for name, out := range dirs {
		t.Run(name, func(t *testing.T) {
			r := e2e.RunIn(t, out, exe, steps, "STEMMA_QUIET=1", "TMPDIR="+t.TempDir())
			unchanged(t, r)
		})
	}
}

// TestVanished removes the live directory while the program runs.
func TestVanished(t *testing.T) {
	exe := e2e.Build(t, "progress")
	out := t.TempDir()
	cmd := e2e.Command(t, out, exe, "STEPS=20000", "GOMAXPROCS=2")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stdout, make([]byte, 800)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(e2e.LiveDir(out, cmd)); err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, stdout)
	if err != nil || n != 8*20000-800 {
		t.Errorf("have %d bytes, %v", n, err)
	}
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v\n%s", err, e2e.Tail(stderr.String()))
	}
}

// TestFullDisk runs programs whose live directory is on disks of many sizes,
// all too small: from one that holds nothing on.
func TestFullDisk(t *testing.T) {
	e2e.NeedBuilds(t)
	if os.Geteuid() != 0 {
		t.Skip("mounts a small file system; run as root")
	}
	exe := e2e.Build(t, "progress")
	many := e2e.Build(t, "contexts", "-recursion=full")
	for _, pages := range []int{2, 3, 4, 6, 8, 12, 16, 32} {
		t.Run(fmt.Sprint(pages), func(t *testing.T) {
			out, tmp := smallDisk(t, 4096*pages), t.TempDir()
			r := e2e.RunIn(t, out, exe, steps, "GOMAXPROCS=2", "STEMMA_QUIET=1", "TMPDIR="+tmp)
			unchanged(t, r)
			if r.Dir == "" { // not even the beginning of a record had room
				dirs, _ := filepath.Glob(filepath.Join(tmp, "stemma-*", "*"))
				if left, _ := os.ReadDir(out); len(left) > 0 || len(dirs) > 1 {
					t.Fatalf("left %v on the disk, and %v", left, dirs)
				}
				if len(dirs) == 1 {
					r.Dir = dirs[0]
				}
			}
			reportsLoss(t, r)
		})
	}
	t.Run("many", func(t *testing.T) {
		out := smallDisk(t, 4<<20)
		r := e2e.RunIn(t, out, many, "GOMAXPROCS=2")
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		oneLine(t, r.Stderr, "from here on not all is recorded: "+r.Dir, "no space left on device", "STEMMA_QUIET=1")
		if strings.TrimSpace(r.Stdout) != "1572863" {
			t.Errorf("the program printed %s", r.Stdout)
		}
		reportsLoss(t, r)
	})
}

// smallDisk returns a directory on a file system of the given size.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprint("size=", size)); err != nil {
		t.Skipf("mount: %v; run as root outside of a container", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// reportsLoss fails the test if the profile can be read and does not say that
// something is missing.
func reportsLoss(t *testing.T, r e2e.Result) {
	t.Helper()
	if r.Dir == "" {
		t.Log("no record")
		return
	}
	p, err := record.Open(os.DirFS(r.Dir))
	if err != nil {
		t.Fatalf("the profile cannot be read: %v", err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	notes := 0
	for _, proc := range p.Processes {
		notes += len(proc.Notes)
	}
	if have := e2e.Calls(cct.New(p.Profile), "main.step"); have != 20_000 && len(p.Lost()) == 0 && notes == 0 {
		t.Errorf("main.step: %d calls, want 20000, and nothing said about what is missing", have)
	}
	t.Logf("lost %v, %d notes", p.Lost(), notes)
}

// TestChangedDirectory records into a relative directory, which the program
// leaves before it gets more Ps: their shards must be made where the others are.
func TestChangedDirectory(t *testing.T) {
	exe := e2e.Build(t, "chdir")
	dir := t.TempDir()
	cmd := exec.Command(exe)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "STEMMA_OUT=records", "GOMAXPROCS=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	shards, err := filepath.Glob(filepath.Join(dir, "records", "*", "shard.*"))
	if err != nil || len(shards) != 8 {
		t.Errorf("shards %q, %v; want 8", shards, err)
	}
}
