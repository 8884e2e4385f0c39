package e2e

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
	"github.com/stemma-go/stemma/profile"
)

// calls returns how often a function was called.
func calls(tree *cct.Tree, name string) (n uint64) {
	for _, s := range tree.ByFunction() {
		if tree.Funcs[s.Func].Name == name {
			n += s.Calls
		}
	}
	return n
}

// TestKilled kills a program at random moments. All calls that it had
// reported by then must be in its profile.
func TestKilled(t *testing.T) {
	needBuilds(t)
	exe := build(t, "progress", "default")
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), "STEMMA_OUT="+out)
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
			checkKilled(t, filepath.Join(out, fmt.Sprintf("progress.default.%d", cmd.Process.Pid)), said)
		})
	}
}

// checkKilled compares what a killed program said with what it recorded.
func checkKilled(t *testing.T, dir string, said []byte) {
	var min uint64
	if n := len(said) / 8; n > 0 {
		min = binary.LittleEndian.Uint64(said[8*(n-1):])
	}
	p, err := profile.ReadLive(os.DirFS(dir))
	if err != nil {
		if min > 0 {
			t.Fatal(err)
		}
		t.Skipf("killed before the profile began: %v", err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	tree := cct.New(p)
	// At most 100 calls were made and not reported, or one report was cut.
	for _, name := range []string{"main.step", "main.inner"} {
		if have := calls(tree, name); have < min || have > min+200 {
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
func unchanged(t *testing.T, r result) {
	t.Helper()
	r.ok(t)
	if r.stdout != stepsOutput() {
		t.Error("the program's output has changed")
	}
}

// TestNoDirectory runs programs that cannot make their live directory.
func TestNoDirectory(t *testing.T) {
	needBuilds(t)
	exe := build(t, "progress", "default")
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
		if err := syscall.Mount("tmpfs", dirs["readonly"], "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
	}
	for name, out := range dirs {
		t.Run(name, func(t *testing.T) {
			r := runIn(t, out, exe, steps)
			unchanged(t, r)
		})
	}
}

// TestVanished removes the live directory while the program runs.
func TestVanished(t *testing.T) {
	needBuilds(t)
	exe := build(t, "progress", "default")
	out := t.TempDir()
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "STEMMA_OUT="+out, "STEPS=20000", "GOMAXPROCS=2")
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
	if err := os.RemoveAll(filepath.Join(out, fmt.Sprintf("progress.default.%d", cmd.Process.Pid))); err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, stdout)
	if err != nil || n != 8*20000-800 {
		t.Errorf("have %d bytes, %v", n, err)
	}
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v\n%s", err, tail(stderr.String()))
	}
}

// TestFullDisk runs programs whose live directory is on disks of many sizes,
// all too small: from one that holds nothing on.
func TestFullDisk(t *testing.T) {
	needBuilds(t)
	if os.Geteuid() != 0 {
		t.Skip("mounts a small file system; run as root")
	}
	exe := build(t, "progress", "default")
	many := build(t, "contexts", "full", "-recursion=full")
	for _, pages := range []int{2, 3, 4, 6, 8, 12, 16, 32} {
		t.Run(fmt.Sprint(pages), func(t *testing.T) {
			out := smallDisk(t, 4096*pages)
			r := runIn(t, out, exe, steps, "GOMAXPROCS=2")
			unchanged(t, r)
			r.dir = filepath.Join(out, filepath.Base(r.dir))
			reportsLoss(t, r)
		})
	}
	t.Run("many", func(t *testing.T) {
		out := smallDisk(t, 4<<20)
		r := runIn(t, out, many, "GOMAXPROCS=2")
		r.ok(t)
		if strings.TrimSpace(r.stdout) != "1572863" {
			t.Errorf("the program printed %s", r.stdout)
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
func reportsLoss(t *testing.T, r result) {
	t.Helper()
	p, err := profile.ReadLive(os.DirFS(r.dir))
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
	if have := calls(cct.New(p), "main.step"); have != 20_000 && len(p.Lost()) == 0 && notes == 0 {
		t.Errorf("main.step: %d calls, want 20000, and nothing said about what is missing", have)
	}
	t.Logf("lost %v, %d notes", p.Lost(), notes)
}

// TestNested starts 10,000 goroutines, each of which starts the next.
func TestNested(t *testing.T) { prove(t, "nested", []int{1, 8}) }

// TestManyContexts makes 1.5 million contexts, with room and without.
func TestManyContexts(t *testing.T) {
	needBuilds(t)
	dir := filepath.Join(programs, "contexts")
	wants := sourceWants(t, dir)
	for _, b := range builds(t, dir) {
		t.Run(b[0], func(t *testing.T) {
			r := run(t, build(t, "contexts", b[0], b[1:]...), "GOMAXPROCS=2")
			r.ok(t)
			p := r.read(t)
			tree := cct.New(p)
			totals := tree.Totals()
			t.Logf("%+v, lost %v", totals, p.Lost())
			switch b[0] {
			case "full":
				noLoss(t, p)
			case "small":
				if totals.Contexts > 60_000 || totals.Contexts < 40_000 {
					t.Errorf("have %d contexts with a budget of 50,000", totals.Contexts)
				}
				if totals.Truncated == 0 || len(p.Lost()) == 0 {
					t.Errorf("nothing said about what is missing: %+v", totals)
				}
			}
			checkFuncs(t, tree, wants, b[0])
		})
	}
}

// checkFuncs checks expectations without ** in the middle quickly: there are
// too many contexts to match each with every pattern.
func checkFuncs(t *testing.T, tree *cct.Tree, wants []want, tag string) {
	t.Helper()
	for _, w := range wants {
		if !w.applies(tag) || len(w.pattern) != 2 {
			continue
		}
		if have := calls(tree, w.pattern[1].name); !w.holds(have) {
			t.Errorf("%s: %s: have %d, want %s %d", w.where, w.text, have, w.op, w.count)
		}
	}
}

// TestManyTargets calls 3000 functions from one site, over and over: the tree
// must not grow.
func TestManyTargets(t *testing.T) {
	needBuilds(t)
	r := run(t, build(t, "targets", "default"), "GOMAXPROCS=2")
	r.ok(t)
	p := r.read(t)
	noLoss(t, p)
	check(t, cct.New(p), sourceWants(t, filepath.Join(programs, "targets")), "default")
}

// TestChangedDirectory records into a relative directory, which the program
// leaves before it gets more Ps: their shards must be made where the others are.
func TestChangedDirectory(t *testing.T) {
	exe := build(t, "chdir", "default")
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
