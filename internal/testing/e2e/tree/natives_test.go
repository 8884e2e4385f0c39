package tree

import (
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// A function of a listing has its instructions.
type listed struct {
	name, file string // of the source, without directories
	code       []string
}

var instruction = regexp.MustCompile(`^  (\S+):-?\d+\s+0x[0-9a-f]+\s+[0-9a-f]+\s+(\S.*?)\s*$`)

// list returns the functions in a listing.
func list(listing string) (functions []listed) {
	for line := range strings.Lines(listing) {
		line = strings.TrimSuffix(line, "\n")
		if header, ok := strings.CutPrefix(line, "TEXT "); ok {
			name, file, _ := strings.Cut(header, "(SB) ")
			functions = append(functions, listed{name: name, file: filepath.Base(file)})
		} else if m := instruction.FindStringSubmatch(line); m != nil {
			f := &functions[len(functions)-1]
			f.code = append(f.code, m[2])
		}
	}
	return functions
}

// listing is that of gofmt.
var listing struct {
	sync.Once
	text string
}

// gofmt builds gofmt, and returns it with the listing of its machine code, which several tests look at.
func gofmt(t *testing.T) (exe, text string) {
	t.Helper()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	exe = e2e.BuildDir(t, filepath.Join(strings.TrimSpace(string(goroot)), "src/cmd/gofmt"))
	listing.Do(func() {
		out, err := exec.Command("go", "tool", "objdump", exe).Output()
		if err != nil {
			t.Fatal(err)
		}
		listing.text = string(out)
	})
	return exe, listing.text
}

// TestNatives looks at the machine code of gofmt.
func TestNatives(t *testing.T) {
	e2e.NeedMore(t)
	e2e.OnlyHost(t, "it knows the machine code of this machine")
	exe, listing := gofmt(t)
	functions := list(listing)
	t.Run("context", func(t *testing.T) { checkContexts(t, functions) })
	t.Run("counts", func(t *testing.T) { checkNatives(t, exe, functions) })
}

// algorithms are natives whose only function values are those that hash or compare for the runtime.
var algorithms = regexp.MustCompile(`^(type:\.(hash|eq)\..*|internal/runtime/maps\..*` +
	`|runtime\.(efaceeq|ifaceeq|typehash|interhash|nilinterhash|mapKeyError2?|mapclear|map(access|assign|delete).*))$`)

var dynamicCall = regexp.MustCompile(`^CALL (\w\w|\w\w\w|0x[0-9a-f]+\(\w+\)|0\(\w+\))$`)

// checkContexts looks at all natives. Behind each call of a function value, which may be the program's, the context
// that the native was called in is put back into g.
func checkContexts(t *testing.T, functions []listed) {
	out, err := exec.Command("go", "list", "-deps", "runtime").Output()
	if err != nil {
		t.Fatal(err)
	}
	native := map[string]bool{}
	for _, path := range strings.Fields(string(out)) {
		native[path] = true
	}
	var natives []listed
	context := ""
	for _, f := range functions {
		begin := strings.LastIndexByte(f.name, '/') + 1
		end := max(strings.IndexByte(f.name[begin:], '.'), 0)
		switch {
		case f.name == "runtime.stemmaPlace":
			for _, code := range f.code {
				if m := regexp.MustCompile(`^LEAQ (0x[0-9a-f]+\(R14\)), R11$`).FindStringSubmatch(code); m != nil {
					context = m[1]
				}
			}
		case strings.HasPrefix(f.name, "runtime.stemma"): // it calls nothing but its own
		case native[f.name[:begin+end]] && strings.HasSuffix(f.file, ".go"):
			natives = append(natives, f)
		}
	}
	if context == "" || len(natives) < 1_000 {
		t.Fatalf("context at %q, %d natives: the listing is not understood", context, len(natives))
	}
	calls := 0
	for _, f := range natives {
		if algorithms.MatchString(f.name) {
			continue
		}
		n, put := keeps(f, context)
		calls += n
		if n != put {
			t.Errorf("%s calls function values in %d places, and puts the context back behind %d of them",
				f.name, n, put)
		}
	}
	t.Logf("%d calls of function values in %d natives", calls, len(natives))
	if calls < 50 {
		t.Errorf("%d calls of function values in natives: the listing is not understood", calls)
	}
}

// keeps returns how many function values f calls, and behind how many of these calls it stores the context.
func keeps(f listed, context string) (calls, put int) {
	store := regexp.MustCompile(`^MOVQ (\w+|\$\S+), ` + regexp.QuoteMeta(context) + `$`)
	if slices.Contains(f.code, "CALL runtime.stemmaPlace(SB)") {
		store = regexp.MustCompile(`^MOVQ (\w+|\$\S+), 0\(\w+\)$`)
	}
	for i, code := range f.code {
		if !dynamicCall.MatchString(code) {
			continue
		}
		calls++
		for _, next := range f.code[i+1:] {
			if store.MatchString(next) {
				put++
				break
			}
			if strings.HasPrefix(next, "CALL") || strings.HasPrefix(next, "RET") {
				break
			}
		}
	}
	return calls, put
}

// TestTwice compares contexts with stacks where natives call function values of the program one behind the
// other.
func TestTwice(t *testing.T) {
	e2e.NeedMore(t)
	e2e.Prove(t, "twice", []int{1})
	for _, engine := range []string{"cct", "dacce"} {
		r := e2e.Run(t, e2e.Build(t, "twice", "-engine="+engine, "-verify"), "STEMMA_CHECK_EVERY=1")
		contexts, _ := r.Verify(t)
		t.Logf("%s: %d contexts", engine, contexts)
	}
}

// checkNatives compares the natives that functions count with the calls in their machine code: what the compiler has
// made something else of is not counted.
func checkNatives(t *testing.T, exe string, functions []listed) {
	calls := map[string]map[string]int{}
	for _, f := range functions {
		called := map[string]int{}
		for _, code := range f.code {
			if callee, ok := strings.CutPrefix(code, "CALL "); ok {
				called[nativeName(strings.TrimSuffix(callee, "(SB)"))]++
			}
		}
		if _, ok := calls[f.name]; ok {
			called = nil // several functions of one name
		}
		calls[f.name] = called
	}
	out := t.TempDir()
	cmd := e2e.Command(t, out, exe)
	cmd.Args = append(cmd.Args, "-d", "-s", ".")
	cmd.Dir = e2e.Program("calls")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	p := e2e.Result{Dir: e2e.LiveDir(out, cmd)}.Read(t)
	compared, natives := 0, 0
	for i := range p.Funcs {
		f := &p.Funcs[i]
		called := calls[p.String(f.Name)]
		if f.Kind != profile.FuncOrdinary || called == nil {
			continue
		}
		compared++
		counted := map[string]int{}
		for _, s := range f.Sites {
			if s.Counter != profile.None && (s.Kind == profile.SiteNative || s.Kind == profile.SitePanic) {
				counted[nativeName(p.String(s.Callee))]++
				natives++
			}
		}
		for _, callee := range slices.Sorted(maps.Keys(counted)) {
			if counted[callee] != called[callee] {
				t.Errorf("%s counts %d calls of %s, and makes %d",
					p.String(f.Name), counted[callee], callee, called[callee])
			}
		}
	}
	t.Logf("%d natives in %d functions", natives, compared)
	if compared < 300 || natives < 700 {
		t.Errorf("%d natives in %d functions: the listing is not understood", natives, compared)
	}
}

// nativeName returns the name that a native is counted by.
func nativeName(symbol string) string {
	symbol = strings.TrimSuffix(symbol, ".abi0")
	for _, special := range []string{"runtime.mallocgcSmall", "runtime.mallocgcTiny", "runtime.mallocTiny"} {
		if strings.HasPrefix(symbol, special) {
			return "runtime.newobject"
		}
	}
	return symbol
}
