package cct

import (
	"github.com/stemma-go/stemma/profile"
)

// A Call is a call in the code of a program, whether it was ever made or not. Its
// place is the one that a Site of the tree has.
type Call struct {
	Caller string // display name of the function that the call is in, which may be inlined
	Callee string // display name; "" if it is not known before the call is made
	File   string
	Line   int
	Copied bool // the caller is inlined where it was met; calls that cannot be made there may be missing
}

// Calls returns all calls of the functions that p has a record of, in no order; a
// call in a function with several copies comes more than once.
func Calls(p *profile.Profile) []Call {
	var list []Call
	for i := range p.Funcs {
		f := &p.Funcs[i]
		caller := func(inlined int32) string {
			if inlined == profile.None {
				return DisplayName(p.String(f.Name))
			}
			return DisplayName(p.String(f.Inlined[inlined].Callee))
		}
		if f.Kind != profile.FuncOrdinary || f.Flags&profile.FuncWrapper != 0 {
			continue
		}
		for _, in := range f.Inlined {
			list = append(list,
				Call{caller(in.Parent), DisplayName(p.String(in.Callee)), p.String(in.File), int(in.Line),
					in.Parent != profile.None})
		}
		for _, s := range f.Sites {
			list = append(list, Call{caller(s.Inlined), DisplayName(p.String(s.Callee)), p.String(s.File), int(s.Line),
				s.Inlined != profile.None})
		}
	}
	return list
}
