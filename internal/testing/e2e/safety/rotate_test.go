package safety

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// loaded reads records and adds them up. None of them is left out.
func loaded(t *testing.T, paths ...string) *profile.Profile {
	t.Helper()
	r, err := store.Load(paths)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Profiles) != len(paths) {
		t.Fatalf("%d of %d records add up", len(r.Profiles), len(paths))
	}
	_, p, err := store.LoadSum(paths)
	if err != nil {
		t.Fatal(err)
	}
	return p.Profile
}

// sameParts fails the test unless the segments of a run and what came behind them are the whole run: all kinds of
// values, context by context.
func sameParts(t *testing.T, dir string) (whole *profile.Profile, segments []string) {
	t.Helper()
	whole, segments = loaded(t, dir), store.Segments(dir)
	sum := loaded(t, append(segments, dir+store.RestSuffix)...)
	for _, c := range whole.Columns {
		if c.Metric == profile.InuseObjects || c.Metric == profile.InuseSpace {
			continue // they do not add up
		}
		want, have := contexts(t, whole, c.Name), contexts(t, sum, c.Name)
		for context, n := range want {
			if have[context] != n {
				t.Errorf("%s of %s: %d in %d segments and the rest, %d in the whole run", c.Name, context,
					have[context], len(segments), n)
			}
		}
		if len(have) != len(want) || len(want) == 0 && c.Metric == profile.Calls {
			t.Errorf("%s: %d contexts in segments, %d in the whole run", c.Name, len(have), len(want))
		}
	}
	return whole, segments
}

// contexts returns the amounts of a metric by context.
func contexts(t *testing.T, p *profile.Profile, metric string) map[string]uint64 {
	t.Helper()
	tree, err := cct.Of(p, metric)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]uint64{}
	for n, node := range tree.Nodes {
		if node.Count > 0 {
			list[fmt.Sprint(tree.Stack(uint32(n)))] += node.Count
		}
	}
	return list
}

// TestRotate ends a segment every few milliseconds while goroutines that migrate and are preempted count what they
// call.
func TestRotate(t *testing.T) {
	for procs, flags := range map[int][]string{1: nil, 8: {"-metrics=calls,alloc,inuse"}} {
		exe := e2e.Build(t, "exact", flags...)
		var r e2e.Result
		var whole *profile.Profile
		var segments []string
		for range 10 { // on a busy machine it takes longer until a segment is written
			r = e2e.Run(t, exe, fmt.Sprint("GOMAXPROCS=", procs), "DISTURB_PREEMPT=1", "STEMMA_ROTATE=5ms")
			r.OK(t)
			if whole, segments = sameParts(t, r.Dir); len(segments) > 1 {
				break
			}
		}
		e2e.NoLoss(t, whole)
		wants := r.Wants(t)
		if len(wants) == 0 || len(segments) < 2 {
			t.Fatalf("%d wants, %d segments", len(wants), len(segments))
		}
		e2e.Check(t, cct.New(whole), wants, "default")
		e2e.Check(t, cct.New(loaded(t, append(segments, r.Dir+store.RestSuffix)...)), wants, "default")
		t.Logf("GOMAXPROCS=%d: %d segments", procs, len(segments))
	}
}

// TestRotateGivesWay looks at the threads of a program that ends segments: one lets all others go before it.
func TestRotateGivesWay(t *testing.T) {
	own, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0) // 20 less the value
	if err != nil || own <= 10 {
		t.Skipf("all threads have the value %d, %v; start it with a lower one", 20-own, err)
	}
	exe := e2e.Build(t, "progress")
	cmd := e2e.Command(t, t.TempDir(), exe, "STEMMA_ROTATE=1h", "INVOCATION_ID=", "JOURNAL_STREAM=", "NOTIFY_SOCKET=")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if _, err := io.ReadFull(stdout, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	values := make(map[string]int)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		clear(values)
		for _, stat := range stats {
			if b, err := os.ReadFile(stat); err == nil { // else it has ended
				fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
				values[fields[16]]++
			}
		}
		if values["19"] == 1 || values["10"] == 1 && !dividesCPU(t) {
			break
		}
	}
	if low := values["10"] + values["19"]; low != 1 || values[fmt.Sprint(20-own)] < 1 || len(values) != 2 {
		t.Errorf("numbers of threads by nice value are %v, want one with 19, or 10 before Linux 6.12", values)
	}
}

// dividesCPU reports whether the kernel lets a thread say how long it runs at once.
func dividesCPU(t *testing.T) bool {
	var name syscall.Utsname
	if err := syscall.Uname(&name); err != nil {
		t.Fatal(err)
	}
	release := make([]byte, 0, len(name.Release))
	for _, c := range name.Release {
		release = append(release, byte(c))
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(release), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	return major > 6 || major == 6 && minor >= 12
}

// TestRotateEnds ends a program while a segment is written: all of it is in segments and the rest.
func TestRotateEnds(t *testing.T) {
	exe := e2e.Build(t, "grows", "-recursion=full")
	for range 2 {
		out := t.TempDir()
		cmd := e2e.Command(t, out, exe, "PATHS=1000", "STEMMA_ROTATE=20ms,1000")
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		writing := ""
		for deadline := time.Now().Add(time.Minute); writing == "" && time.Now().Before(deadline); {
			list, err := filepath.Glob(filepath.Join(out, "grows.*", "tree.new"))
			if err != nil {
				t.Fatal(err)
			}
			if len(list) > 0 {
				writing = filepath.Dir(list[0])
			}
		}
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		if writing == "" {
			t.Fatal("no segment was being written in a minute")
		}
		_, segments := sameParts(t, e2e.LiveDir(out, cmd))
		if left, _ := filepath.Glob(filepath.Join(out, "grows.*", "*.new")); len(left) > 0 || len(segments) == 0 {
			t.Errorf("%d segments, and of one that is not complete there is %q", len(segments), left)
		}
	}
}

// TestRotateKilled kills a program at random moments, as it ends segments all the time.
func TestRotateKilled(t *testing.T) {
	exe := e2e.Build(t, "progress")
	ended := 0
	for i := range 20 {
		out := t.TempDir()
		cmd := e2e.Command(t, out, exe, fmt.Sprintf("STEMMA_ROTATE=%dms,1MiB", 1+i%10))
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 8)
		if _, err := io.ReadFull(stdout, first); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(rand.IntN(200))*time.Millisecond, func() { cmd.Process.Kill() })
		said, err := io.ReadAll(stdout)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		said = append(first, said...)
		least := reported(said)
		dir := e2e.LiveDir(out, cmd)
		whole, segments := sameParts(t, dir)
		if have := e2e.Calls(cct.New(whole), "main.step"); have < least || have > least+200 {
			t.Errorf("%d calls, the program reported %d", have, least)
		}
		ended += len(segments)
		t.Logf("%d calls reported, %d segments", least, len(segments))
	}
	if ended == 0 {
		t.Error("no program had ended a segment when it was killed")
	}
}

// TestRotateSamples ends segments of samples all the time, in programs that end and in those that are killed: each
// sample is in one segment, or in what came behind the last one.
func TestRotateSamples(t *testing.T) {
	e2e.NeedMore(t)
	for _, name := range []string{"busy", "grows"} {
		t.Run(name, func(t *testing.T) { rotateSamples(t, name, "walk=incremental", "-engine=sample") })
		t.Run(name+" marker", func(t *testing.T) { rotateSamples(t, name, "walk=marker", "-engine=sample") })
		t.Run(name+" acct", func(t *testing.T) {
			e2e.NeedFull(t)
			rotateSamples(t, name, "", "-engine=acct", "-recursion=full", "-trigger=calls:307")
		})
		t.Run(name+" cct,acct", func(t *testing.T) {
			e2e.NeedFull(t)
			rotateSamples(t, name, "", "-engine=cct,acct", "-recursion=full", "-trigger=calls:307")
		})
		t.Run(name+" cpu", func(t *testing.T) {
			e2e.NeedFull(t)
			rotateSamples(t, name, "", "-metrics=calls,cpu", "-recursion=full")
		})
	}
}

// TestRotateRemoves looks at segments of a tree with samples all the time while they are made and removed: none has
// samples without the tree.
func TestRotateRemoves(t *testing.T) {
	e2e.NeedFull(t)
	exe := e2e.Build(t, "grows", "-metrics=calls,cpu", "-recursion=full")
	out := t.TempDir()
	cmd := e2e.Command(t, out, exe, "STEMMA_ROTATE=20ms,1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	looks, segments := 0, map[string]bool{}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); looks++ {
		dirs, err := filepath.Glob(filepath.Join(out, "grows.*.[0-9]*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			files, _ := os.ReadDir(dir)
			has := map[string]bool{}
			for _, f := range files {
				has[f.Name()] = true
			}
			if segments[dir] = segments[dir] || has["tree"]; has["samples"] && !has["tree"] {
				t.Fatalf("%s has the files %v", dir, files)
			}
		}
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d looks at %d segments", looks, len(segments)); len(segments) < 3 {
		t.Errorf("%d segments", len(segments))
	}
}

// rotateSamples runs a program that is busy with few stacks, or with ever new ones: its files grow all the time.
func rotateSamples(t *testing.T, name, settings string, flags ...string) {
	exe := e2e.Build(t, name, flags...)
	for i := range 6 {
		out := t.TempDir()
		cmd := e2e.Command(t, out, exe, "BUSY_TIME=1s", "BUSY_DEPTH=30", "PATHS=1000",
			fmt.Sprintf("STEMMA_ROTATE=%dms", 5+10*i), "STEMMA_SAMPLING="+settings)
		killed := i%2 == 0
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { stdin.Close() })
		if killed {
			time.AfterFunc(time.Duration(300+rand.IntN(500))*time.Millisecond, func() { cmd.Process.Kill() })
		}
		if err := cmd.Wait(); err != nil && !killed {
			t.Fatal(err)
		}
		whole, segments := sameParts(t, e2e.LiveDir(out, cmd))
		samples := uint64(0)
		for _, name := range []string{profile.Samples.Name, profile.ContextCPU.Name} {
			if c := whole.Column(name); c != nil {
				for _, n := range c.Values {
					samples += n
				}
			}
		}
		if len(segments) < 2 && !killed || samples < 20 && !killed {
			t.Errorf("%d samples, %d segments", samples, len(segments))
		}
		t.Logf("%d samples, %d segments", samples, len(segments))
	}
}

// TestRotateKeep keeps a few segments; what is dropped is counted, and the record of the run has it.
func TestRotateKeep(t *testing.T) {
	var r e2e.Result
	var p *profile.Profile
	var s *profile.Segment
	calls := uint64(100 * 20000)
	for ; ; calls *= 4 { // on a busy machine it takes longer until a segment is written
		r = e2e.Run(t, e2e.Build(t, "progress"), fmt.Sprint("STEPS=", calls/100), "STEMMA_ROTATE=1ms,3")
		r.OK(t)
		p = loaded(t, r.Dir)
		if s = p.Processes[0].Segment; s == nil || s.Closed >= 4 || calls > 1e9 {
			break
		}
	}
	segments := store.Segments(r.Dir)
	if s == nil || len(segments) != 3 || s.Closed < 4 || s.Dropped != s.Closed-3 || s.Failed != 0 {
		t.Fatalf("%d segments are there, and the header says %+v", len(segments), s)
	}
	if have := e2e.Calls(cct.New(p), "main.step"); have != calls {
		t.Errorf("%d calls, want %d", have, calls)
	}
	for i, path := range segments {
		one := loaded(t, path).Processes[0].Segment
		if want := s.Closed - 2 + uint64(i); one.Number != want || one.Began.After(one.Ended) {
			t.Errorf("%s says %+v, want number %d", path, one, want)
		}
	}
	if all := store.LiveDirs(filepath.Dir(r.Dir)); len(all) != 1 {
		t.Errorf("records are %q, want that of the whole run", all)
	}
}

// TestRotateRead has segments that somebody reads, or has given another name, when the program removes them: all of
// their bytes stay. What nobody can read is cut, where the file system is one that does it without a disk.
func TestRotateRead(t *testing.T) {
	out := t.TempDir()
	cmd := e2e.Command(t, out, e2e.Build(t, "grows", "-recursion=full"), "PATHS=4000", "STEMMA_ROTATE=50ms,1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := holder{t: t, out: out, other: filepath.Join(t.TempDir(), "shard.0")}
	ways := []func(string) (os.FileInfo, error){h.read, h.link, h.point}
	names := []string{"read", "linked", "pointed to"}
	for i, until := 0, time.Now().Add(5*time.Minute); i < 2*len(ways); {
		before, after := h.hold(ways[i%3])
		switch cut := i%3 == 2; {
		case before == 0:
			if time.Now().After(until) {
				t.Errorf("%d segments were removed while they were held", i)
				i = 2 * len(ways)
			}
			time.Sleep(time.Millisecond)
			continue
		case !cut && after != before, cut && cuts(t, out) && after > 1<<20:
			t.Errorf("a file of %d bytes that was %s has %d when its segment has gone", before, names[i%3], after)
		}
		i++
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestRotateCloses has a program that closes the descriptors of its segments while these are written, and opens files
// of its own, which get the numbers: nothing is written there.
func TestRotateCloses(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.Build(t, "closes", "-recursion=full")
	e2e.Retry(t, func() error {
		cmd := e2e.Command(t, t.TempDir(), exe, "STEMMA_ROTATE=20ms")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(20*time.Second, func() { in.Close() }) // or when it has done it often enough
		defer timer.Stop()
		out, err := cmd.Output()
		if in.Close(); err != nil {
			t.Fatal(err)
		}
		said := strings.TrimSpace(string(out))
		t.Log(said)
		if strings.Contains(said, "\n") || said == "0 taken" {
			return fmt.Errorf("it says %q, want descriptors taken, and no other bytes", said)
		}
		return nil
	})
}

// cuts reports whether a removed file is cut where dir is: on ext4 and tmpfs, if the kernel gives leases.
func cuts(t *testing.T, dir string) bool {
	t.Helper()
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	leases, err := os.ReadFile("/proc/sys/fs/leases-enable")
	return err == nil && strings.TrimSpace(string(leases)) == "1" && (st.Type == 0xEF53 || st.Type == 0x01021994)
}

// A holder has files of segments while the program removes them.
type holder struct {
	t          *testing.T
	out, other string
	file       *os.File
}

// read opens a file, link gives it another name, and point opens it in a way that the kernel does not count as open.
// Each returns what the file is, and again if the name is "": then the first name has gone.
func (h *holder) read(name string) (os.FileInfo, error) { return h.open(name, os.O_RDONLY) }

func (h *holder) point(name string) (os.FileInfo, error) {
	const path = 0x200000 // O_PATH
	return h.open(name, path)
}

func (h *holder) open(name string, flags int) (os.FileInfo, error) {
	if name == "" {
		defer h.file.Close()
		return h.file.Stat()
	}
	f, err := os.OpenFile(name, flags, 0)
	if err != nil {
		return nil, err
	}
	h.file = f
	return f.Stat()
}

func (h *holder) link(name string) (os.FileInfo, error) {
	if name == "" {
		defer os.Remove(h.other)
	} else if err := os.Link(name, h.other); err != nil {
		return nil, err
	}
	return os.Stat(h.other)
}

// hold has the counters of the newest segment, if there are many, until the program has removed the segment. It returns
// how large they were before and after that, and 0 if there was nothing to hold.
func (h *holder) hold(way func(string) (os.FileInfo, error)) (before, after int64) {
	h.t.Helper()
	segments, err := filepath.Glob(filepath.Join(h.out, "*.*-*.*", "tree"))
	if err != nil || len(segments) == 0 {
		return 0, 0
	}
	dir := filepath.Dir(slices.Max(segments))
	name := filepath.Join(dir, "shard.0")
	if info, err := os.Stat(name); err != nil || info.Size() < 2<<20 {
		return 0, 0
	}
	was, err := way(name)
	if err != nil {
		return 0, 0 // it has gone
	}
	gone := false
	for until := time.Now().Add(20 * time.Second); !gone && time.Now().Before(until); time.Sleep(time.Millisecond) {
		_, err := os.Stat(dir)
		gone = os.IsNotExist(err)
	}
	is, err := way("")
	if err != nil {
		h.t.Fatal(err)
	}
	if !gone {
		return 0, 0
	}
	return was.Size(), is.Size()
}

// TestNoReadahead asks the kernel how the files of a record are mapped: what is read ahead in a hole costs the
// goroutine that touches it.
func TestNoReadahead(t *testing.T) {
	e2e.OnlyHost(t, "QEMU passes such advice to no kernel")
	out := t.TempDir()
	cmd := e2e.Command(t, out, e2e.Build(t, "grows", "-recursion=full"), "STEMMA_ROTATE=1h")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer stdin.Close()
	ahead := "nothing was looked at"
	until := time.Now().Add(30 * time.Second)
	for ; ahead != "" && time.Now().Before(until); time.Sleep(time.Millisecond) {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		ahead = ""
		mapped, name := 0, ""
		for line := range strings.Lines(string(maps)) {
			if _, file, ok := strings.Cut(line, out); ok {
				name = filepath.Base(strings.TrimSpace(file))
			}
			if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && name != "" {
				if mapped++; !slices.Contains(strings.Fields(flags), "rr") { // or it was mapped just now
					ahead = name + " is mapped with " + strings.TrimSpace(flags)
				}
				name = ""
			}
		}
		if mapped < 5 { // tree, funcs, a shard, two files of sums
			ahead = fmt.Sprintf("%d files are mapped", mapped)
		}
	}
	if ahead != "" {
		t.Errorf("%s, want five or more, each with rr", ahead)
	}
}

// TestRotateFails has settings that mean nothing, and a directory that is removed while the
// program runs. It goes on as it would, and reports it in one line.
func TestRotateFails(t *testing.T) {
	exe := e2e.Build(t, "progress")
	r := e2e.Run(t, exe, steps, "STEMMA_ROTATE=often")
	want := "stemma: STEMMA_ROTATE=often is ignored: want a time"
	if r.Err != nil || !strings.HasPrefix(r.Stderr, want) || strings.Count(r.Stderr, "\n") != 1 ||
		r.Stdout != stepsOutput() {
		t.Errorf("%v, standard error is %q, want %q in it", r.Err, r.Stderr, want)
	}
	out := t.TempDir()
	cmd := e2e.Command(t, out, exe, "STEPS=100000", "STEMMA_ROTATE=1ms")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stdout, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(e2e.LiveDir(out, cmd)); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(stdout)
	if err != nil || len(said) != 8*(100000-1) {
		t.Errorf("%d bytes were printed, %v", len(said), err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if strings.Count(stderr.String(), "a segment of the record could not be written") != 1 {
		t.Errorf("standard error is %q", stderr.String())
	}
}
