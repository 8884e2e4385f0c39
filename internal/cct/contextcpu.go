package cct

import (
	"strings"

	"github.com/stemma-go/stemma/profile"
)

// sampledPlace returns where the time of physical node i is, that of a place at which a context was sampled: in the
// inlined call that the place is in, or in the natives that were called from there.
func (x *expander) sampledPlace(i int) place {
	n := x.p.Nodes[i]
	frames := x.p.Funcs[n.Func].Frames
	above := &x.p.Funcs[x.p.Nodes[n.Parent].Func]
	switch {
	case above.Kind == profile.FuncRoot && strings.HasPrefix(x.p.String(frames[0].Func), "["):
		return place{node: x.builder.node(0, 0, x.named(x.p.String(frames[0].Func), true))}
	case above.Kind == profile.FuncOrdinary && above.Flags&profile.FuncWrapper == 0:
		at, inlined := x.inside(n.Parent, frames, func(k int) uint32 { return x.siteAtFrame(frames[k], ViaInlined) })
		x.sampledIn[uint32(i)] = inlined
		return at
	}
	at, site := x.sampledCall(int(n.Parent), frames[len(frames)-1])
	for k := len(frames) - 1; k >= 0; k-- {
		at = place{node: x.call(at, site, x.funcOf(frames[k].Func))}
		site = x.siteAtFrame(frames[k], ViaInlined)
	}
	return at
}

// sampledCall returns the place and the site of the call of a native whose outermost frame was sampled below physical
// node up: that of the call site, if up is a place in a function that has one for it.
func (x *expander) sampledCall(up int, native profile.Frame) (at place, site uint32) {
	above := &x.p.Funcs[x.p.Nodes[up].Func]
	if above.Kind != profile.FuncPlace {
		return x.place[up], 0
	}
	from := above.Frames[0]
	owner := int(x.p.Nodes[up].Parent)
	if inlined, ok := x.sampledIn[uint32(up)]; ok {
		for k, s := range x.p.Funcs[x.p.Nodes[owner].Func].Sites {
			if s.Inlined != inlined || s.Line != from.Line || s.Callee == 0 ||
				x.funcOf(s.Callee) != x.funcOf(native.Func) {
				continue
			}
			site := x.callSite(owner, k)
			if s.Kind == profile.SiteUnknown {
				site = x.native[site]
			}
			return x.place[up], site
		}
	}
	return x.place[up], x.siteAtFrame(from, ViaNative)
}

// siteAtFrame returns the site of the tree at the place of a frame.
func (x *expander) siteAtFrame(f profile.Frame, via Via) uint32 {
	s := Site{File: x.p.String(f.File), Line: int(f.Line), Via: via}
	site, ok := x.frameSites[s]
	if !ok {
		site = uint32(len(x.t.Sites))
		x.t.Sites = append(x.t.Sites, s)
		x.frameSites[s] = site
	}
	return site
}

// inside returns the place that frames, innermost first, lead to in physical node n: in the inlined calls of its
// function, whose number it returns as well. Calls that the function's record does not have are made below it, at the
// given sites.
func (x *expander) inside(n uint32, frames []profile.Frame, site func(k int) uint32) (at place, inlined int32) {
	at, inlined = x.place[n], profile.None
	fn := x.p.Nodes[n].Func
	known := x.p.Funcs[fn].Kind == profile.FuncOrdinary
	for k := len(frames) - 1; k > 0; k-- {
		if known {
			inlined, known = x.inlinedAt(fn, inlined, frames[k], frames[k-1].Func)
		}
		if known {
			at = x.within(int(n), inlined)
			continue
		}
		at = place{node: x.call(at, site(k), x.funcOf(frames[k-1].Func))}
	}
	return at, inlined
}
