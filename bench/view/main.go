// View measures the page of stemma view in a headless Chromium: it makes a profile of a million
// contexts, opens it, and goes through the views with real keys and the wheel. It prints how long it
// took until something was to be seen, the longest time between two frames, and what memory
// the tab took, and fails if one of them is too much.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/table"
	"github.com/stemma-go/stemma/internal/testing/browser"
)

// What a page may take at most.
const (
	maxPaint  = 2 * time.Second
	maxFrame  = 100 * time.Millisecond
	maxMemory = 300 << 20
)

type options struct {
	contexts int
	record   string // another one to open
	shots    string // directory for pictures
	slow     bool   // list all long frames
}

func main() {
	o := new(options)
	flag.IntVar(&o.contexts, "contexts", 1_000_000, "`contexts` of the profile that is made")
	flag.StringVar(&o.record, "record", "", "open this `record` and make none")
	flag.StringVar(&o.shots, "shots", "", "write pictures of the views into this `directory`")
	flag.BoolVar(&o.slow, "frames", false, "list the frames that took longer than 50 ms, and what they did")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "view:", err)
		os.Exit(1)
	}
}

func (o *options) run() error {
	path, err := browser.Find()
	if err != nil {
		return err
	}
	l, err := lab.Open("view")
	if err != nil {
		return err
	}
	defer l.Close()
	now, was := o.record, ""
	if now == "" {
		now, was = filepath.Join(l.Work, "now.stemma"), filepath.Join(l.Work, "was.stemma")
		for i, name := range []string{now, was} {
			if err := writeRecord(name, o.contexts, uint64(i)); err != nil {
				return err
			}
		}
	}
	b, err := browser.Start(path, filepath.Join(l.Work, "browser"))
	if err != nil {
		return err
	}
	defer b.Close()
	m, err := o.measure(b, l.Stemma, now)
	if err != nil {
		return err
	}
	if o.shots != "" {
		if err := o.photograph(b, l.Stemma, now, was); err != nil {
			return err
		}
	}
	return m.print()
}

// print prints what was measured. The error says what was too much.
func (m *measured) print() error {
	t := &table.Table{Title: "The page of stemma view", Left: 2,
		Head: []string{"what", "that is", "measured", "at most"}}
	t.Add("first paint", "from the request to the first frame with the graph", seconds(m.paint), seconds(maxPaint))
	t.Add("worst frame", m.worst.during, milliseconds(m.worst.took), milliseconds(maxFrame))
	t.Add("memory of the tab", "of its process, but for the browser's code, at its peak", megabytes(m.memory),
		megabytes(maxMemory))
	t.Notes = []string{fmt.Sprintf("The record was read in %s before. %d frames in %d steps, median %s. "+
		"With the browser's code the tab had %s.",
		seconds(m.read), m.frames, m.steps, milliseconds(m.median), megabytes(m.resident))}
	if err := t.Text(os.Stdout); err != nil {
		return err
	}
	if m.paint > maxPaint || m.worst.took > maxFrame || m.memory > maxMemory {
		return fmt.Errorf("more than it may be; the machine may have been busy, -frames says what long frames did")
	}
	return nil
}

func seconds(d time.Duration) string      { return fmt.Sprintf("%.2f s", d.Seconds()) }
func milliseconds(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d)/1e6) }
func megabytes(n int) string              { return fmt.Sprintf("%d MB", n>>20) }
