// Package view serves the page of package page, of records on disk.
package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/decode"
	diffcmd "github.com/stemma-go/stemma/internal/command/diff"
	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/diff"
	"github.com/stemma-go/stemma/internal/page"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/store"
)

// Open reads the records at paths, the newest one if there are none, and what they are to be
// compared with if basePath is not "". Sources are what was read.
func Open(paths []string, basePath string) (v *page.View, sources []store.Source, err error) {
	var baseline *diff.Side
	if basePath != "" {
		over := progress.Step("reading "+basePath, "", nil)
		baseline, _, err = diffcmd.LoadSide(basePath)
		if over(); err != nil {
			return nil, nil, err
		}
	}
	var noCounts error
	if baseline != nil {
		noCounts = base.Usagef("view: -base: a record of context IDs has no counts to compare")
	}
	load := func() (*page.Data, error) {
		rec, p, err := store.LoadCounts(paths, noCounts)
		if err != nil {
			return nil, err
		}
		if sources == nil {
			sources = rec.Sources
		}
		if len(paths) == 0 {
			paths = []string{rec.Sources[0].Path} // a reading later must be of the same
		}
		return data(rec.Sources, p, baseline), nil
	}
	defer progress.Step("making the trees", "", nil)()
	v, err = page.New(page.Options{Load: load, Decode: decoder(paths), Open: openSource, OpenPublic: openPublic})
	return v, sources, err
}

// decoder returns what decodes IDs with the records at paths.
func decoder(paths []string) page.Decode {
	set, err := decode.Open(paths...)
	if err != nil || set.Empty() != nil {
		return nil // a record of calls: it has no IDs
	}
	return set.Decode
}

// data describes what was read.
func data(sources []store.Source, p *record.Record, baseline *diff.Side) *page.Data {
	d := &page.Data{Title: filepath.Base(sources[0].Path), Record: p, Base: baseline}
	d.Records, d.Warnings = store.SourceLines(sources), report.Warnings(p.Profile)
	d.Programs = report.ProcessLines(p.Profile)
	for _, s := range sources {
		d.Running = d.Running || s.Running
	}
	return d
}

// Serve serves a page at addr until it is interrupted. It says where on stderr, and opens
// a browser if it is told to and there is a screen.
func Serve(v *page.View, addr string, browser bool, stderr io.Writer) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("view: %w; choose another address with -http", err)
	}
	host, _, _ := net.SplitHostPort(addr) // Listen has parsed it
	url := "http://" + l.Addr().String() + "/"
	fmt.Fprintf(stderr, "stemma: serving %s (end with Ctrl-C)\n", url)
	if browser {
		openBrowser(url)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := &http.Server{Handler: v.Handler(host), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = s.Close() // Serve returns, whatever is still being sent
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("view: %w", err)
	}
	return nil
}

// openBrowser opens a page where there is a screen. If it cannot, the address is on the
// terminal.
func openBrowser(url string) {
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return
	}
	if c := exec.Command("xdg-open", url); c.Start() == nil {
		go func() { _ = c.Wait() }()
	}
}
