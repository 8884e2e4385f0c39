package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record/store"
)

// A cost is what one segment of a program is, on average, but for the memory.
type cost struct {
	program  string
	segments float64
	contexts float64 // that have counted something
	stored   float64 // bytes in a bucket
	pushed   float64 // bytes that Pyroscope gets, before compression
	series   float64 // metrics that Pyroscope has of the process
	rows     float64 // of the table of values
	tables   float64 // bytes of Parquet
	agent    float64 // CPU seconds of the agent: seal, upload, push
	read     float64 // CPU seconds of a report that adds the segments up
	memory   float64 // bytes of that report, for all of the segments together
}

// A measurer has the programs, and a server that counts what is pushed to it.
type measurer struct {
	*lab.Lab
	options
	bench  *measure.Bench
	fleet  string // the command
	sink   *http.Server
	url    string
	pushed atomic.Int64
	costs  []*cost
}

func newMeasurer(l *lab.Lab, o options) (*measurer, error) {
	m := &measurer{Lab: l, options: o, bench: l.Bench(10 * time.Minute)}
	m.fleet = filepath.Join(l.Work, "stemma-fleet") // beside stemma
	cmd := exec.Command("go", "build", "-o", m.fleet, ".")
	cmd.Dir = filepath.Join(filepath.Dir(l.Tree.Bench), "cmd", "stemma-fleet")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m.url, m.sink = "http://"+listener.Addr().String(), &http.Server{Handler: m}
	go m.sink.Serve(listener)
	return m, nil
}

func (m *measurer) close() { _ = m.sink.Close() }

// ServeHTTP takes what is pushed, and counts the bytes of the profiles: each is compressed in the request.
func (m *measurer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if i := bytes.Index(body, []byte{0x1f, 0x8b, 8}); i >= 0 && strings.HasSuffix(r.URL.Path, "/Push") {
		if z, err := gzip.NewReader(bytes.NewReader(body[i:])); err == nil {
			z.Multistream(false)
			n, _ := io.Copy(io.Discard, z)
			m.pushed.Add(n)
		}
	}
}

// measure runs a program, collects what it has recorded, and reads that.
func (m *measurer) measure(p *program.Program) (*cost, error) {
	if err := m.SetUp(p); err != nil {
		return nil, err
	}
	bin, err := m.bench.Build(p, measure.Variant{Name: "cct", Flags: []string{"-engine=cct", "-metrics=" + m.metrics},
		Env: []string{"STEMMA_ROTATE=" + m.every.String()}})
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(m.Work, p.Name)
	out, bucket := filepath.Join(dir, "out"), filepath.Join(dir, "bucket")
	if _, err := m.bench.Run(bin, out); err != nil {
		return nil, err
	}
	c := &cost{program: p.Name}
	before := m.pushed.Load()
	used, err := m.command(m.fleet, "collect", "-once", "-store=file://"+bucket, "-service="+p.Name,
		"-to=pyroscope="+m.url, out)
	if err != nil {
		return nil, err
	}
	c.pushed, c.agent = float64(m.pushed.Load()-before), used.cpu
	files, err := sealed(bucket)
	if err != nil {
		return nil, err
	}
	if c.segments = float64(len(files)); len(files) < 2 {
		return nil, fmt.Errorf("%d segments, which is too few", len(files))
	}
	if c.stored, err = size(bucket); err != nil {
		return nil, err
	}
	if err := c.count(files); err != nil {
		return nil, err
	}
	if used, err = m.command(m.Stemma, "report", "-store=file://"+bucket); err != nil {
		return nil, err
	}
	c.read, c.memory = used.cpu, used.memory
	tables := filepath.Join(dir, "tables")
	if _, err = m.command(m.fleet, "parquet", "-o="+tables, "-store=file://"+bucket); err != nil {
		return nil, err
	}
	if c.tables, err = size(tables); err != nil {
		return nil, err
	}
	for _, sum := range []*float64{&c.contexts, &c.stored, &c.pushed, &c.rows, &c.tables, &c.agent, &c.read} {
		*sum /= c.segments
	}
	return c, errors.Join(os.RemoveAll(out), os.RemoveAll(bucket), os.RemoveAll(tables))
}

// count counts the contexts of records that have counted something, and their values.
func (c *cost) count(files []string) error {
	for _, file := range files {
		_, p, err := store.LoadSum([]string{file})
		if err != nil {
			return err
		}
		v := cct.ValuesOf(p.Profile, false)
		c.series = float64(len(v.Types))
		for i := range v.Nodes {
			some := false
			for k := range v.Types {
				if v.Counts[k][i] != 0 {
					some = true
					c.rows++
				}
			}
			if some {
				c.contexts++
			}
		}
	}
	return nil
}

// usage is what a command has taken.
type usage struct{ cpu, memory float64 } // seconds, bytes

// command runs a command, whose cache is in the directory of the lab.
func (m *measurer) command(words ...string) (usage, error) {
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(m.Work, "cache"))
	var text strings.Builder
	cmd.Stderr = &text
	if err := cmd.Run(); err != nil {
		return usage{}, fmt.Errorf("%q: %w\n%s", words, err, text.String())
	}
	s := cmd.ProcessState
	return usage{(s.UserTime() + s.SystemTime()).Seconds(), 1024 * float64(s.SysUsage().(*syscall.Rusage).Maxrss)}, nil
}

// sealed returns the records in a directory.
func sealed(dir string) (list []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, store.SealedSuffix) {
			list = append(list, path)
		}
		return err
	})
	return list, err
}

// size returns how many bytes the files in a directory have.
func size(dir string) (bytes float64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += float64(info.Size())
		}
		return err
	})
	return bytes, err
}
