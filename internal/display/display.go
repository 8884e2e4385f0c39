// Package display serves the page of package view, of records on disk.
package display

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

	"github.com/stemma-go/stemma/internal/diff"
	"github.com/stemma-go/stemma/internal/exit"
	"github.com/stemma-go/stemma/internal/gate"
	"github.com/stemma-go/stemma/internal/lookup"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/report"
	"github.com/stemma-go/stemma/internal/store"
	"github.com/stemma-go/stemma/internal/view"
)

// Open reads the records at paths, the newest one if there are none, and what they are to be
// compared with if basePath is not "". Sources are what was read.
func Open(paths []string, basePath string) (v *view.View, sources []store.Source, err error) {
	var base *diff.Side
	if basePath != "" {
		over := progress.Step("reading "+basePath, "", nil)
		base, _, err = gate.LoadSide(basePath)
		if over(); err != nil {
			return nil, nil, err
		}
	}
	load := func() (*view.Data, error) {
		rec, err := store.Load(paths)
		if err != nil {
			return nil, err
		}
		if sources == nil {
			sources = rec.Sources
		}
		if len(paths) == 0 {
			paths = []string{rec.Sources[0].Path} // a reading later must be of the same
		}
		return data(rec, base)
	}
	defer progress.Step("making the trees", "", nil)()
	v, err = view.New(view.Options{Load: load, Decode: decoder(paths), Open: openSource, OpenPublic: openPublic})
	return v, sources, err
}

// decoder returns what decodes IDs with the records at paths.
func decoder(paths []string) view.Decode {
	set, err := lookup.Open(paths...)
	if err != nil || set.Empty() != nil {
		return nil // a record of calls: it has no IDs
	}
	return set.Decode
}

// data describes what was read.
func data(rec *store.Records, base *diff.Side) (*view.Data, error) {
	p, err := rec.Merged()
	if err != nil {
		return nil, err
	}
	if base != nil && p.IDs != nil {
		return nil, exit.Usagef("view: -base: a record of context IDs has no counts to compare")
	}
	d := &view.Data{Title: filepath.Base(rec.Sources[0].Path), Record: p, Base: base}
	d.Records, d.Warnings = store.SourceLines(rec.Sources), report.Warnings(p.Profile)
	d.Programs = report.ProcessLines(p.Profile)
	for _, s := range rec.Sources {
		d.Live = d.Live || s.Running
	}
	return d, nil
}

// Serve serves a page at addr until it is interrupted. It says where on stderr, and opens
// a browser if it is told to and there is a screen.
func Serve(v *view.View, addr string, browser bool, stderr io.Writer) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("view: %w; choose another address with -http", err)
	}
	host, _, _ := net.SplitHostPort(addr) // Listen has parsed it
	url := "http://" + l.Addr().String() + "/"
	fmt.Fprintf(stderr, "stemma: serving %s; end with Ctrl-C\n", url)
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
