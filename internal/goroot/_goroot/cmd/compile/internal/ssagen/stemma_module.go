// Instrumentation modules: functions that a file of -module names add to metrics when they are called, see package
// layout. Such a function is not inlined, so that there is one place in which it is entered, and one for each return.
//
// What a function adds is known when all bodies are read. A count, or an argument, is added behind the entry sequence;
// a result before each return, behind deferred calls, which may change it. A call that ends by a panic has none, even
// if it is recovered. Where deferred calls are in the code itself (open-coded), recovery comes out behind all of this
// code; else it comes out at the first call of deferreturn, so that the frame says whether the function has returned.

package ssagen

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cmd/compile/internal/base"
	"cmd/compile/internal/ir"
	"cmd/compile/internal/ssa"
	"cmd/compile/internal/typecheck"
	"cmd/compile/internal/types"
	"cmd/internal/obj"
	"cmd/internal/src"
	"internal/runtime/stemma/layout"
)

// A stemmaRule is a line of the file, for functions with one pattern.
type stemmaRule struct {
	line, kind, which, pattern string
	metric                     int64
}

// A stemmaAddition is what a function adds to a metric: the variable, or its length, or 1 if there is none.
type stemmaAddition struct {
	metric   int64
	variable *ir.Name
	length   bool
	result   bool
}

var (
	stemmaModule string // the name of the file
	stemmaRules  []stemmaRule
)

// stemmaAdditions has what functions add. The front end fills it, the back end only reads.
var stemmaAdditions = map[*ir.Func][]stemmaAddition{}

// stemmaReadModule reads the word that package layout describes.
func stemmaReadModule(word string) {
	text, err := base64.RawURLEncoding.DecodeString(word)
	if err != nil {
		return // whoever sets the variable by hand
	}
	lines := strings.Split(string(text), "\n")
	stemmaModule = lines[0]
	for _, line := range lines[1:] {
		f := strings.SplitN(line, " ", 5)
		if len(f) != 5 {
			return
		}
		metric, _ := strconv.ParseInt(f[1], 10, 64)
		stemmaRules = append(stemmaRules, stemmaRule{f[0], f[2], f[3], f[4], metric})
	}
}

// stemmaRulesOf returns the rules for the function with this name.
func stemmaRulesOf(name string) (rules []*stemmaRule) {
	for i := range stemmaRules {
		if layout.MatchFunc(stemmaRules[i].pattern, name) {
			rules = append(rules, &stemmaRules[i])
		}
	}
	return rules
}

// exact reports whether the rule is of one function: what it cannot add is an error, else it is left out.
func (r *stemmaRule) exact() bool {
	return !strings.Contains(strings.ReplaceAll(r.pattern, "(*", ""), "*")
}

// errorf reports what is wrong with the rule and a function.
func (r *stemmaRule) errorf(fn *ir.Func, format string, args ...any) {
	base.ErrorfAt(fn.Pos(), 0, "%s:%s: %s: %s", stemmaModule, r.line, r.pattern, fmt.Sprintf(format, args...))
}

// StemmaBodylessRule returns what is wrong with a rule for a function that is declared without a body, "" if none is of
// it. The name has no package.
func StemmaBodylessRule(name string) string {
	for _, r := range stemmaRulesOf(base.Ctxt.Pkgpath + "." + name) {
		if r.exact() {
			return fmt.Sprintf("%s:%s: %s has no body in Go, and cannot count itself; count what calls it",
				stemmaModule, r.line, r.pattern)
		}
	}
	return ""
}

// StemmaAddsTo reports whether a function of this package may add to a metric. The name has no package.
func StemmaAddsTo(name string, pragma ir.PragmaFlag) bool {
	return stemmaRules != nil && pragma&(ir.Nosplit|ir.CgoUnsafeArgs) == 0 && stemmaAdds() &&
		!stemmaIsNative(base.Ctxt.Pkgpath) && stemmaRulesOf(base.Ctxt.Pkgpath+"."+name) != nil
}

// stemmaAdds reports whether functions of this package can add to metrics of modules.
func stemmaAdds() bool {
	return stemmaEngine() != nil && stemmaEngine().adds
}

// stemmaFindAdditions fills stemmaAdditions, and reports what cannot be added. It runs when inlining is done, and it is
// known which functions run in forked children.
func stemmaFindAdditions() {
	if stemmaRules == nil || !stemmaAdds() {
		return
	}
	for _, fn := range typecheck.Target.Funcs {
		if fn.IsClosure() || fn.Wrapper() || fn.ABIWrapper() || fn.IsPackageInit() || len(fn.Body) == 0 {
			continue
		}
		for _, r := range stemmaRulesOf(stemmaFuncName(fn)) {
			if problem := stemmaCannotAdd(fn); problem != "" {
				if r.exact() {
					r.errorf(fn, "%s", problem)
				}
				continue
			}
			if a := r.addition(fn); !slices.Contains(stemmaAdditions[fn], a) { // two patterns may be of one function
				stemmaAdditions[fn] = append(stemmaAdditions[fn], a)
			}
		}
	}
	base.ExitIfErrors()
}

// stemmaFuncName returns the name of a function as layout.MatchFunc has it, without arguments of types, which may have
// brackets of their own. All functions init of a package have one name.
func stemmaFuncName(fn *ir.Func) string {
	name := fn.Sym().Name
	if from, to := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']'); from >= 0 && to > from {
		name = name[:from] + name[to+1:]
	}
	if number, ok := strings.CutPrefix(name, "init."); ok {
		if _, err := strconv.Atoi(number); err == nil {
			name = "init"
		}
	}
	return fn.Sym().Pkg.Path + "." + name
}

// stemmaCannotAdd returns why a function can add nothing, "" if it can.
func stemmaCannotAdd(fn *ir.Func) string {
	switch {
	case stemmaMustNotSplit(fn):
		return "it must not grow the stack (go:nosplit), and cannot count itself; count what calls it"
	case fn.Pragma&ir.CgoUnsafeArgs != 0:
		return "it calls C, and cannot count itself; count what calls it"
	case IsIntrinsicSym(fn.Sym()):
		return "the compiler has instructions instead of its calls; count what calls it"
	}
	return ""
}

// addition returns what the rule adds in a function.
func (r *stemmaRule) addition(fn *ir.Func) stemmaAddition {
	a := stemmaAddition{metric: r.metric}
	what, fields := "argument", fn.Type().Params()
	switch r.kind {
	case layout.ModuleCount:
		return a
	case layout.ModuleResult, layout.ModuleLenResult:
		what, fields, a.result = "result", fn.Type().Results(), true
	}
	a.length = r.kind == layout.ModuleLenArg || r.kind == layout.ModuleLenResult
	var list []*types.Field
	for _, f := range fields {
		if f.Sym == nil || f.Sym.Name != typecheck.LocalDictName {
			list = append(list, f)
		}
	}
	f := r.field(list)
	if f == nil {
		r.errorf(fn, "it has no %s %s (have %s)", what, r.which, stemmaFieldList(list))
		return a
	}
	switch t := f.Type; {
	case a.length && !t.IsString() && !t.IsSlice():
		r.errorf(fn, "%s %s is of type %v; len is for strings and slices", what, r.which, t)
	case !a.length && !t.IsInteger():
		r.errorf(fn, "%s %s is of type %v; want an integer, or len(%s %s) of a string or slice", what, r.which, t,
			r.kind, r.which)
	case f.Nname == nil:
		r.errorf(fn, "%s %s has no name in the source, and is not there; add something else", what, r.which)
	default:
		a.variable = f.Nname.(*ir.Name)
	}
	return a
}

// field returns the argument or result that the rule is about, by its index or its name.
func (r *stemmaRule) field(list []*types.Field) *types.Field {
	if i, err := strconv.Atoi(r.which); err == nil {
		if i < len(list) {
			return list[i]
		}
		return nil
	}
	for _, f := range list {
		if f.Sym != nil && f.Sym.Name == r.which {
			return f
		}
	}
	return nil
}

// stemmaFieldList returns arguments or results as a message has them.
func stemmaFieldList(list []*types.Field) string {
	if len(list) == 0 {
		return "none"
	}
	var text []string
	for i, f := range list {
		name := strconv.Itoa(i)
		if f.Sym != nil && !strings.HasPrefix(f.Sym.Name, "~") {
			name += " " + f.Sym.Name
		}
		text = append(text, fmt.Sprintf("%s %v", name, f.Type))
	}
	return strings.Join(text, ", ")
}

// stemmaAddAtEntry adds what is known when a function begins. Its variables are in place.
func (s *state) stemmaAddAtEntry() {
	s.stemmaAdd(false)
	addsResult := func(a stemmaAddition) bool { return a.result }
	if s.stemma.mode == stemmaFull && s.hasdefer && !s.hasOpenDefers &&
		slices.ContainsFunc(stemmaAdditions[s.curfn], addsResult) {
		s.stemma.returned = typecheck.TempAt(src.NoXPos, s.curfn, types.Types[types.TINT64])
		s.stemma.returned.SetAddrtaken(true) // recovery goes on with what is in the frame
		s.stemmaReturned(0)
	}
}

// stemmaReturns notes that the function returns. Deferred calls are still to come.
func (s *state) stemmaReturns() {
	if s.stemma.returned != nil {
		s.stemmaReturned(1)
	}
}

func (s *state) stemmaReturned(n int64) {
	word := types.Types[types.TINT64]
	s.store(word, s.addr(s.stemma.returned), s.constInt64(word, n))
}

// stemmaAdd adds results, or what is no result.
func (s *state) stemmaAdd(results bool) {
	if s.stemma.mode != stemmaFull {
		return
	}
	for _, a := range stemmaAdditions[s.curfn] {
		if a.result != results {
			continue
		}
		word := types.Types[types.TINT64]
		n := s.constInt64(word, 1)
		if a.variable != nil {
			n = s.stemmaAdded(a)
		}
		if results && s.stemma.returned != nil { // else it is a recovered panic, with 0 in the frame
			n = s.newValue2(ssa.OpMul64, word, n, s.rawLoad(word, s.addr(s.stemma.returned)))
		}
		add := base.Ctxt.LookupABI(layout.ModuleAddFunc, obj.ABIInternal)
		s.rtcall(add, true, nil, s.constInt64(word, a.metric), n)
	}
}

// stemmaAdded returns the value of what is added.
func (s *state) stemmaAdded(a stemmaAddition) *ssa.Value {
	t, word := a.variable.Type(), types.Types[types.TINT64]
	var v *ssa.Value
	if s.canSSA(a.variable) {
		v = s.variable(a.variable, t)
	} else {
		v = s.rawLoad(t, s.addr(a.variable))
	}
	switch {
	case a.length && t.IsString():
		v, t = s.newValue1(ssa.OpStringLen, types.Types[types.TINT], v), types.Types[types.TINT]
	case a.length:
		v, t = s.newValue1(ssa.OpSliceLen, types.Types[types.TINT], v), types.Types[types.TINT]
	}
	return s.conv(nil, v, t, word)
}
