package replay

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/encoder"
)

// Encoders lists the names that [Options.Encoders] may have, in the order of the
// table.
func Encoders() []string {
	return []string{"cct", "pcc", "pcce", "pcce-profile", "dacce-edges", "dacce-counts", "dacce", "lucce-versions",
		"lucce"}
}

// Options tell what to run. [DefaultOptions] has values for all fields.
type Options struct {
	Encoders []string
	Check    int    // compare every Check-th context with the true stack; 0 for none
	MaxID    uint64 // for dacce and dacce-edges; 0 for what the encoder can hold
	NewEdges int    // re-encode after so many new edges; 0 for never on its own
	Budget   int    // log entries of lucce-versions
}

// DefaultOptions runs everything and checks one context in a thousand.
func DefaultOptions() Options {
	return Options{Encoders: Encoders(), Check: 1000, NewEdges: encoder.DefaultPolicy.NewEdges,
		Budget: encoder.LucceBudget}
}

// CheckValid returns what is wrong with o.
func (o *Options) CheckValid() error {
	for _, name := range o.Encoders {
		if !slices.Contains(Encoders(), name) {
			return fmt.Errorf("unknown encoder %q; have %s", name, strings.Join(Encoders(), ", "))
		}
	}
	if len(o.Encoders) == 0 {
		return errors.New("no encoder given")
	}
	if o.Check < 0 || o.NewEdges < 0 || o.Budget < 0 {
		return errors.New("a number is negative")
	}
	return nil
}

// JSONForms are the values that -format=json prints, by the names of their schemas in docs/reference/schemas.
var JSONForms = map[string]any{"replay": Result{}}

// A Result is the outcome of a run: facts about the program, and a row for each
// encoder.
type Result struct {
	Name       string   `json:"name"`
	Calls      uint64   `json:"calls"`
	Contexts   int      `json:"contexts"`
	Goroutines int      `json:"goroutines"`
	MaxDepth   int      `json:"maxDepth"`        // frames of one goroutine
	Notes      []string `json:"notes,omitempty"` // in what the events are not those of the whole run
	Rows       []Row    `json:"encoders"`
}

// A Row is the figures of one encoder; [cce.Stats] explains most of them. Note says
// why there are none, or what the first mismatch was.
type Row struct {
	Encoder    string  `json:"encoder"`
	Nodes      int     `json:"nodes"`
	Edges      int     `json:"edges"`
	Encoded    int     `json:"encoded"`
	LeftOut    int     `json:"leftOut"` // edges that would make ids too large
	NumCC      uint64  `json:"numCC"`
	MaxID      uint64  `json:"maxID"`
	StackOps   uint64  `json:"ccStackOps"`
	StackMean  float64 `json:"ccStackMean"`
	StackMax   uint32  `json:"ccStackMax"`
	Compares   uint64  `json:"compares"`
	Epochs     int     `json:"epochs"`
	EncodeUS   int64   `json:"encodeMicroseconds"`
	Interned   int     `json:"interned"`
	LogEntries uint64  `json:"logEntries"`
	LogBytes   uint64  `json:"logBytes"`
	Bytes      uint64  `json:"memoryBytes"`
	Truncated  uint64  `json:"truncated"`
	Collisions int     `json:"collisions"` // contexts that have the value of another one (pcc)
	Checked    int     `json:"checked"`
	Mismatches int     `json:"mismatches"`
	Note       string  `json:"note,omitempty"`
}

// Mismatches returns how many contexts were not decoded to the true stack.
func (r *Result) Mismatches() int {
	sum := 0
	for _, row := range r.Rows {
		sum += row.Mismatches
	}
	return sum
}

// Run reads events to the end and drives the encoders with them. Open opens the
// events from the beginning; it is called twice if pcce or pcce-profile is among the encoders, which
// need the whole graph first. Where that is not possible it returns
// [ErrReadOnce] the second time, and they have a note for figures.
//
// Memory is taken for the stacks, the encoders, and the tree of all contexts, which
// is always kept, as it counts them; not for events.
func Run(open func() (*Reader, error), o Options) (*Result, error) {
	if err := o.CheckValid(); err != nil {
		return nil, err
	}
	in, err := open()
	if err != nil {
		return nil, err
	}
	p := in.Program()
	var complete *encoder.Graph
	note := ""
	if slices.ContainsFunc(o.Encoders, needsGraph) {
		again, err := open()
		switch {
		case errors.Is(err, ErrReadOnce):
			note = "needs the whole call graph first, and the input can be read only once"
		case err != nil:
			return nil, err
		default:
			if complete, err = graphOf(again); err != nil {
				return nil, err
			}
			p = again.Program()
		}
	}
	d := newDriver(in, p, complete, o)
	if err := d.run(); err != nil {
		return nil, err
	}
	return d.result(o, note), nil
}

// needsGraph reports whether an encoder must know all calls before the first one.
func needsGraph(encoder string) bool { return encoder == "pcce" || encoder == "pcce-profile" }

// ErrReadOnce is what the open function of [Run] returns if it cannot open again.
var ErrReadOnce = errors.New("the input can be read only once")

// graphOf reads all events for the calls that are among them, and counts them.
func graphOf(r *Reader) (*encoder.Graph, error) {
	g := encoder.NewGraph(r.Program())
	for {
		e, err := r.Next()
		if err == io.EOF {
			return g, nil
		}
		if err != nil {
			return nil, err
		}
		if e.Kind == Call {
			i, _ := g.Add(e.Call)
			g.Edges[i].Weight++
		}
	}
}

// A driver is a run.
type driver struct {
	in       *Reader
	tree     *tree
	pcc      *encoder.PCC
	values   map[encoder.Context]bool // that pcc gave to contexts
	list     []*contender
	check    int
	stride   int // contexts that are checked, until the next one is kept
	kept     []uint32
	calls    uint64
	checks   int
	started  int
	maxDepth int
}

// A contender is an encoder with the result of its checks, and the contexts that
// are decoded once more at the end, when their frames and epochs are gone.
type contender struct {
	encoder.Encoder
	checked, mismatches int
	note                string
	kept                []encoder.Context
}

// maxKept bounds the contexts that are kept until the end.
const maxKept = 4096

func newDriver(in *Reader, p *encoder.Program, complete *encoder.Graph, o Options) *driver {
	d := &driver{in: in, tree: newTree(), check: o.Check, stride: 1, started: 1}
	limit := o.MaxID
	if limit == 0 || limit >= encoder.LucceLimit {
		limit = encoder.LucceLimit - 1
	}
	policy := encoder.Policy{NewEdges: o.NewEdges}
	if o.NewEdges > 0 {
		policy.Check, policy.Gain = encoder.DefaultPolicy.Check, encoder.DefaultPolicy.Gain
	}
	for _, name := range o.Encoders {
		var e encoder.Encoder
		switch {
		case name == "cct":
			e = d.tree
		case name == "pcc":
			d.pcc, d.values = encoder.NewPCC(), make(map[encoder.Context]bool)
			e = d.pcc
		case name == "pcce" && complete != nil:
			e = encoder.NewPCCE(p, complete)
		case name == "pcce-profile" && complete != nil:
			e = encoder.NewPCCEProfile(p, complete.Clone())
		case name == "dacce":
			e = encoder.NewDacce(p, policy, limit+1)
		case name == "dacce-edges":
			e = encoder.NewDacceEdges(p, policy, limit+1)
		case name == "dacce-counts":
			e = encoder.NewDacceCounts(p, policy, limit+1)
		case name == "lucce":
			e = encoder.NewStableLucce(p, encoder.LucceLimit, encoder.StableBudget)
		case name == "lucce-versions":
			e = encoder.NewLucce(p, encoder.LucceLimit, o.Budget)
		default:
			continue
		}
		d.list = append(d.list, &contender{Encoder: e})
	}
	return d
}

// run reads to the end.
func (d *driver) run() error {
	for {
		e, err := d.in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		d.drive(e)
	}
	for i, n := range d.kept {
		path, _ := d.tree.Decode(encoder.Context{Node: n})
		for _, c := range d.list {
			c.compare(c.kept[i], path)
		}
	}
	return nil
}

// drive drives everything by one event.
func (d *driver) drive(e Event) {
	contexts := d.tree.contexts()
	e.apply(d.tree)
	for _, c := range d.list {
		if c.Encoder != encoder.Encoder(d.tree) {
			e.apply(c)
		}
	}
	g := e.G
	switch e.Kind {
	case Go:
		g = e.Child
		d.started++
	case Start:
		d.started++
		return
	case Call:
	default:
		return
	}
	d.calls++
	d.maxDepth = max(d.maxDepth, d.in.Shadow().Depth(g))
	if d.pcc != nil && d.tree.contexts() > contexts {
		d.values[d.pcc.Capture(g)] = true
	}
	if d.check > 0 && d.calls%uint64(d.check) == 0 {
		d.compare(g)
	}
}

// compare captures and decodes the context of g everywhere. Some contexts are kept:
// every stride-th one, and whenever there are too many, half of them are dropped.
func (d *driver) compare(g encoder.Goroutine) {
	path := d.in.Shadow().Path(g)
	keep := d.checks%d.stride == 0
	d.checks++
	if keep {
		d.kept = append(d.kept, d.tree.Capture(g).Node)
	}
	for _, c := range d.list {
		ctx := c.Capture(g)
		c.compare(ctx, path)
		if keep {
			c.kept = append(c.kept, ctx)
		}
	}
	if len(d.kept) < maxKept {
		return
	}
	d.stride *= 2
	d.kept = halve(d.kept)
	for _, c := range d.list {
		c.kept = halve(c.kept)
	}
}

// halve keeps every second element.
func halve[T any](list []T) []T {
	n := 0
	for i := 0; i < len(list); i += 2 {
		list[n] = list[i]
		n++
	}
	return list[:n]
}

// compare decodes a context, unless that is known not to be possible.
func (c *contender) compare(ctx encoder.Context, want []encoder.Call) {
	got, err := c.Decode(ctx)
	if err == encoder.ErrNotDecodable || ctx.Truncated {
		return
	}
	c.checked++
	if err == nil && slices.Equal(got, want) {
		return
	}
	if c.mismatches++; c.note == "" {
		c.note = fmt.Sprintf("first mismatch: %+v decodes to %v (%v), want %v", ctx, got, err, want)
	}
}

// result collects the figures.
func (d *driver) result(o Options, pcceNote string) *Result {
	r := &Result{
		Name: d.in.name, Calls: d.calls, Contexts: d.tree.contexts(), Goroutines: d.started, MaxDepth: d.maxDepth,
		Notes: d.in.Notes(),
	}
	for _, name := range o.Encoders {
		i := slices.IndexFunc(d.list, func(c *contender) bool { return c.Name() == name })
		if i < 0 {
			r.Rows = append(r.Rows, Row{Encoder: name, Note: pcceNote})
			continue
		}
		row := d.list[i].row()
		if name == "pcc" {
			row.Collisions = r.Contexts - len(d.values)
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

func (c *contender) row() Row {
	s := c.Stats()
	return Row{
		Encoder: c.Name(), Nodes: s.Nodes, Edges: s.Edges, Encoded: s.Encoded, LeftOut: s.LeftOut,
		NumCC: s.NumCC, MaxID: s.MaxID,
		StackOps: s.StackOps, StackMean: s.StackMean, StackMax: s.StackMax, Compares: s.Compares,
		Epochs: s.Epochs, EncodeUS: s.EncodeTime.Microseconds(), Interned: s.Interned,
		LogEntries: s.LogEntries, LogBytes: s.LogBytes, Bytes: s.Bytes, Truncated: s.Truncated,
		Checked: c.checked, Mismatches: c.mismatches, Note: c.note,
	}
}
