package internal_test

import (
	"go/types"
	"slices"
	"strings"
	"testing"

	gopackages "github.com/stemma-go/stemma/internal/packages"
	"github.com/stemma-go/stemma/internal/testing/level"
)

// TestPublicAPI looks at all that the public packages export: who uses it must be able to name each type in it, so that
// none is of a package below internal.
func TestPublicAPI(t *testing.T) {
	level.NeedMore(t)
	public := []string{"", "/profile", "/stemmahttp", "/stemmapprof", "/stemmatest"}
	for i, p := range public {
		public[i] = module + p
	}
	list, err := gopackages.Load(&gopackages.Config{Dir: ".."}, public...)
	if err != nil {
		t.Fatal(err)
	}
	list = slices.DeleteFunc(list, func(p *gopackages.Package) bool { return p.DepOnly })
	looked := 0
	for _, p := range list {
		for _, e := range p.Errors {
			t.Error(e)
		}
		for _, name := range p.Types.Scope().Names() {
			if o := p.Types.Scope().Lookup(name); o.Exported() {
				looked++
				a := api{t: t, name: p.Name + "." + name, pkg: p.Types, seen: map[types.Type]bool{}}
				a.object(o)
			}
		}
	}
	if len(list) != len(public) || looked < 100 {
		t.Errorf("%d identifiers of %d packages were looked at, want all", looked, len(list))
	}
}

// An api looks at what an exported identifier of a package mentions.
type api struct {
	t    *testing.T
	name string
	pkg  *types.Package
	seen map[types.Type]bool
}

// object looks at an exported object, and at what a type has.
func (a api) object(o types.Object) {
	tn, ok := o.(*types.TypeName)
	if !ok {
		a.mentions(o.Type())
		return
	}
	a.mentions(tn.Type().Underlying())
	methods := types.NewMethodSet(types.NewPointer(tn.Type()))
	for i := range methods.Len() {
		if m := methods.At(i).Obj(); m.Exported() {
			b := a
			b.name += "." + m.Name()
			b.mentions(m.Type())
		}
	}
}

// mentions fails for a type below internal that can be seen in another one.
func (a api) mentions(typ types.Type) {
	if a.seen[typ] {
		return
	}
	a.seen[typ] = true
	switch typ := typ.(type) {
	case *types.Alias:
		a.named(typ.Obj())
		a.mentions(typ.Rhs())
	case *types.Named:
		a.named(typ.Obj())
		for i := range typ.TypeArgs().Len() {
			a.mentions(typ.TypeArgs().At(i))
		}
	case *types.Struct:
		for i := range typ.NumFields() {
			if typ.Field(i).Exported() {
				a.mentions(typ.Field(i).Type())
			}
		}
	case *types.Signature:
		a.mentions(typ.Params())
		a.mentions(typ.Results())
	case *types.Tuple:
		for i := range typ.Len() {
			a.mentions(typ.At(i).Type())
		}
	case *types.Map:
		a.mentions(typ.Key())
		a.mentions(typ.Elem())
	case *types.Interface:
		for i := range typ.NumMethods() {
			a.mentions(typ.Method(i).Type())
		}
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		a.mentions(typ.Elem())
	}
}

func (a api) named(o *types.TypeName) {
	if o.Pkg() != nil && strings.HasPrefix(o.Pkg().Path(), module+"/internal/") {
		a.t.Errorf("%s mentions %s.%s, which nobody outside of the module can name", a.name, o.Pkg().Path(), o.Name())
	}
}
