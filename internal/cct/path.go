package cct

import (
	"slices"

	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
	"github.com/stemma-go/stemma/profile"
)

// A Walker returns physical contexts as a stack walk of their goroutine would
// find them, so that the two can be compared: without natives and wrappers,
// and, unlike a [Tree], with a mark for inlined frames.
type Walker struct {
	p        *profile.Profile
	cells    map[*profile.Func][]int32 // of a profile with a tree
	ids      bool                      // the profile is that of context IDs, and may grow
	named    map[string]bool           // functions that walks and profiles both know
	wrappers map[string]bool
	adapters map[string]bool
	folds    map[compiledFunc]fold.Kind // of functions that are not ordinary
	funcs    int                        // of the profile, that the maps are about
}

// A PathFrame is a frame of a stack walk.
type PathFrame struct {
	Func, File string
	Line       int
	Inlined    bool   // into the next frame, or into In
	Wrapper    bool   // only in what a walk found, see Known
	In         string // the wrapper, which is not shown, that the frame is inlined into
}

// NewWalker returns a Walker for a valid profile.
func NewWalker(p *profile.Profile) *Walker { return newWalker(p, false) }

// NewIDWalker returns a Walker for the functions of a record of context IDs.
func NewIDWalker(p *profile.Profile) *Walker { return newWalker(p, true) }

func newWalker(p *profile.Profile, ids bool) *Walker {
	w := &Walker{p: p, ids: ids, cells: make(map[*profile.Func][]int32), named: make(map[string]bool),
		wrappers: make(map[string]bool), adapters: make(map[string]bool), folds: make(map[compiledFunc]fold.Kind)}
	w.Grown()
	return w
}

// Grown takes note of functions that the profile has got since the last time. Only a
// profile with context IDs grows: it has no nodes that lead to functions.
func (w *Walker) Grown() {
	first := w.funcs
	w.funcs = len(w.p.Funcs)
	for i := first; i < w.funcs; i++ {
		f := &w.p.Funcs[i]
		if !w.ids {
			w.cells[f] = f.CellSites()
		}
		name := DisplayName(w.p.String(f.Name))
		if Shown(f) {
			w.named[name] = true
		}
		w.wrappers[name] = w.wrappers[name] || f.Flags&profile.FuncWrapper != 0
		w.adapters[name] = w.adapters[name] || f.Flags&profile.FuncAdapter != 0
		if adapts := f.Flags&(profile.FuncAdapter|profile.FuncWrapper) != 0; adapts {
			w.folds[compiledFunc{name, f.Flags&profile.FuncWrapper != 0}] =
				fold.KindOf(adapts, f.Flags&profile.FuncNew != 0)
		}
	}
	if w.ids {
		w.nameFaults(first)
	}
}

// nameFaults names functions that call nothing: with context IDs they have no
// record but that of a fault.
func (w *Walker) nameFaults(first int) {
	for i := first; i < w.funcs; i++ {
		f := &w.p.Funcs[i]
		if n := len(f.Frames); n > 0 {
			if name := DisplayName(w.p.String(f.Frames[n-1].Func)); !w.wrappers[name] {
				w.named[name] = true
			}
		}
	}
}

// Adapter reports whether the function with a name is an adapter.
func (w *Walker) Adapter(name string) bool { return w.adapters[name] }

// Shown reports whether a function appears in both kinds of stack. An assembly
// function has no call sites that could be compared.
func Shown(f *profile.Func) bool {
	return f.Kind == profile.FuncOrdinary && f.Flags&(profile.FuncWrapper|profile.FuncAsm) == 0
}

// Path returns the frames of node n when it leaves through a cell, innermost
// first, through the go statements of its goroutine's ancestors. At the node's
// entry, when cell is None, the innermost frame has no line. ok is false if the
// context is truncated, or n has no such cell.
func (w *Walker) Path(n, cell int) (path []PathFrame, ok bool) {
	f := &w.p.Funcs[w.p.Nodes[n].Func]
	switch {
	case cell != profile.None:
		if path, ok = w.leave(f, cell); !ok {
			return nil, false
		}
	case Shown(f):
		path = append(path, PathFrame{Func: w.name(f.Name), File: w.p.String(f.File)})
	}
	for n != 0 {
		node := w.p.Nodes[n]
		up := &w.p.Funcs[w.p.Nodes[node.Parent].Func]
		if fn := &w.p.Funcs[node.Func]; fn.Kind == profile.FuncFault {
			path = append(path, w.fault(fn)...)
		} else {
			frames, ok := w.leave(up, int(node.Cell))
			if !ok {
				return nil, false
			}
			path = append(path, frames...)
		}
		n = int(node.Parent)
	}
	return path, true
}

// leave returns the frames of f when it leaves through a cell.
func (w *Walker) leave(f *profile.Func, cell int) (frames []PathFrame, ok bool) {
	switch f.Kind {
	case profile.FuncOverflow:
		return nil, false
	case profile.FuncRoot, profile.FuncFault:
		return nil, true
	}
	cells := w.cells[f]
	if cell < 0 || cell >= len(cells) || cells[cell] == profile.None {
		return nil, false
	}
	return w.group(f, f.Sites[cells[cell]]), true
}

// Site returns the frames of f at its call site k, innermost first: the inlined
// calls that the site is in, then f itself, unless walks do not show it. For
// profile.None, a call that is no site, the line is not known.
func (w *Walker) Site(f *profile.Func, k int) []PathFrame {
	switch {
	case k != profile.None:
		return w.group(f, f.Sites[k])
	case Shown(f):
		return []PathFrame{{Func: w.name(f.Name), File: w.p.String(f.File)}}
	}
	return nil
}

// Fault returns the frames of the function in which the fault f rose, innermost
// first.
func (w *Walker) Fault(f *profile.Func) []PathFrame { return w.fault(f) }

// name returns a symbol as a stack walk shows it.
func (w *Walker) name(s uint32) string { return DisplayName(w.p.String(s)) }

// group returns the frames of f at a call site: the inlined calls that the
// site is in, then f itself.
func (w *Walker) group(f *profile.Func, s profile.Site) []PathFrame {
	var frames []PathFrame
	file, line := s.File, s.Line
	for k := s.Inlined; k != profile.None; k = f.Inlined[k].Parent {
		in := f.Inlined[k]
		frames = append(frames,
			PathFrame{Func: w.name(in.Callee), File: w.p.String(file), Line: int(line), Inlined: true})
		file, line = in.File, in.Line
	}
	if Shown(f) {
		return append(frames, PathFrame{Func: w.name(f.Name), File: w.p.String(file), Line: int(line)})
	}
	if f.Flags&profile.FuncAsm != 0 {
		return nil
	}
	return within(frames, w.name(f.Name))
}

// within notes the wrapper that frames are inlined into.
func within(frames []PathFrame, wrapper string) []PathFrame {
	if n := len(frames); n > 0 {
		frames[n-1].In = wrapper
	}
	return frames
}

// fault returns the frames of the function that a fault rose in.
func (w *Walker) fault(f *profile.Func) []PathFrame {
	var frames []PathFrame
	for i, fr := range f.Frames {
		frames = append(frames, PathFrame{Func: w.name(fr.Func), File: w.p.String(fr.File), Line: int(fr.Line),
			Inlined: i < len(f.Frames)-1})
	}
	if n := len(frames); n > 0 && !w.named[frames[n-1].Func] {
		frames = within(frames[:n-1], frames[n-1].Func)
	}
	return frames
}

// Known returns the frames of a stack walk without those of natives, together
// with what is inlined into them, and without wrappers. There are wrappers of natives, as well.
func (w *Walker) Known(path []PathFrame) []PathFrame {
	var known []PathFrame
	for _, g := range groups(path) {
		if outer := g[len(g)-1]; outer.Wrapper && w.wrappers[outer.Func] {
			known = append(known, within(g[:len(g)-1], outer.Func)...)
		} else if !outer.Wrapper && w.named[outer.Func] {
			known = append(known, g...)
		}
	}
	return known
}

// groups splits a path into what one compiled function each contributed.
func groups(path []PathFrame) [][]PathFrame {
	var list [][]PathFrame
	begin := 0
	for i, f := range path {
		if !f.Inlined || f.In != "" || i == len(path)-1 {
			list = append(list, path[begin:i+1])
			begin = i + 1
		}
	}
	return list
}

// FoldCallers folds recursion as the program does while it records: what calls
// the innermost function is folded, the call itself is told apart.
func (w *Walker) FoldCallers(path []PathFrame) []PathFrame {
	if len(path) == 0 {
		return nil
	}
	n := len(groups(path)[0])
	return append(slices.Clone(path[:n]), w.FoldPath(path[n:])...)
}

// FoldPath folds recursion: where a function is entered that is already on the
// path, the path is cut back to it, as package fold says.
func (w *Walker) FoldPath(path []PathFrame) []PathFrame {
	kept := keptPath{w: w}
	for _, g := range slices.Backward(groups(path)) {
		if n := len(kept.groups); n > 0 {
			f := functionOf(g)
			if home, ok := fold.Home(&kept, uint32(n-1), f, w.recursion(f)); ok {
				kept.groups = kept.groups[:home]
			}
		}
		kept.groups = append(kept.groups, g)
	}
	slices.Reverse(kept.groups)
	return slices.Concat(kept.groups...)
}

// A compiledFunc is a function by its name. Wrappers have names that others may have as well.
type compiledFunc struct {
	name    string
	wrapper bool
}

// functionOf returns the compiled function that a group is of.
func functionOf(group []PathFrame) compiledFunc {
	outer := group[len(group)-1]
	if outer.In != "" {
		return compiledFunc{outer.In, true}
	}
	return compiledFunc{outer.Func, false}
}

// recursion returns what a function is to recursion.
func (w *Walker) recursion(f compiledFunc) fold.Kind { return w.folds[f] }

// A keptPath has the groups of a path, outermost first, for package fold.
type keptPath struct {
	w      *Walker
	groups [][]PathFrame
}

// Func returns the function of a group.
func (p *keptPath) Func(n uint32) compiledFunc { return functionOf(p.groups[n]) }

// Kind returns what the function of a group is to recursion.
func (p *keptPath) Kind(n uint32) fold.Kind { return p.w.recursion(p.Func(n)) }

// Up returns the group further out.
func (p *keptPath) Up(n uint32) (uint32, bool) { return n - 1, n > 0 }
