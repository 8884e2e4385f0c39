package stemmatest

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/stemma-go/stemma"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/profile"
)

// recording returns the live directory of this process: "" in a normal build. If it has no
// tree of calls, it returns the engine of what it has.
func recording() (dir, other string, err error) {
	if dir, err = stemma.Recording(); dir == "" {
		return "", "", err
	}
	for _, file := range engine.Files() {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			continue
		}
		if file != layout.FileTree {
			other = engine.Recorded(file, 0).Name
		}
		return dir, other, nil
	}
	return dir, "", fmt.Errorf("the record of this process, %s, is gone: leave it alone while tests run", dir)
}

// A reading is what a lane has called up to some moment.
type reading struct {
	profile *profile.Profile // the nodes of the lane and those that lead there, which have no values
	nodes   *profile.NodeIndex
}

// oneReader is held by whoever reads the record.
var oneReader sync.Mutex

// read takes a snapshot of the record of this process. Contexts that another goroutine makes meanwhile may be missing,
// and are not this lane's.
func (l *lane) read() (*reading, error) {
	oneReader.Lock() // a snapshot takes memory
	defer oneReader.Unlock()
	p, err := stemma.Snapshot()
	if err != nil {
		return nil, err
	}
	if err := exact(p); err != nil {
		return nil, err
	}
	in := l.nodes(p)
	if err := contained(p, in); err != nil {
		return nil, err
	}
	return extract(p, in), nil
}

// exact returns an error if calls are missing.
func exact(p *profile.Profile) error {
	for _, loss := range p.Lost() {
		if !loss.Spoils(profile.Calls) {
			continue
		}
		if loss.Kind == profile.LossFaults {
			return fmt.Errorf("counts are not exact: inlined calls behind faults at addresses that are not nil "+
				"(%d of them) may be counted; see debug.SetPanicOnFault", loss.Count)
		}
		return fmt.Errorf("counts are not exact: the record of this process lacks %s (%d); give it more room, see "+
			"stemma help test", loss.Kind, loss.Count)
	}
	for i := range p.Funcs {
		for _, in := range p.Funcs[i].Inlined {
			if in.Counter != profile.None {
				return nil
			}
		}
	}
	return errors.New("counts are not exact: inlined calls are not counted; leave out -inlined=off")
}

// nodes returns for each node of p whether it lies in the lane, below a node of last.
func (l *lane) nodes(p *profile.Profile) []bool {
	x := &laneWalk{p: p, level: make([]int, len(p.Funcs)), digits: make([][]int, len(p.Funcs))}
	for i := range p.Funcs {
		if n := slices.Index([]string{firstName, secondName, lastName}, p.Strings[p.Funcs[i].Name]); n >= 0 {
			x.level[i], x.digits[i] = n+1, digits(&p.Funcs[i])
		}
	}
	want := []int{l.number / places / places, l.number / places % places, l.number % places}
	// match: of first, second and last, called as the lane does
	in, match := make([]bool, len(p.Nodes)), make([]bool, len(p.Nodes))
	for i := 1; i < len(p.Nodes); i++ {
		n := &p.Nodes[i]
		up := x.level[p.Nodes[n.Parent].Func]
		taken := up > 0 && match[n.Parent] && x.digits[p.Nodes[n.Parent].Func][n.Cell] == want[up-1]
		in[i] = in[n.Parent] || up == 3 && taken
		match[i] = x.level[n.Func] == 1 || x.level[n.Func] == up+1 && taken
	}
	return in
}

// A laneWalk knows the functions of lanes.
type laneWalk struct {
	p      *profile.Profile
	level  []int   // by function: 1 for first, 2, 3 for last, 0 for others
	digits [][]int // by function and cell
}

// digits returns for each cell of a function of lanes which of its places that is: they stand in
// the order of their lines. A cell that is no such place, of a stack that grows for
// instance, has -1.
func digits(f *profile.Func) []int {
	var sites []profile.Site
	for _, s := range f.Sites {
		if s.Kind == profile.SiteCall && s.Cell != profile.None {
			sites = append(sites, s)
		}
	}
	slices.SortFunc(sites, func(a, b profile.Site) int { return cmp.Compare(a.Line, b.Line) })
	list := slices.Repeat([]int{-1}, int(f.Cells))
	for k, s := range sites {
		list[s.Cell] = k
	}
	return list
}

// contained returns an error if recursion leads out of the lane: what such a function calls
// hangs below a node further out, where calls of others are counted as well.
func contained(p *profile.Profile, in []bool) error {
	homes := p.Homes()
	for i, h := range homes {
		if in[i] && !in[h] {
			return fmt.Errorf("%s is called by what is counted, and runs further out as well, so that its calls "+
				"cannot be told apart; use -recursion=full",
				p.String(p.Funcs[p.Nodes[i].Func].Name))
		}
	}
	return nil
}

// extract returns the nodes of the lane with their values, and those that lead there.
func extract(p *profile.Profile, in []bool) *reading {
	keep := slices.Clone(in)
	for i := len(in) - 1; i > 0; i-- {
		keep[p.Nodes[i].Parent] = keep[p.Nodes[i].Parent] || keep[i]
	}
	to := profile.New(exactTypes(p)...)
	to.Processes, to.Strings, to.Funcs = p.Processes, p.Strings, p.Funcs
	r := &reading{to, profile.NewNodeIndex(to, len(p.Nodes))}
	place := make([]uint32, len(p.Nodes))
	for i := 1; i < len(p.Nodes); i++ {
		if !keep[i] {
			continue
		}
		n := p.Nodes[i]
		place[i] = r.nodes.Node(place[n.Parent], n.Cell, n.Func)
		for k := range to.Columns {
			if c := &to.Columns[k]; in[i] {
				copy(c.Of(to, int(place[i])), p.Column(c.Name).Of(p, i))
			}
		}
	}
	return r
}

// exactTypes returns the exact values that p has.
func exactTypes(p *profile.Profile) (list []profile.Metric) {
	for _, c := range p.Columns {
		if !c.Sampled {
			list = append(list, c.Metric)
		}
	}
	return list
}

// subtract takes away what an earlier reading has. Functions and strings have kept their numbers, since the
// record only grows; nodes have not, as some may have been incomplete.
func (r *reading) subtract(old *reading) {
	if old.profile == nil {
		return
	}
	place := make([]uint32, len(old.profile.Nodes))
	for i := 1; i < len(place); i++ {
		n := old.profile.Nodes[i]
		place[i] = r.nodes.Node(place[n.Parent], n.Cell, n.Func)
		for k := range r.profile.Columns {
			values := &r.profile.Columns[k]
			before := old.profile.Column(values.Name)
			if before == nil {
				continue
			}
			for c, v := range before.Of(old.profile, i) {
				values.Of(r.profile, int(place[i]))[c] -= v
			}
		}
	}
}

// A pcHeader is what .gopclntab begins with, since go1.20: the offsets of the names of functions and of
// what comes behind them.
type pcHeader struct {
	Magic, Sizes uint32
	Funcs, Files uint64
	Text         uint64
	Names, Units uint64
}

// programFuncs returns the symbols of all functions of the program, also of inlined ones.
var programFuncs = sync.OnceValues(func() ([]string, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	file, err := elf.Open(exe)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	section := file.Section(".gopclntab")
	if section == nil {
		return nil, fmt.Errorf("%s: no section .gopclntab", exe)
	}
	b, err := section.Data()
	if err != nil {
		return nil, err
	}
	if len(b) < int(unsafe.Sizeof(pcHeader{})) {
		return nil, fmt.Errorf("%s: .gopclntab has %d bytes", exe, len(b))
	}
	h := raw.Load[pcHeader](b)
	if h.Names > h.Units || h.Units > uint64(len(b)) {
		return nil, fmt.Errorf("%s: .gopclntab has names from %d to %d, and %d bytes", exe, h.Names, h.Units, len(b))
	}
	return strings.Split(string(b[h.Names:h.Units]), "\x00"), nil
})
