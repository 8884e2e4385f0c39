package top

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/stemma-go/stemma/profile"
)

// Once prints a page of what happens in an interval.
func Once(w io.Writer, r *Reader, interval time.Duration, o Options) error {
	before, err := r.Read()
	if err != nil {
		return err
	}
	time.Sleep(r.Pause(interval))
	now, err := r.Read()
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, strings.Join(lines(Between(before, now, o), now, o), "\n")+"\n")
	return err
}

// lines returns a page as text.
func lines(p *Page, now *Reading, o Options) []string {
	what := "function"
	switch {
	case p.Note != "":
		what = "what"
	case o.Contexts:
		what = "context"
	}
	list := []string{title(now), p.summary(), p.heading() + what}
	for _, r := range p.Rows {
		list = append(list, p.line(r))
	}
	if len(p.Rows) == 0 && o.Search != "" {
		text := profile.Printable(o.Search)
		list = append(list, fmt.Sprintf("nothing found: no %s here has “%s” in its name", what, text))
	}
	if rest := p.rest(); rest != "" {
		list = append(list, rest)
	}
	return list
}

// title says which program it is.
func title(now *Reading) string {
	proc := now.Process
	name := "program"
	if len(proc.Args) > 0 {
		name = filepath.Base(proc.Args[0])
	}
	state := "running"
	if !now.Running {
		state = "has ended"
	}
	if !proc.Start.IsZero() && now.Running {
		state += " for " + now.Time.Sub(proc.Start).Round(time.Second).String()
	}
	return profile.Printable(fmt.Sprintf("%s · pid %d · %s", name, proc.PID, state))
}
