package encoder

import (
	"fmt"
	"slices"
)

// A Shadow keeps what encoders avoid keeping: for each goroutine the slice of
// all calls that lead to it. It is the truth that they are compared with, and
// it shows which events are possible.
type Shadow struct {
	p      *Program
	stacks map[Goroutine]*shadowStack
	target map[Site]Func // of static sites, once they were used
}

// A shadowStack is the context of one goroutine. The first calls are those of its
// ancestors, which it cannot leave, nor its own entry.
type shadowStack struct {
	ancestors int
	least     int // frames that it cannot leave
	calls     []Call
}

// NewShadow returns a shadow of p that is at [Root].
func NewShadow(p *Program) *Shadow {
	return &Shadow{p, map[Goroutine]*shadowStack{Main: {}}, make(map[Site]Func)}
}

// Path returns the calls that led to where g is, outermost first, from [Root] on
// through its ancestors. The slice is valid until the next event.
func (s *Shadow) Path(g Goroutine) []Call {
	if st := s.stacks[g]; st != nil {
		return st.calls
	}
	return nil
}

// Alive reports whether there is such a goroutine.
func (s *Shadow) Alive(g Goroutine) bool { return s.stacks[g] != nil }

// Depth returns how many frames g has. Those of its ancestors are not its own.
func (s *Shadow) Depth(g Goroutine) int {
	st := s.stacks[g]
	if st == nil {
		return 0
	}
	return len(st.calls) - st.ancestors
}

// Func returns the function in which g is.
func (s *Shadow) Func(g Goroutine) Func { return funcOf(s.Path(g)) }

// FuncAt returns the function that g is in when depth of its frames are left.
func (s *Shadow) FuncAt(g Goroutine, depth int) Func {
	st := s.stacks[g]
	if st == nil {
		return Root
	}
	return funcOf(st.calls[:st.ancestors+depth])
}

func funcOf(calls []Call) Func {
	if len(calls) == 0 {
		return Root
	}
	return calls[len(calls)-1].Func
}

// Call enters callee, or returns why that cannot be.
func (s *Shadow) Call(g Goroutine, site Site, callee Func) error {
	if err := s.check(g, site, callee); err != nil {
		return err
	}
	if s.p.Sites[site].Kind == Go {
		return fmt.Errorf("site %d is a go statement, not a call", site)
	}
	st := s.stacks[g]
	st.calls = append(st.calls, Call{site, callee})
	return nil
}

// check returns what is wrong with a call or a go statement.
func (s *Shadow) check(g Goroutine, site Site, callee Func) error {
	switch {
	case !s.Alive(g):
		return fmt.Errorf("there is no goroutine %d", g)
	case int(site) >= len(s.p.Sites):
		return fmt.Errorf("there is no site %d", site)
	case int(callee) >= s.p.Funcs || callee == Root:
		return fmt.Errorf("there is no function %d to call", callee)
	}
	info := s.p.Sites[site]
	if in := s.Func(g); in != info.Caller {
		return fmt.Errorf("site %d belongs to function %d, but goroutine %d is in function %d", site, info.Caller, g,
			in)
	}
	if info.Kind != Static {
		return nil
	}
	if old, ok := s.target[site]; ok && old != callee {
		return fmt.Errorf("site %d is static and calls function %d; it cannot call %d", site, old, callee)
	}
	s.target[site] = callee
	return nil
}

// Unwind leaves frames until depth of them are left.
func (s *Shadow) Unwind(g Goroutine, depth int) error {
	st := s.stacks[g]
	if st == nil {
		return fmt.Errorf("there is no goroutine %d", g)
	}
	if depth < st.least || depth > s.Depth(g) {
		return fmt.Errorf("goroutine %d has %d frames and cannot be unwound to %d", g, s.Depth(g), depth)
	}
	st.calls = st.calls[:st.ancestors+depth]
	return nil
}

// Go starts child.
func (s *Shadow) Go(g Goroutine, site Site, entry Func, child Goroutine) error {
	if err := s.check(g, site, entry); err != nil {
		return err
	}
	if s.p.Sites[site].Kind != Go {
		return fmt.Errorf("site %d is a call, not a go statement", site)
	}
	if s.Alive(child) {
		return fmt.Errorf("goroutine %d is running already", child)
	}
	calls := append(slices.Clone(s.Path(g)), Call{site, entry})
	s.stacks[child] = &shadowStack{len(calls) - 1, 1, calls}
	return nil
}

// Start begins a goroutine at [Root].
func (s *Shadow) Start(g Goroutine) error {
	if s.Alive(g) {
		return fmt.Errorf("goroutine %d is running already", g)
	}
	s.stacks[g] = &shadowStack{}
	return nil
}

// Exit ends g.
func (s *Shadow) Exit(g Goroutine) error {
	if !s.Alive(g) || g == Main {
		return fmt.Errorf("goroutine %d cannot exit", g)
	}
	delete(s.stacks, g)
	return nil
}
