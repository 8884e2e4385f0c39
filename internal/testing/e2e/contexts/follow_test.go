package contexts

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// processes is how many real processes TestProcesses starts; 300 take a minute.
var processes = flag.Int("processes", 20, "start `N` processes in TestProcesses")

// buildTalk builds the program that logs from new contexts.
func buildTalk(t *testing.T, engine string) string {
	t.Helper()
	return e2e.BuildDir(t, filepath.Join("testdata", "talk"), "-engine="+engine, "-verify")
}

// said is a line of program talk after it was decoded. If it was not, ctx is an ID.
var said = regexp.MustCompile(`^line=(\d+) time=(\d+) ctx=(.*) way=([ab]+)\n$`)

// way returns the way that a decoded stack went, as program talk spells it.
func way(stack string) string {
	var b strings.Builder
	for _, frame := range slices.Backward(strings.Split(stack, " ←")) {
		if f := strings.Fields(frame); f[0] == "main.a" || f[0] == "main.b" {
			b.WriteString(strings.TrimPrefix(f[0], "main."))
		}
	}
	return b.String()
}

// A listener checks the lines that decode writes, one by one.
type listener struct {
	decoded, left int
	wrong         []string
	late          []time.Duration // from writing a line to reading it again
}

// line takes a line.
func (l *listener) line(text string) {
	m := said.FindStringSubmatch(text)
	switch {
	case m == nil || !strings.HasPrefix(m[3], "stm2") && way(m[3]) != m[4]:
		l.wrong = append(l.wrong, text)
	case strings.HasPrefix(m[3], "stm2"):
		l.left++
	default:
		l.decoded++
		written, _ := strconv.ParseInt(m[2], 10, 64)
		l.late = append(l.late, time.Since(time.Unix(0, written)))
	}
}

// listen takes the lines of a decode command.
func (l *listener) listen(t *testing.T, r io.Reader) {
	in := bufio.NewReader(r)
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			if text != "" {
				t.Errorf("after the last line: %q", text)
			}
			return
		}
		l.line(text)
	}
}

// start starts a command that ends with the test, if not before.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
}

// listenTo makes decode read what the first command writes, and listens. what the
// commands say beside that fails the test, but for that there is no record yet.
func listenTo(t *testing.T, writer *exec.Cmd, out string) *listener {
	t.Helper()
	decoder := exec.Command(e2e.Tool(t), "decode", out)
	var err error
	if decoder.Stdin, err = writer.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	text, err := decoder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	decoder.Stderr = &errs
	start(t, decoder)
	start(t, writer)
	l := &listener{}
	l.listen(t, text)
	if err := decoder.Wait(); err != nil {
		t.Errorf("decode: %v", err)
	}
	if rest := regexp.MustCompile("(?m)^stemma: no record yet: .*\n").ReplaceAllString(errs.String(), ""); rest != "" {
		t.Errorf("standard error: %s", rest)
	}
	return l
}

// check says what was heard, and wants all lines with their own stacks.
func (l *listener) check(t *testing.T, lines int) {
	t.Helper()
	slices.Sort(l.late)
	if n := len(l.late); n > 0 {
		t.Logf("%d lines decoded, %d not; read %v after they were written in the median, %v for 99 %%, %v at most",
			l.decoded, l.left, l.late[n/2], l.late[n*99/100], l.late[n-1])
	}
	if len(l.wrong) > 0 {
		t.Fatalf("%d wrong lines, %s", len(l.wrong), l.wrong[0])
	}
	if l.decoded != lines {
		t.Errorf("%d lines decoded, %d not, want %d", l.decoded, l.left, lines)
	}
}

// TestFollowPipe decodes the output of a program that begins later than decode and logs
// as fast as it can from new contexts, while it is re-encoded.
func TestFollowPipe(t *testing.T) {
	e2e.NeedMore(t)
	for _, c := range []struct{ name, engine, env string }{
		{"own", "dacce", paces[0].env}, {"forced", "dacce", paces[1].env}, {"lucce", "lucce", "LUCCE="},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "own" {
				e2e.NeedFull(t)
			}
			const lines = 3000
			out := filepath.Join(t.TempDir(), "later")
			cmd := e2e.Command(t, out, buildTalk(t, c.engine), c.env, noChecks)
			cmd.Args = append(cmd.Args, fmt.Sprint(lines), "0", "1")
			listenTo(t, cmd, out).check(t, lines)
		})
	}
}

// TestFollowTail decodes what tail -f reads of the log of a program that writes a
// thousand lines a second. How late the lines are is shown with -v.
func TestFollowTail(t *testing.T) {
	e2e.NeedMore(t)
	if _, err := exec.LookPath("tail"); err != nil {
		t.Skip("there is no tail; TestFollowPipe does the same without")
	}
	exe := buildTalk(t, "dacce")
	const lines, rate = 2000, 1000
	out := filepath.Join(t.TempDir(), "later")
	name := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := e2e.Command(t, out, exe, "STEMMA_REENCODE_US=1000", noChecks)
	cmd.Args = append(cmd.Args, fmt.Sprint(lines), fmt.Sprint(rate), "1")
	cmd.Stdout = file
	start(t, cmd)
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }() // so that tail sees that the process has gone
	listenTo(t, exec.Command("tail", "-n", "+1", "-f", fmt.Sprint("--pid=", cmd.Process.Pid), name), out).check(t,
		lines)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestProcesses decodes the lines of many processes, of one program and mixed, with the
// directory that all recorded in: each to its own stack. With any one record removed, the
// lines of its process are left as they are, and the others are right.
func TestProcesses(t *testing.T) {
	e2e.NeedMore(t)
	exe := buildTalk(t, "dacce")
	const each = 10
	out := t.TempDir()
	lines := make(map[string][]string) // by record
	var all []string
	for i := range *processes {
		cmd := e2e.Command(t, out, exe, noChecks)
		cmd.Args = append(cmd.Args, fmt.Sprint(each), "0", fmt.Sprint(i))
		text, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		dir := e2e.LiveDir(out, cmd)
		lines[dir] = slices.Collect(strings.Lines(string(text)))
		all = append(all, lines[dir]...)
	}
	if len(lines) != *processes || len(all) != each**processes {
		t.Fatalf("%d records and %d lines of %d processes", len(lines), len(all), *processes)
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	decodeLog := func() *listener {
		cmd := exec.Command(e2e.Tool(t), "decode", out)
		cmd.Stdin = strings.NewReader(strings.Join(all, ""))
		text, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		l := &listener{}
		l.listen(t, strings.NewReader(string(text)))
		l.late = nil // the lines were written long ago
		return l
	}
	decodeLog().check(t, len(all))
	t.Logf("%d lines of %d processes", len(all), *processes)
	for dir := range lines {
		aside := filepath.Join(t.TempDir(), "aside")
		if err := os.Rename(dir, aside); err != nil {
			t.Fatal(err)
		}
		if l := decodeLog(); len(l.wrong) > 0 || l.left != each || l.decoded != len(all)-each {
			t.Errorf("without the record of one process: %d lines decoded, %d not, wrong are %q", l.decoded, l.left,
				l.wrong)
		}
		if err := os.Rename(aside, dir); err != nil {
			t.Fatal(err)
		}
	}
}
