package encoder

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/level"
)

// A script reads a program and its run from bytes. When they are used up it reads
// zeros, and the run ends.
type script struct {
	data []byte
	p    *Program
	// What the sites of each function can call.
	sites   [][]Site
	targets map[Site][]Func
	s       *Shadow
	current Goroutine
	alive   []Goroutine
	next    Goroutine
}

// byte returns the next byte modulo n.
func (r *script) byte(n int) int {
	if len(r.data) == 0 {
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return int(b) % n
}

// newScript makes up to 12 functions with up to 4 sites each.
func newScript(data []byte) *script {
	r := &script{data: data, p: NewProgram(), targets: make(map[Site][]Func), alive: []Goroutine{Main}, next: 1}
	funcs := 2 + r.byte(11)
	for range funcs {
		r.p.AddFunc()
	}
	r.sites = make([][]Site, r.p.Funcs)
	for f := range r.sites {
		for range 1 + r.byte(4) {
			r.addSite(Func(f))
		}
	}
	r.s = NewShadow(r.p)
	return r
}

func (r *script) addSite(f Func) {
	kind := []SiteKind{Static, Static, Static, Dynamic, Dynamic, Go}[r.byte(6)]
	s := r.p.AddSite(f, kind)
	targets := 1
	if kind != Static {
		targets += r.byte(4)
	}
	for range targets {
		r.targets[s] = append(r.targets[s], Func(1+r.byte(r.p.Funcs-1)))
	}
	r.sites[f] = append(r.sites[f], s)
}

// addFunc lets the program grow while it runs, as a plugin does. The new function
// can be called from where the goroutine is.
func (r *script) addFunc() {
	f := r.p.AddFunc()
	r.sites = append(r.sites, nil)
	r.addSite(f)
	s := r.p.AddSite(r.s.Func(r.current), Static)
	r.targets[s] = []Func{f}
	r.sites[r.s.Func(r.current)] = append(r.sites[r.s.Func(r.current)], s)
}

// run makes events until the bytes are used up; step sees each one that happened.
func (r *script) run(t testing.TB, step func(do func(Encoder))) {
	for len(r.data) > 0 {
		if do := r.event(t); do != nil {
			step(do)
		}
	}
}

// event makes one event and returns what it is for an encoder. It is nil if
// nothing happened, or was to be seen.
func (r *script) event(t testing.TB) func(Encoder) {
	g := r.current
	switch op := r.byte(16); {
	case op < 8:
		return r.call(t)
	case op < 11:
		return r.unwind(t, r.s.Depth(g)-1)
	case op == 11:
		return r.unwind(t, r.s.Depth(g)-r.byte(8))
	case op == 12:
		r.current = r.alive[r.byte(len(r.alive))]
	case op == 13 && g != Main && r.byte(2) == 0:
		must(t, r.s.Exit(g))
		r.alive = slices.DeleteFunc(r.alive, func(x Goroutine) bool { return x == g })
		r.current = Main
		return func(e Encoder) { e.Exit(g) }
	case op == 14 && r.byte(4) == 0:
		return func(e Encoder) { e.Reencode() }
	case op == 15:
		switch b := r.byte(8); {
		case b < 2 && r.p.Funcs < 20:
			r.addFunc()
		case b == 2:
			return r.start(t)
		}
	}
	return nil
}

func (r *script) call(t testing.TB) func(Encoder) {
	g := r.current
	sites := r.sites[r.s.Func(g)]
	site := sites[r.byte(len(sites))]
	callee := r.targets[site][r.byte(len(r.targets[site]))]
	if r.p.Sites[site].Kind != Go {
		must(t, r.s.Call(g, site, callee))
		return func(e Encoder) { e.Call(g, site, callee) }
	}
	child := r.next
	r.next++
	must(t, r.s.Go(g, site, callee, child))
	r.alive = append(r.alive, child)
	return func(e Encoder) { e.Go(g, site, callee, child) }
}

func (r *script) start(t testing.TB) func(Encoder) {
	g := r.next
	r.next++
	must(t, r.s.Start(g))
	r.alive = append(r.alive, g)
	return func(e Encoder) { e.Start(g) }
}

func (r *script) unwind(t testing.TB, depth int) func(Encoder) {
	g := r.current
	if depth < r.s.stacks[g].least {
		return nil
	}
	must(t, r.s.Unwind(g, depth))
	return func(e Encoder) { e.Unwind(g, depth) }
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// completeGraph runs a script for its edges alone.
func completeGraph(t testing.TB, data []byte) (*Program, *Graph) {
	r := newScript(data)
	g := NewGraph(r.p)
	r.run(t, func(do func(Encoder)) { do(edgeCollector{g}) })
	return r.p, g
}

// An edgeCollector is an encoder that only looks at calls.
type edgeCollector struct{ g *Graph }

func (e edgeCollector) Name() string                        { return "edges" }
func (e edgeCollector) Call(_ Goroutine, s Site, f Func)    { e.g.Add(Call{s, f}) }
func (e edgeCollector) Unwind(Goroutine, int)               {}
func (e edgeCollector) Go(Goroutine, Site, Func, Goroutine) {}
func (e edgeCollector) Start(Goroutine)                     {}
func (e edgeCollector) Exit(Goroutine)                      {}
func (e edgeCollector) Reencode()                           {}
func (e edgeCollector) Capture(Goroutine) Context           { return Context{} }
func (e edgeCollector) Decode(Context) ([]Call, error)      { return nil, nil }
func (e edgeCollector) Stats() Stats                        { return Stats{} }

// A contender is an encoder under test. Some have so little room that they must
// truncate; the others must not.
type contender struct {
	Encoder
	what      string
	truncates bool
	captured  []capture
}

type capture struct {
	c    Context
	path []Call
}

// contenders returns all encoders, with room and without.
func contenders(t testing.TB, p *Program, data []byte) []*contender {
	often := Policy{NewEdges: 3, Check: 16, Gain: 0.1}
	shallow := NewDacce(p, often, 5)
	shallow.maxDepth = 6
	countsShallow := NewDacceCounts(p, often, 5)
	countsShallow.maxDepth = 6
	complete, edges := completeGraph(t, data)
	return []*contender{
		{Encoder: NewPCCE(complete, edges), what: "pcce"},
		{Encoder: NewPCCEProfile(complete, edges), what: "pcce-profile"},
		{Encoder: NewDacce(p, often, MaxNumCC), what: "dacce"},
		{Encoder: NewDacce(p, Policy{}, MaxNumCC), what: "dacce, on request only"},
		{Encoder: NewDacce(p, often, 3), what: "dacce, small ids"},
		{Encoder: shallow, what: "dacce, shallow", truncates: true},
		{Encoder: NewDacceEdges(p, often, 1<<62), what: "dacce-edges"},
		{Encoder: NewDacceEdges(p, often, 3), what: "dacce-edges, small ids"},
		{Encoder: NewDacceCounts(p, often, 1<<62), what: "dacce-counts"},
		{Encoder: NewDacceCounts(p, often, 3), what: "dacce-counts, small ids"},
		{Encoder: countsShallow, what: "dacce-counts, shallow", truncates: true},
		{Encoder: NewLucce(p, LucceLimit, LucceBudget), what: "lucce-versions"},
		{Encoder: NewLucce(p, 10, LucceBudget), what: "lucce-versions, small ids"},
		{Encoder: NewLucce(p, LucceLimit, 40), what: "lucce-versions, short log", truncates: true},
		{Encoder: NewStableLucce(p, LucceLimit, StableBudget), what: "lucce"},
		{Encoder: NewStableLucce(p, 50, StableBudget), what: "lucce, small ids", truncates: true},
		{Encoder: NewStableLucce(p, LucceLimit, 40), what: "lucce, few entries", truncates: true},
	}
}

// capture takes the context of g and compares what it decodes to with the truth.
func (c *contender) capture(t testing.TB, g Goroutine, path []Call) {
	t.Helper()
	ctx := c.Capture(g)
	c.check(t, ctx, path)
	c.captured = append(c.captured, capture{ctx, slices.Clone(path)})
	if d, ok := c.Encoder.(*Dacce); ok {
		d.checkWord(t, g)
	}
}

func (c *contender) check(t testing.TB, ctx Context, path []Call) {
	t.Helper()
	got, err := c.Decode(ctx)
	var truncated *TruncatedError
	if c.truncates && errors.As(err, &truncated) {
		return
	}
	if err != nil || !slices.Equal(got, path) {
		t.Fatalf("%s: %+v decodes to %v, %v; want %v", c.what, ctx, got, err, path)
	}
}

// checkWord compares the parts of the injected word with what they stand for.
func (d *Dacce) checkWord(t testing.TB, g Goroutine) {
	t.Helper()
	if _, ok := d.Tables().(*SiteTables); !ok {
		return
	}
	w, f := d.Word(g), d.running[g].top()
	if w.Key() != 0 || w.Depth() != f.depth || w.ID() != d.Tables().ID(f.state) {
		t.Fatalf("function %d at depth %d has word %#x", f.call.Func, f.depth, uint64(w))
	}
}

// drive runs all encoders over one script. Contexts are captured now and then, by
// the script's own bytes, and decoded again at the end.
func drive(t testing.TB, data []byte) {
	r := newScript(data)
	list := contenders(t, r.p, data)
	pcc := NewPCC()
	r.run(t, func(do func(Encoder)) {
		for _, c := range list {
			do(c)
		}
		do(pcc)
		g := r.current
		if !r.s.Alive(g) || len(r.data)%5 != 0 {
			return
		}
		path := r.s.Path(g)
		for _, c := range list {
			c.capture(t, g, path)
		}
		if got, want := pcc.Capture(g).ID, hash(path); got != want {
			t.Fatalf("pcc: %#x, want %#x for %v", got, want, path)
		}
	})
	for _, c := range list {
		for _, old := range c.captured {
			c.check(t, old.c, old.path)
		}
		switch e := c.Encoder.(type) {
		case *Lucce:
			checkLog(t, c, e)
		case *Dacce:
			checkDictionaries(t, c, e)
		}
	}
}

// hash is the value of a path by its definition.
func hash(path []Call) uint64 {
	var v uint64
	for _, c := range path {
		v = 3*v + uint64(c.Site) + 1
	}
	return v
}

// checkLog decodes what was captured by the log alone.
func checkLog(t testing.TB, c *contender, l *Lucce) {
	d, err := NewLucceDecoder(l.p, l.graph.limit, l.Log())
	must(t, err)
	for _, old := range c.captured {
		if got, err := d.Decode(old.c); !old.c.Truncated && (err != nil || !slices.Equal(got, old.path)) {
			t.Fatalf("%s: by the log, %+v decodes to %v, %v; want %v", c.what, old.c, got, err, old.path)
		}
	}
	if len(l.Log()) > l.budget {
		t.Fatalf("%s: %d log entries, but a budget of %d", c.what, len(l.Log()), l.budget)
	}
}

// checkDictionaries decodes what was captured by tables that were made from the
// dictionaries of the epochs.
func checkDictionaries(t testing.TB, c *contender, d *Dacce) {
	var epochs []Tables
	for _, e := range d.epochs {
		tables, ok := e.(*SiteTables)
		if !ok {
			return
		}
		again, err := ReadSiteTables(d.p, tables.Key, tables.NumCC, tables.Values())
		must(t, err)
		epochs = append(epochs, again)
	}
	for _, old := range c.captured {
		if got, err := DecodeDacce(old.c, d.p, epochs, d.node); !old.c.Truncated &&
			(err != nil || !slices.Equal(got, old.path)) {
			t.Fatalf("%s: by its dictionary, %+v decodes to %v, %v; want %v", c.what, old.c, got, err, old.path)
		}
	}
}

// randomScript returns bytes for a script.
func randomScript(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// TestEngines is FuzzEngines on programs that are the same in every run. For Lucce
// it is theorem 1 of the paper: De(n, En(π)) = π.
func TestEngines(t *testing.T) {
	for seed := range level.Rounds[uint64](100, 400) {
		drive(t, randomScript(seed, 60+int(seed)*4))
	}
}

// FuzzEngines drives all encoders with one program against plain slices of calls.
func FuzzEngines(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(randomScript(seed, 300))
	}
	f.Fuzz(func(t *testing.T, data []byte) { drive(t, data[:min(len(data), 1200)]) })
}
