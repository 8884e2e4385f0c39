package replay

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stemma-go/stemma/internal/encoder"
)

// A dump is the state of reading what uftrace dump prints. A line is
//
//	TIME TID: [entry] NAME(ADDRESS) depth: N
//
// or the same with "[exit ]"; other lines are headers, or events of other kinds.
type dump struct {
	funcs map[string]encoder.Func
	sites map[[2]encoder.Func]encoder.Site
	tasks map[encoder.Goroutine]bool
}

func newDump() *dump {
	return &dump{make(map[string]encoder.Func), make(map[[2]encoder.Func]encoder.Site),
		make(map[encoder.Goroutine]bool)}
}

// isDump reports whether a first line is one of uftrace dump.
func isDump(line string) bool {
	if strings.HasPrefix(line, "uftrace file header: ") || strings.HasPrefix(line, "reading ") {
		return true
	}
	_, ok := cutRecord(line)
	return ok
}

// A dumpRecord is a line of the dump that concerns a stack.
type dumpRecord struct {
	task  string
	entry bool
	name  string // with its address, as functions of one name can be several
	depth string
}

// cutRecord takes such a line apart.
func cutRecord(line string) (dumpRecord, bool) {
	head, rest, ok := strings.Cut(line, ": [")
	what, rest, ok2 := strings.Cut(rest, "] ")
	name, depth, ok3 := strings.Cut(rest, " depth: ")
	times := strings.Fields(head)
	what = strings.TrimSpace(what)
	if !ok || !ok2 || !ok3 || len(times) != 2 || what != "entry" && what != "exit" {
		return dumpRecord{}, false
	}
	depth, _, _ = strings.Cut(depth, " ")
	return dumpRecord{times[1], what == "entry", name, depth}, true
}

// parseDump parses a line. Depths tell which exits are not in the trace, after a
// longjmp. Entries that are missing cannot be made up for.
func (r *Reader) parseDump(line string) (Event, bool, error) {
	if strings.Contains(line, ": [lost") {
		return Event{}, false, fmt.Errorf("records were lost; record again with a larger buffer (uftrace record -b)")
	}
	rec, ok := cutRecord(line)
	if !ok {
		return Event{}, false, nil
	}
	task, err := strconv.ParseUint(rec.task, 10, 32)
	if err != nil {
		return Event{}, false, fmt.Errorf("task %.20q is no number", rec.task)
	}
	depth, err := strconv.Atoi(rec.depth)
	if err != nil || depth < 0 {
		return Event{}, false, fmt.Errorf("depth %.20q is no number", rec.depth)
	}
	// An entry at depth N makes frame N+1, an exit leaves it.
	have := r.shadow.Depth(encoder.Goroutine(task))
	if rec.entry && depth > have || !rec.entry && depth >= have {
		return Event{}, false,
			fmt.Errorf("depth %d, but %d functions of task %d were entered: the trace does not begin with the "+
				"program, or records were lost", depth, have, task)
	}
	r.dumped(encoder.Goroutine(task), depth, rec)
	return Event{}, false, nil
}

// dumped queues the events of a record: a start if the task is new, an unwinding if
// there are more frames than its depth, and the call.
func (r *Reader) dumped(task encoder.Goroutine, depth int, rec dumpRecord) {
	d := r.dump
	have, caller := r.shadow.Depth(task), r.shadow.Func(task)
	if !d.tasks[task] {
		d.tasks[task] = true
		if !r.shadow.Alive(task) {
			r.queue = append(r.queue, Event{Kind: Start, G: task})
		}
	}
	if have > depth {
		r.queue = append(r.queue, Event{Kind: Unwind, G: task, Depth: depth})
		caller = r.shadow.FuncAt(task, depth)
	}
	if !rec.entry {
		return
	}
	callee := r.dumpedFunc(rec.name)
	site, ok := d.sites[[2]encoder.Func{caller, callee}]
	if !ok {
		site = r.p.AddSite(caller, encoder.Static)
		d.sites[[2]encoder.Func{caller, callee}] = site
	}
	r.queue = append(r.queue, Event{Kind: Call, G: task, Call: encoder.Call{Site: site, Func: callee}})
}

// dumpedFunc returns the function of that name.
func (r *Reader) dumpedFunc(name string) encoder.Func {
	f, ok := r.dump.funcs[name]
	if !ok {
		f = r.p.AddFunc()
		r.dump.funcs[name] = f
	}
	return f
}
