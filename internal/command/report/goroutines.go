package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/profile"
)

// A creation is a context in which goroutines began that exist.
type creation struct {
	stack []cct.Frame // of the go statement, or of the root
	count uint64
	waits []waiting
}

// A waiting is what some of them wait for.
type waiting struct {
	reason string
	stack  []cct.Frame // where, down to the function that the goroutine began with
	count  uint64
	idle   uint64 // the sum of their times, in nanoseconds
}

// goroutines prints the goroutines that exist, by the context that made them, with what they wait for.
func (r *reporter) goroutines(p *profile.Profile) error {
	list, err := r.creations(p)
	if err != nil {
		return err
	}
	r.head("%10s  %s", "goroutines", "what they wait for, since when, and who started them")
	if len(list) == 0 {
		r.empty()
	}
	for _, c := range list[:r.cut(len(list))] {
		r.printf("%10s  started by\n", humanize.Commas(c.count))
		for _, f := range c.stack {
			r.printf("%10s      %s%s%s\n", "", f.Func, position(f.File, f.Line), mark(f.Via, f.Fold))
		}
		for _, w := range c.waits {
			r.printf("%10s    %s %s%s\n", "", humanize.Commas(w.count), w.reason, since(w))
			for _, f := range w.stack {
				r.printf("%10s        %s%s%s\n", "", f.Func, position(f.File, f.Line), mark(f.Via, f.Fold))
			}
		}
	}
	r.more(len(list), "context")
	return nil
}

// since says for how long goroutines have waited: in the mean, if there are several.
func since(w waiting) string {
	if w.idle == 0 {
		return ""
	}
	mean := time.Duration(w.idle / w.count)
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if mean >= 10*unit {
			mean = mean.Round(unit)
			break
		}
	}
	if w.count > 1 {
		return fmt.Sprintf(", for %v on average", mean)
	}
	return fmt.Sprintf(", for %v", mean)
}

// creations returns the contexts in which the goroutines began that exist, those of most goroutines first.
func (r *reporter) creations(p *profile.Profile) ([]*creation, error) {
	idle, err := cct.Of(p, profile.Idle.Name)
	if err != nil {
		return nil, err
	}
	idle = idle.Select(r.o.Selection)
	times := make(map[string]uint64)
	for i, n := range idle.Nodes {
		if n.Count > 0 {
			times[stackKey(idle.Stack(uint32(i)))] += n.Count
		}
	}
	// Several nodes have one stack: two statements of one line do.
	counts, of := make(map[string]uint64), make(map[string]uint32)
	for i, n := range r.t.Nodes {
		if n.Count > 0 {
			key := stackKey(r.t.Stack(uint32(i)))
			counts[key] += n.Count
			of[key] = uint32(i)
		}
	}
	by := make(map[string]*creation)
	for key, i := range of {
		stack := r.t.Stack(i)
		w := waiting{count: counts[key], idle: times[key]}
		w.reason, w.stack = cct.Waiting(stack)
		end := slices.IndexFunc(w.stack, func(f cct.Frame) bool { return f.Via == cct.ViaGo }) + 1
		if stack[0].Via == cct.ViaGo {
			end = 0 // all of it is that of the go statement
		} else if end == 0 { // it began with the program
			end = max(len(w.stack)-1, 0)
		}
		w.stack, stack = w.stack[:end], w.stack[end:]
		c := by[stackKey(stack)]
		if c == nil {
			c = &creation{stack: stack}
			by[stackKey(stack)] = c
		}
		c.count += w.count
		c.waits = append(c.waits, w)
	}
	var list []*creation
	for _, c := range by {
		slices.SortFunc(c.waits, func(a, b waiting) int {
			return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.reason, b.reason),
				cmp.Compare(stackKey(a.stack), stackKey(b.stack)))
		})
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *creation) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(stackKey(a.stack), stackKey(b.stack)))
	})
	return list, nil
}

// stackKey identifies a stack.
func stackKey(stack []cct.Frame) string {
	var b strings.Builder
	for _, f := range stack {
		fmt.Fprintf(&b, "%s\t%s\t%d\t%d\t%d\n", f.Func, f.File, f.Line, f.Via, f.Fold)
	}
	return b.String()
}

// A jsonCreation is a creation as JSON.
type (
	jsonCreation struct {
		Count uint64        `json:"count"`
		Stack []JsonFrame   `json:"stack"`
		Waits []jsonWaiting `json:"waits"`
	}
	jsonWaiting struct {
		Reason string      `json:"reason"`
		Count  uint64      `json:"count"`
		Idle   uint64      `json:"idle"` // nanoseconds, the sum
		Stack  []JsonFrame `json:"stack"`
	}
)

// jsonGoroutines returns what -goroutines asks for, nil without it.
func (r *reporter) jsonGoroutines(p *profile.Profile) (all []jsonCreation, err error) {
	if !r.o.Goroutines {
		return nil, nil
	}
	list, err := r.creations(p)
	if err != nil {
		return nil, err
	}
	for _, c := range list[:r.cut(len(list))] {
		j := jsonCreation{Count: c.count, Stack: JsonStack(c.stack)}
		for _, w := range c.waits {
			j.Waits = append(j.Waits, jsonWaiting{w.reason, w.count, w.idle, JsonStack(w.stack)})
		}
		all = append(all, j)
	}
	return all, nil
}
