package report

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/profile"
)

// A RequestID is an identifier of samples that the program asked for, as a flag.
type RequestID struct {
	Value uint64
	Given bool
}

// Set takes the identifier from a flag.
func (id *RequestID) Set(s string) (err error) {
	id.Given = true
	if id.Value, err = strconv.ParseUint(s, 0, 64); err != nil {
		return base.Usagef("have %q, want a number from 0 to %d", s, uint64(1<<64-1))
	}
	return nil
}

// Of returns the requests of p that are asked for: all, or those with the identifier. If there are none
// the error says why that may be.
func (id *RequestID) Of(p *profile.Profile) ([]profile.Request, error) {
	list := p.Requests
	if id.Given {
		list = p.RequestsOf(id.Value)
	}
	switch {
	case len(p.Requests) == 0 && slices.ContainsFunc(p.Processes, isSegment):
		return nil, base.Usagef("no requests in a segment; the live directory of the program has them")
	case len(p.Requests) == 0:
		return nil, base.Usagef("no requests in this profile: a program makes them by stemma.Sample and "+
			"stemma.SampleLabeled, if it was built with %s", engine.Giving(engine.Samples))
	case len(list) == 0:
		return nil, base.Usagef("no sample of request %d among %s that the program asked for; report -requests lists "+
			"them", id.Value, humanize.Plural(len(p.Requests), "sample"))
	}
	return list, nil
}

// isSegment reports whether a segment that has ended was read of a process.
func isSegment(p profile.Process) bool { return p.Segment != nil && !p.Segment.Ended.IsZero() }

// requests prints the samples that the program asked for: each in a line, the newest first, or
// all that have one identifier, with their stacks.
func (r *reporter) requests(p *profile.Profile) error {
	list, err := r.o.Request.Of(p)
	if err != nil {
		return err
	}
	list = slices.Clone(list)
	slices.Reverse(list)
	r.head("%20s %14s %10s  %s", "request", "time", "goroutine", "call path")
	for _, q := range list[:r.cut(len(list))] {
		stack := requestStack(p, q)
		line := ContextLine(stack)
		if r.o.Request.Given {
			line = stack[0].Func + position(stack[0].File, stack[0].Line)
		}
		r.printf("%20d %14s %10d  %s\n", q.ID, q.Time.Round(time.Microsecond), q.Goroutine, line)
		if !r.o.Request.Given {
			continue
		}
		for _, f := range stack[1:] {
			r.printf("%20s %14s %10s    %s%s\n", "", "", "", f.Func, position(f.File, f.Line))
		}
	}
	r.more(len(list), "sample")
	return nil
}

// requestStack returns the frames of a request, innermost first; there is at least one. File and line are
// where each frame was.
func requestStack(p *profile.Profile, q profile.Request) (stack []cct.Frame) {
	for _, f := range p.Stack(q.Node) {
		name := cct.DisplayName(p.String(f.Func))
		stack = append(stack, cct.Frame{Func: name, File: p.String(f.File), Line: int(f.Line)})
	}
	if stack == nil {
		stack = []cct.Frame{{Func: "[root]"}}
	}
	return stack
}

// The JSON form of requests.
type jsonRequestList struct {
	Records   []JsonRecord  `json:"records"`
	Processes []jsonProcess `json:"processes"`
	Requests  []jsonRequest `json:"requests"`
}

type jsonRequest struct {
	ID        uint64        `json:"id"`
	Time      time.Duration `json:"time"` // since the record began
	Goroutine uint64        `json:"goroutine"`
	Pending   bool          `json:"pending,omitempty"`
	Stack     []JsonFrame   `json:"stack"`
}

// jsonRequests writes the requests, oldest first.
func jsonRequests(w io.Writer, p *profile.Profile, o *Options) error {
	list, err := o.Request.Of(p)
	if err != nil {
		return err
	}
	if o.TopGiven && o.Top >= 0 {
		list = list[max(0, len(list)-o.Top):]
	}
	out := jsonRequestList{JsonRecords(o.Sources), jsonProcesses(p), nil}
	for _, q := range list {
		out.Requests = append(out.Requests,
			jsonRequest{q.ID, q.Time, q.Goroutine, q.Pending, JsonStack(requestStack(p, q))})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "\t")
	return enc.Encode(out)
}
