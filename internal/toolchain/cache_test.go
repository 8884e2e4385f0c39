package toolchain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/goroot"
)

// fillEnv makes a run of this test binary stand for a process that builds an
// entry in the named directory and is killed while it does.
const fillEnv = "STEMMA_TEST_FILL"

func TestMain(m *testing.M) {
	if dir := os.Getenv(fillEnv); dir != "" {
		e := &Entry{filepath.Join(dir, "entry"), "entry"}
		err := e.make(func() {}, func(ctx context.Context, tmp string) error {
			if err := os.WriteFile(filepath.Join(tmp, "half"), nil, 0o666); err != nil {
				return err
			}
			fmt.Println("filling")
			<-ctx.Done()
			return ctx.Err()
		})
		fmt.Println(err)
		os.Exit(1)
	}
	if os.Getenv(toolexecEnv) != "" {
		if err := Toolexec(os.Args[1:], os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func fillWell(_ context.Context, tmp string) error {
	return os.WriteFile(filepath.Join(tmp, "compile"), []byte("whole"), 0o777)
}

func checkEntry(t *testing.T, e *Entry) {
	t.Helper()
	data, err := os.ReadFile(e.Compiler())
	if !e.Exists() || err != nil || string(data) != "whole" {
		t.Errorf("the entry is not there or not whole: %q, %v", data, err)
	}
	if left, _ := filepath.Glob(e.Dir + ".tmp*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Of many that want an entry at once, one builds it.
func TestEntryMakeConcurrently(t *testing.T) {
	e := &Entry{filepath.Join(t.TempDir(), "entry"), "entry"}
	var fills, failures atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			err := e.make(func() {}, func(ctx context.Context, tmp string) error {
				fills.Add(1)
				return fillWell(ctx, tmp)
			})
			if err != nil || !e.Exists() {
				failures.Add(1)
			}
		})
	}
	wg.Wait()
	if fills.Load() != 1 || failures.Load() != 0 {
		t.Errorf("have %d builds and %d failures, want 1 and 0", fills.Load(), failures.Load())
	}
	checkEntry(t, e)
}

// A failed build leaves nothing, and the next one starts afresh.
func TestEntryMakeFails(t *testing.T) {
	e := &Entry{filepath.Join(t.TempDir(), "entry"), "entry"}
	broken := errors.New("broken")
	err := e.make(func() {},
		func(ctx context.Context, tmp string) error { return errors.Join(fillWell(ctx, tmp), broken) })
	if !errors.Is(err, broken) || e.Exists() {
		t.Errorf("have error %v and exists = %v, want %v and false", err, e.Exists(), broken)
	}
	if err := e.make(func() {}, fillWell); err != nil {
		t.Fatal(err)
	}
	checkEntry(t, e)
}

// startFilling starts a process that is filling an entry.
func startFilling(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fillEnv+"="+dir)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// A process that is asked to end half-way leaves nothing, and dies of the signal.
func TestEntryMakeInterrupted(t *testing.T) {
	for _, s := range base.Interrupts {
		if signal.Ignored(s) {
			t.Logf("%v is ignored, as under nohup, and stays so", s)
			continue
		}
		dir := t.TempDir()
		cmd := startFilling(t, dir)
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != s {
			t.Errorf("%v: it ended with %v", s, cmd.ProcessState)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*"+tmpInfix+"*")); len(left) > 0 {
			t.Errorf("%v: left behind: %v", s, left)
		}
	}
}

// What a killed process left goes at the next build, whatever that builds; what is being
// built stays.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	dead, busy := strings.Repeat("d", 24), strings.Repeat("b", 24)
	for _, name := range []string{dead + ".tmp1", dead + ".tmp2", busy + ".tmp1"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	unlock, err := tryLock(filepath.Join(dir, busy+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	e := &Entry{filepath.Join(dir, "entry"), "entry"}
	if err := errors.Join(e.fill(fillWell), e.make(func() {}, fillWell)); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.tmp*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != busy+".tmp1" {
		t.Errorf("left: %v, %v; want %s.tmp1", left, err, busy)
	}
}

// TestCacheOthers has the cache where others keep things of their own, under names and with files like those of
// entries. A build leaves them alone, and so does cleaning.
func TestCacheOthers(t *testing.T) {
	dir := t.TempDir()
	key := strings.Repeat("0", 24)
	files := map[string][]byte{"page.tmpl": nil, "data.tmpl/file": nil, "old.tmp1/file": nil, "project/used": nil,
		key + ".tmp": nil, key + ".tmpl/file": nil, "x" + key + ".tmp1/used": nil, key + "0/used": nil}
	if err := writeFiles(dir, files); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * keepFor)
	for name := range files {
		if err := os.Chtimes(filepath.Join(dir, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	e := &Entry{filepath.Join(dir, key), key}
	if err := e.make(func() {}, fillWell); err != nil {
		t.Fatal(err)
	}
	t.Setenv("STEMMA_CACHE", dir)
	e.leave()
	removed := 0
	err := CleanCache(false, func(string, uint64) { removed++ }, func(path string) { t.Errorf("kept: %s", path) })
	if err != nil || removed != 1 || e.Exists() {
		t.Errorf("%d removed, %v; want the entry", removed, err)
	}
	for name := range files {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	locks, err := filepath.Glob(filepath.Join(dir, "*.lock"))
	if err != nil || len(locks) != 1 {
		t.Errorf("locks: %q, %v; want that of the entry", locks, err)
	}
}

// A process that is killed half-way leaves no entry and no lock, and what it
// wrote is removed.
func TestEntryMakeKilled(t *testing.T) {
	dir := t.TempDir()
	e := &Entry{filepath.Join(dir, "entry"), "entry"}
	cmd := startFilling(t, dir)
	waits := make(chan bool, 1)
	made := make(chan error)
	go func() { made <- e.make(func() { waits <- true }, fillWell) }()
	select {
	case <-waits: // this one found the lock taken
	case err := <-made:
		t.Fatalf("made beside another process: %v", err)
	}
	if e.Exists() {
		t.Error("a half-made entry exists")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	checkEntry(t, e)
}

// An entry that a process uses is kept until that process ends, or uses it no more, and one that is
// gone is made anew.
func TestEntryUse(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("STEMMA_CACHE", dir)
	key := strings.Repeat("e", 24)
	e := &Entry{filepath.Join(dir, key), key}
	if err := e.make(func() {}, fillWell); err != nil || !e.use() || !e.use() {
		t.Fatalf("not used: %v", err)
	}
	clean := func() (removed, kept int) {
		err := CleanCache(false, func(string, uint64) { removed++ }, func(string) { kept++ })
		if err != nil {
			t.Fatal(err)
		}
		return removed, kept
	}
	if removed, kept := clean(); removed != 0 || kept != 1 || !e.Exists() {
		t.Errorf("in use: %d removed, %d kept", removed, kept)
	}
	if err := os.RemoveAll(e.Dir); err != nil { // what nobody can prevent
		t.Fatal(err)
	}
	if err := e.make(func() { t.Error("it waits for itself") }, fillWell); err != nil {
		t.Fatal(err)
	}
	if removed, kept := clean(); removed != 1 || kept != 0 || e.Exists() || e.use() {
		t.Errorf("not in use: %d removed, %d kept", removed, kept)
	}
}

func TestTrim(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	add := func(name string, idle time.Duration) {
		mark := filepath.Join(dir, name, "used")
		if err := os.MkdirAll(filepath.Dir(mark), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(mark, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(mark, now.Add(-idle), now.Add(-idle)); err != nil {
			t.Fatal(err)
		}
	}
	key := func(i int) string { return fmt.Sprintf("%024x", i) }
	ancient, latest, filled := key(100), key(101), key(102)+".tmp1"
	add(ancient, keepFor+time.Hour)
	add(filled, keepFor+time.Hour) // for sweep
	for i := range keepEntries + 2 {
		add(key(i), time.Duration(i+1)*24*time.Hour)
	}
	add(latest, 0)
	if err := trim(dir, now); err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range names {
		if !strings.HasSuffix(d.Name(), ".lock") {
			have[d.Name()] = true
		}
	}
	if len(have) != keepEntries+1 || have[ancient] || !have[filled] || !have[latest] || !have[key(0)] {
		t.Errorf("have %v", have)
	}
}

// An entry depends on the sources that it is made from.
func TestEntryOf(t *testing.T) {
	root := t.TempDir()
	files := map[string][]byte{"VERSION": []byte("go1.26.8"), "src/runtime/proc.go": []byte("x"),
		"src/internal/a.go":       nil,
		"src/cmd/compile/main.go": nil, "src/cmd/internal/a.go": nil}
	if err := writeFiles(root, files); err != nil {
		t.Fatal(err)
	}
	g := &Go{Version: "go1.26.8", Root: root}
	m := &goroot.Manifest{Hash: "one"}
	key := func() string {
		e, err := entryOf("/cache", g, m)
		if err != nil {
			t.Fatal(err)
		}
		return e.Key
	}
	first := key()
	if key() != first {
		t.Error("the key changes by itself")
	}
	if err := writeFiles(root, map[string][]byte{"src/runtime/proc.go": []byte("xy")}); err != nil {
		t.Fatal(err)
	}
	second := key()
	m.Hash = "other"
	if third := key(); first == second || second == third {
		t.Error("the key does not change with a source file or the manifest")
	}
}

// TestEntrySettles moves a cache: what is replaced by files of the entry is replaced by them where they are now.
func TestEntrySettles(t *testing.T) {
	moved := &Entry{filepath.Join(t.TempDir(), "to", "key"), "key"}
	if err := os.MkdirAll(moved.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	was := overlay{map[string]string{
		"/go/a.go": "/from/key/src/a.go", "/go/b.go": "", "/go/c.go": "/key/src/c.go",
		"/go/d.go": "/from/other/d.go",
	}}
	if err := was.write(moved.Overlay(goroot.Contexts)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := moved.settle(); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{
		"/go/a.go": filepath.Join(moved.Dir, "src/a.go"), "/go/b.go": "", "/go/d.go": "/from/other/d.go",
		"/go/c.go": filepath.Join(moved.Dir, "src/c.go"),
	}
	have, err := readOverlay(moved.Overlay(goroot.Contexts))
	if err != nil || !maps.Equal(have.Replace, want) {
		t.Errorf("have %v, %v, want %v", have.Replace, err, want)
	}
	if left, _ := os.ReadDir(moved.Dir); len(left) != 1 {
		t.Errorf("%d files, want one", len(left))
	}
}
