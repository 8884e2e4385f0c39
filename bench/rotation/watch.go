package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/machine"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/store"
)

// nodes is the bound of a record, which it reaches within seconds.
const nodes = "200000"

// A watched program makes ever new contexts.
type watched struct {
	name  string
	dir   string // has what it records
	logs  bool   // prints context IDs
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   bytes.Buffer
	log   string // a file with the IDs that it has printed
	agent *command
}

// A command runs beside a program.
type command struct {
	cmd *exec.Cmd
	log string // a file
}

// watch runs programs for a while and prints what they take.
func (o *options) watch() error {
	l, err := lab.Open("rotation")
	if err != nil {
		return err
	}
	defer l.Close()
	fleet := filepath.Join(l.Work, "stemma-fleet") // beside stemma
	cmd := exec.Command("go", "build", "-o", fleet, ".")
	cmd.Dir, cmd.Stderr = filepath.Join(filepath.Dir(l.Tree.Bench), "cmd", "stemma-fleet"), os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("stemma-fleet: %w", err)
	}
	rows := []*watched{{name: "cct"}, {name: "dacce", logs: true}, {name: "lucce", logs: true}}
	defer func() {
		for _, w := range rows {
			w.kill()
		}
	}()
	for _, w := range rows {
		if err := w.start(l, fleet); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	machine.Describe(l.Tree).Print()
	fmt.Println("\n| s | program | memory MB | agent MB | record MB | segments | marks | files | bucket MB |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	began := time.Now()
	for n := time.Duration(1); n*o.sample <= o.month; n++ {
		time.Sleep(time.Until(began.Add(n * o.sample)))
		for _, w := range rows {
			if err := w.show(time.Since(began)); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	var errs []error
	for _, w := range rows {
		if err := w.end(l, fleet); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", w.name, err))
		}
	}
	return errors.Join(errs...)
}

// start builds and starts a program that ends segments, with an agent beside it.
func (w *watched) start(l *lab.Lab, fleet string) error {
	w.dir = filepath.Join(l.Work, w.name)
	exe := filepath.Join(l.Work, "service."+w.name)
	flags := []string{"-engine=" + w.name, "-nodes=" + nodes}
	if !w.logs {
		flags = append(flags, "-recursion=full")
	}
	if err := build(l, exe, "./rotation/service", flags...); err != nil {
		return err
	}
	if err := os.Mkdir(w.dir, 0o777); err != nil {
		return err
	}
	w.log = filepath.Join(l.Work, w.name+".log")
	log, err := os.Create(w.log)
	if err != nil {
		return err
	}
	defer log.Close()
	w.cmd = exec.Command(exe)
	w.cmd.Stderr, w.cmd.Stdout = log, &w.out
	w.cmd.Env = append(os.Environ(), "STEMMA_OUT="+filepath.Join(w.dir, "out"), "STEMMA_ROTATE=1s,1MiB,30,25s")
	if w.logs {
		w.cmd.Args = append(w.cmd.Args, "-log")
	}
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := w.cmd.Start(); err != nil {
		return err
	}
	w.agent = &command{log: filepath.Join(l.Work, w.name+".agent.log")}
	if log, err = os.Create(w.agent.log); err != nil {
		return err
	}
	defer log.Close()
	w.agent.cmd = exec.Command(fleet, w.collect("-every=2s")...)
	w.agent.cmd.Stderr = log
	return w.agent.cmd.Start()
}

// collect returns the arguments of an agent.
func (w *watched) collect(flags ...string) []string {
	return append(append([]string{"collect", "-delete", "-store=file://" + filepath.Join(w.dir, "bucket")}, flags...),
		filepath.Join(w.dir, "out"))
}

// kill ends what runs.
func (w *watched) kill() {
	if w.cmd != nil && w.cmd.ProcessState == nil {
		_ = w.cmd.Process.Kill()
		_ = w.cmd.Wait()
	}
	if w.agent != nil && w.agent.cmd.ProcessState == nil {
		_ = w.agent.cmd.Process.Kill()
		_ = w.agent.cmd.Wait()
	}
}

// show prints what a program takes now.
func (w *watched) show(at time.Duration) error {
	out := filepath.Join(w.dir, "out")
	disk, err := measure.DiskUse(out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a segment goes meanwhile
		return err
	}
	files, marks, segments := 0, 0, 0
	err = filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		_, _, segment := store.SegmentOf(path)
		switch {
		case d == nil || errors.Is(err, fs.ErrNotExist):
		case filepath.Base(filepath.Dir(filepath.Dir(path))) == ".collected":
			marks++
		case d.IsDir() && segment:
			segments++
		case !d.IsDir():
			files++
		}
		return nil
	})
	if err != nil {
		return err
	}
	bucket, err := measure.DiskUse(filepath.Join(w.dir, "bucket"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fmt.Printf("| %.0f | %s | %s | %s | %s | %d | %d | %d | %s |\n", at.Seconds(), w.name,
		megabytes(resident(w.cmd.Process.Pid)), megabytes(resident(w.agent.cmd.Process.Pid)), megabytes(disk), segments,
		marks, files, megabytes(bucket))
	return nil
}

// resident returns the resident memory of a process, without the pages of files that it has mapped.
func resident(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(data, []byte("\nRssAnon:"))
	var kb int64
	if _, err := fmt.Sscan(string(rest), &kb); err != nil {
		return 0
	}
	return kb << 10
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f", float64(n)/1e6) }

// end ends a program, and compares what it says with what is on record.
func (w *watched) end(l *lab.Lab, fleet string) error {
	if err := errors.Join(w.in.Close(), w.cmd.Wait()); err != nil {
		return err
	}
	if err := w.agent.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if err := w.agent.cmd.Wait(); err != nil {
		return err
	}
	time.Sleep(2 * time.Second) // the record must not have changed just now
	var said, recorded sums
	if !w.logs {
		_, err := fmt.Sscan(w.out.String(), &said.lefts, &said.rights)
		if err != nil {
			return fmt.Errorf("%q: %w", w.out.String(), err)
		}
		if recorded, err = w.recorded(); err != nil {
			return err
		}
	}
	cmd := exec.Command(fleet, w.collect("-once")...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	if w.logs {
		return w.decode(l, "-store=file://"+filepath.Join(w.dir, "bucket"))
	}
	objects, err := filepath.Glob(filepath.Join(w.dir, "bucket", "*", "*", "*", "*.stemma"))
	if err != nil {
		return err
	}
	_, sum, err := store.LoadSum(objects)
	if err != nil {
		return err
	}
	uploaded := callsOf(sum)
	log, err := os.ReadFile(w.agent.log)
	if err != nil {
		return err
	}
	fmt.Printf("%d objects are in the bucket; the agent said %d times that it came too late.\n"+
		"main.left and main.right: %v said, %v in the record, %v in the bucket\n", len(objects),
		strings.Count(string(log), "gone before they were uploaded"), said, recorded, uploaded)
	if recorded != said || uploaded != said {
		return errors.New("the sums differ")
	}
	return nil
}

// sums are the calls of the two functions.
type sums struct{ lefts, rights uint64 }

func callsOf(r *record.Record) (s sums) {
	t := cct.New(r.Profile)
	for _, n := range t.Nodes {
		switch t.Funcs[n.Func].Name {
		case "main.left":
			s.lefts += n.Count
		case "main.right":
			s.rights += n.Count
		}
	}
	return s
}

// recorded returns the calls in the record of the whole run, and prints what it says of segments.
func (w *watched) recorded() (sums, error) {
	dirs, err := store.FindRecords(filepath.Join(w.dir, "out"))
	if err != nil {
		return sums{}, err
	}
	whole := ""
	for _, dir := range dirs {
		if _, _, ok := store.SegmentOf(dir); !ok {
			whole = dir
		}
	}
	r, err := record.Open(os.DirFS(whole))
	if err != nil {
		return sums{}, err
	}
	s := r.Processes[0].Segment
	fmt.Printf("\n%s: %d segments ended, %d dropped by the program, %d not written; ", w.name, s.Closed, s.Dropped,
		s.Failed)
	return callsOf(r), nil
}

// decode decodes all IDs that a program has printed, one a line, by the records that an argument tells.
func (w *watched) decode(l *lab.Lab, records string) error {
	log, err := os.ReadFile(w.log)
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd := exec.Command(l.Stemma, "decode", records)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(log), &said
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, said.String())
	}
	lines, whole, cut := bytes.Count(log, []byte("\n")), bytes.Count(text, []byte("[main]")),
		bytes.Count(text, []byte("[truncated: there was no room for more contexts]"))
	fmt.Printf("\n%s: %d lines with IDs, %d decoded as far as [main], %d cut for want of room. %s\n", w.name, lines,
		whole, cut, strings.TrimSpace(said.String()))
	if whole+cut != lines {
		return errors.New("IDs are not decoded")
	}
	return nil
}
