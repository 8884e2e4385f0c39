package safety

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// recordingEngines are those that programs record with.
func recordingEngines() []string { return e2e.Few(3, "cct", "dacce", "sample", "lucce") }

// said returns what the program recording printed under a name.
func said(t *testing.T, stdout, name string) string {
	t.Helper()
	for line := range strings.Lines(stdout) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(text)
		}
	}
	t.Fatalf("no %q in what the program printed:\n%s", name, stdout)
	return ""
}

// oneLine fails the test unless text is one line with all of the parts in it.
func oneLine(t *testing.T, text string, parts ...string) {
	t.Helper()
	if strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "stemma: ") {
		t.Errorf("standard error: have %q, want one line of stemma's", text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("standard error: have %q, want %q in it", text, part)
		}
	}
}

// TestRecording asks programs where they record: there, in a directory that only the user
// can enter, and nothing is said.
func TestRecording(t *testing.T) {
	e2e.NeedMore(t)
	for _, engine := range recordingEngines() {
		t.Run(engine, func(t *testing.T) {
			out := t.TempDir()
			r := e2e.RunIn(t, out, e2e.Build(t, "recording", "-engine="+engine), "STEMMA_OUT="+out+"/")
			r.OK(t)
			if dir := said(t, r.Stdout, "dir"); dir != r.Dir || said(t, r.Stdout, "problem") != "" {
				t.Errorf("the program says it records in %q, its record is %q", dir, r.Dir)
			}
			if hasIDs := engine == "dacce" || engine == "lucce"; hasIDs != (said(t, r.Stdout, "ids") == "200") ||
				said(t, r.Stdout, "zeros") != "0" {
				t.Errorf("engine %s: the program printed\n%s", engine, r.Stdout)
			}
			err := filepath.WalkDir(r.Dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				if info, err := d.Info(); err != nil || info.Mode()&0o077 != 0 {
					t.Errorf("%s: others may open it: mode %v, %v", path, info.Mode(), err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNowhere takes from programs the directory that they should record in: they record in
// one of the user's own, and report it; then that one, in several ways: they say that nothing
// is recorded, hand out no ID that nobody could decode, and run on.
func TestNowhere(t *testing.T) {
	e2e.NeedMore(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	own := fmt.Sprint("stemma-", os.Geteuid())
	link, open := t.TempDir(), t.TempDir()
	if err := os.Symlink(t.TempDir(), filepath.Join(link, own)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(open, own), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(open, own), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, engine := range recordingEngines() {
		exe := e2e.Build(t, "recording", "-engine="+engine)
		t.Run(engine+"/own", func(t *testing.T) {
			tmp := t.TempDir()
			r := e2e.RunIn(t, filepath.Join(file, "out"), exe, "TMPDIR="+tmp)
			dir := said(t, r.Stdout, "dir")
			oneLine(t, r.Stderr, "recording in "+dir, "out: not a directory", "STEMMA_OUT", "STEMMA_QUIET=1")
			if filepath.Dir(dir) != filepath.Join(tmp, own) {
				t.Errorf("the program records in %s, want a directory in %s", dir, filepath.Join(tmp, own))
			}
			if info, err := os.Stat(filepath.Dir(dir)); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%s: mode %v, %v", filepath.Dir(dir), info.Mode(), err)
			}
			r.Dir = dir
			r.Read(t)
		})
		for name, tmp := range map[string]string{"file": file, "link": link, "open": open} {
			t.Run(engine+"/nothing/"+name, func(t *testing.T) {
				r := e2e.RunIn(t, file, exe, "TMPDIR="+tmp)
				if r.Err != nil || said(t, r.Stdout, "dir") != "" ||
					!strings.Contains(said(t, r.Stdout, "problem"), "directory") {
					t.Errorf("%v\n%s", r.Err, r.Stdout)
				}
				if said(t, r.Stdout, "ids") != "0" {
					t.Errorf("the program got IDs that nobody can decode:\n%s", r.Stdout)
				}
				oneLine(t, r.Stderr, "nothing is recorded: ", file+": not a directory; ", own,
					"set STEMMA_OUT to a directory that can be written")
			})
		}
		t.Run(engine+"/quiet", func(t *testing.T) {
			e2e.RunIn(t, file, exe, "TMPDIR="+file, "STEMMA_QUIET=1").OK(t)
		})
		t.Run(engine+"/limit", func(t *testing.T) {
			cmd := exec.Command("/bin/sh", "-c", "ulimit -f 8; exec "+exe)
			cmd.Env = append(os.Environ(), "STEMMA_OUT="+t.TempDir(), "TMPDIR="+t.TempDir())
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil || said(t, string(out), "dir") != "" {
				t.Errorf("%v\n%s", err, out)
			}
			oneLine(t, stderr.String(), "nothing is recorded: ", "ulimit -f")
		})
	}
}

// TestFirstShard lets files grow as far as the tree needs at the start, but the counters of the first P, which are as
// long as the tree, no further: nothing is recorded, that is said in one line, and the program runs to its end.
func TestFirstShard(t *testing.T) {
	exe := e2e.Build(t, "recording", "-engine=cct")
	for _, blocks := range []int{40, 64, 100} { // of 512 bytes
		out := t.TempDir()
		cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf("ulimit -f %d; exec %s", blocks, exe))
		cmd.Env = append(os.Environ(), "STEMMA_OUT="+out)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		stdout, err := cmd.Output()
		if err != nil {
			t.Fatalf("ulimit -f %d: %v\n%s%s", blocks, err, stdout, stderr.String())
		}
		if said(t, string(stdout), "dir") != "" || !strings.Contains(said(t, string(stdout), "problem"), "ulimit -f") {
			t.Errorf("ulimit -f %d: the program printed\n%s", blocks, stdout)
		}
		oneLine(t, stderr.String(), "nothing is recorded: "+out, "ulimit -f")
		if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
			t.Errorf("ulimit -f %d: %v is left, %v", blocks, left, err)
		}
	}
}

// TestSameProcessID starts programs that have one process ID, as those in containers do,
// beside each other, after each other, and one that replaces itself: each run has a record of its own.
func TestSameProcessID(t *testing.T) {
	e2e.NeedMore(t)
	for _, engine := range recordingEngines() {
		t.Run(engine, func(t *testing.T) {
			exe := e2e.Build(t, "recording", "-engine="+engine)
			out := t.TempDir()
			r := e2e.RunIn(t, out, exe, "REPLACE=1")
			r.OK(t)
			want := 2
			for range 3 {
				cmd := e2e.Command(t, out, exe)
				cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
				if err := cmd.Run(); err != nil {
					t.Logf("no namespaces of process IDs here: %v", err)
					break
				}
				want++
			}
			dirs, err := filepath.Glob(filepath.Join(out, "*"))
			if err != nil || len(dirs) != want {
				t.Fatalf("%d runs left %v, %v", want, dirs, err)
			}
			runs, pids := map[uint64]bool{}, map[int]int{}
			for _, dir := range dirs {
				p, err := record.Open(os.DirFS(dir))
				if err != nil {
					t.Fatal(err)
				}
				runs[p.Processes[0].Run] = true
				pids[p.Processes[0].PID]++
			}
			if len(runs) != want {
				t.Errorf("%d records of %d runs", want, len(runs))
			}
			if want > 2 && pids[1] != 3 {
				t.Errorf("process IDs %v, want three times 1", pids)
			}
		})
	}
}

// TestBadSettings sets what means nothing: that is said, in one line, and the program runs
// as it was built.
func TestBadSettings(t *testing.T) {
	e2e.NeedMore(t)
	sampled := e2e.Build(t, "recording", "-engine=sample", "-every=3ms")
	for settings, want := range map[string][]string{
		"every=1xx,samplr=foo": {"every=1xx (want a time from 10us on, as 10ms)",
			"samplr=foo (want one of every, sampler, walk, waiting, sample-at and start)"},
		"every=1us":            {"every=1us (want a time"},
		"nonsense":             {"nonsense (want one of"},
		"sampler=acct,start=x": {"sampler=acct (want jvmti, stw, sps or isps)", "start=x (want on or off)"},
		"walk=fp":              {"walk=fp (want a walk that the sampler can do"},
	} {
		r := e2e.Run(t, sampled, "STEMMA_SAMPLING="+settings)
		if r.Err != nil {
			t.Errorf("%s: %v", settings, r.Err)
		}
		oneLine(t, r.Stderr, append(want, "in STEMMA_SAMPLING, these settings are ignored: ")...)
		if s := r.Read(t).Processes[0].Sampling; s.Interval.String() != "3ms" || s.Sampler != "isps" {
			t.Errorf("%s: sampled with %+v, want what it was built with", settings, s)
		}
	}
	r := e2e.Run(t, sampled, "STEMMA_SAMPLING=every=5ms,sampler=sps,walk=fp,waiting=off")
	r.OK(t)
	if s := r.Read(t).Processes[0].Sampling; s.Interval.String() != "5ms" || s.Sampler != "sps" {
		t.Errorf("sampled with %+v, want what the environment says", s)
	}
	r = e2e.Run(t, sampled, "STEMMA_SAMPLING=sampler=jvmti,walk=fp,sample-at=prologue")
	oneLine(t, r.Stderr, "sample-at=prologue (want signal: jvmti samples where the world stops)")
	if s := r.Read(t).Processes[0].Sampling; s.Sampler != "jvmti" {
		t.Errorf("sampled with %+v, want the jvmti that the environment says", s)
	}
	r = e2e.Run(t, sampled, "STEMMA_SAMPLING=ask=guard,every=5ms")
	oneLine(t, r.Stderr, "in STEMMA_SAMPLING, ask=guard is called sample-at=prologue now")
	if s := r.Read(t).Processes[0].Sampling; s.At != profile.AtPrologue || s.Interval.String() != "5ms" {
		t.Errorf("sampled with %+v, want at prologues, by the former name", s)
	}
}

// TestBadVariables gives each variable of programs a value that means nothing: that is said, in one line, and the
// program runs as without it. Variables that only some programs read are tried in such a program, with -more or -full.
func TestBadVariables(t *testing.T) {
	exe := e2e.Build(t, "recording", "-engine=cct")
	of := map[string][]string{
		"STEMMA_CHECK_EVERY":  {"-verify"},
		"STEMMA_REENCODE_US":  {"-engine=dacce"},
		"STEMMA_CCSTACK_SIZE": {"-engine=dacce"},
		"STEMMA_TRACE_STEP":   {"-engine=sample", "-every=3ms"},
	}
	full := map[string][]string{"STEMMA_EVENTS_SIZE": {"-engine=dacce", "-events=alloc"},
		"STEMMA_CALLS_SIZE": {"-record=calls"}}
	for _, v := range base.Variables {
		switch {
		case v.Reader != base.ByProgram && v.Reader != base.ForDebug, v.Values == "DIRECTORY": // any word will do
		case v.Name == "STEMMA_SAMPLING", v.Name == "STEMMA_BENCH_TIME": // TestBadSettings, and a script of benchmarks
		default:
			reads, flags := exe, slices.Concat(of[v.Name], full[v.Name])
			if full[v.Name] != nil && !e2e.Full() || flags != nil && !e2e.More() {
				continue
			} else if flags != nil {
				reads = e2e.Build(t, "recording", flags...)
			}
			r := e2e.Run(t, reads, v.Name+"=nonsense")
			oneLine(t, r.Stderr, v.Name+"=nonsense is ignored: want ")
			r.Read(t)
		}
	}
	r := e2e.Run(t, exe, "STEMMA_TREE_SIZE=1G")
	oneLine(t, r.Stderr, "STEMMA_TREE_SIZE=1G is ignored: want a number, without a unit")
	if e2e.More() {
		r = e2e.Run(t, e2e.Build(t, "recording", "-verify"), "STEMMA_CHECK_EVERY=0")
		oneLine(t, r.Stderr, "STEMMA_CHECK_EVERY=0 is ignored: want a number from 1 on")
	}
	for _, variable := range []string{"STEMMA_DETERMINISTIC=0", "STEMMA_DETERMINISTIC=1", "STEMMA_QUIET=0"} {
		r := e2e.Run(t, exe, variable)
		r.OK(t)
	}
}

// TestExchanged starts programs while the directory of the user's own takes turns with a link to another one that is
// the user's as well. No record goes there, by whatever instruction the exchange is met.
func TestExchanged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	tmp, victim := t.TempDir(), t.TempDir()
	own := filepath.Join(tmp, fmt.Sprint("stemma-", os.Geteuid()))
	if err := os.Chmod(victim, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, own+".link"); err != nil {
		t.Fatal(err)
	}
	exe := e2e.Build(t, "recording", "-engine=cct")
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := exchange(own, own+".link"); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for range 150 {
		// What becomes of a program whose directory goes while it begins is not asked here.
		e2e.RunIn(t, file, exe, "TMPDIR="+tmp)
	}
	close(stop)
	<-stopped
	if list, err := os.ReadDir(victim); err != nil || len(list) > 0 {
		t.Errorf("%d records are where a link leads, %v", len(list), err)
	}
}

// exchange lets two files have each other's names, at once.
func exchange(a, b string) error {
	one, err := syscall.BytePtrFromString(a)
	two, err2 := syscall.BytePtrFromString(b)
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	const renameat2, here, exchange = 316, ^uintptr(99), 2
	_, _, errno := syscall.Syscall6(renameat2, here, uintptr(unsafe.Pointer(one)), here, uintptr(unsafe.Pointer(two)),
		exchange, 0)
	if errno != 0 {
		return fmt.Errorf("renameat2: %w", errno)
	}
	return nil
}
