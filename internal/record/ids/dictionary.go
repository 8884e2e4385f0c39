package ids

import (
	"cmp"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/sealed"
	"github.com/stemma-go/stemma/profile"
)

// A Dictionary is how the edges of the call graph were encoded in each epoch.
//
// The program records what each epoch changes. The dictionary keeps the versions of
// each function and of each site, so that a million epochs that change little take
// little memory, and what an epoch says about one function is found without the
// rest of it.
type Dictionary struct {
	Epochs  []EpochInfo // [0] is that which encodes nothing
	funcs   map[uint32][]funcVersion
	sites   []siteVersions
	index   map[siteKey]uint32
	callers map[uint32][]uint32 // for each target the sites that ever had it
	touched []uint32            // targets whose callers are not in order
	damaged bool                // a record was on a page that was lost: what later ones change is not known
}

// An EpochInfo is what an epoch's record says about itself. What holds in an epoch is
// not known from the first epoch on that lost a part to a lost page.
type EpochInfo struct {
	Time  time.Time
	MaxID uint32
	Known bool
}

// A funcVersion is what holds for a function from an epoch on.
type funcVersion struct{ epoch, key, numCC uint32 }

// A siteKey is a cell of a function.
type siteKey struct{ fn, cell uint32 }

// siteVersions are what holds for a site, by epoch.
type siteVersions struct {
	fn, cell uint32
	site     int32 // index into the Sites of the function, or None
	versions []siteVersion
}

// A siteVersion is what holds for a site from an epoch on. The target is a function
// or, with keyTarget, a key.
type siteVersion struct{ epoch, addition, target uint32 }

// keyTarget marks a target that is a key.
const keyTarget = 1 << 31

// An InEdge is an encoded edge into a function: the ids of the callee's contexts
// that come through it are in [Addition, Addition+NumCC).
type InEdge struct {
	Caller   uint32 // index into Funcs
	Site     int32  // index into the caller's Sites, or None
	Addition uint32
	NumCC    uint32 // of the caller
}

// at returns the last of the versions that is not behind the epoch.
func at[V any](versions []V, epoch uint32, epochOf func(*V) uint32) (v V, ok bool) {
	i, found := slices.BinarySearchFunc(versions, epoch,
		func(v V, epoch uint32) int { return cmp.Compare(epochOf(&v), epoch) })
	if !found {
		i--
	}
	if i < 0 {
		return v, false
	}
	return versions[i], true
}

// function returns what holds for a function in an epoch.
func (d *Dictionary) function(epoch, fn uint32) funcVersion {
	v, _ := at(d.funcs[fn], epoch, func(v *funcVersion) uint32 { return v.epoch })
	return v
}

// InEdges returns the edges into a function that the epoch encodes, by ascending
// addition. Their intervals do not overlap in what a program records.
func (d *Dictionary) InEdges(epoch, fn uint32) []InEdge {
	var edges []InEdge
	edges = d.inEdges(edges, epoch, fn)
	if key := d.function(epoch, fn).key; key != 0 {
		edges = d.inEdges(edges, epoch, key|keyTarget)
	}
	slices.SortFunc(edges, func(a, b InEdge) int { return cmp.Compare(a.Addition, b.Addition) })
	return edges
}

// inEdges appends the edges from the sites with one target.
func (d *Dictionary) inEdges(edges []InEdge, epoch, target uint32) []InEdge {
	for _, i := range d.callers[target] {
		s := &d.sites[i]
		v, ok := at(s.versions, epoch, func(v *siteVersion) uint32 { return v.epoch })
		if !ok || v.target != target || v.addition == layout.NoAddition {
			continue
		}
		edges = append(edges, InEdge{s.fn, s.site, v.addition, d.function(epoch, s.fn).numCC})
	}
	return edges
}

// newDictionary returns a dictionary of the epoch that encodes nothing.
func newDictionary() Dictionary {
	return Dictionary{
		Epochs: []EpochInfo{{Known: true}}, funcs: make(map[uint32][]funcVersion),
		index: make(map[siteKey]uint32), callers: make(map[uint32][]uint32),
	}
}

// epochs reads the dictionaries that were not read before. A record without a length was being written.
func (r *Reader) epochs() error {
	d := &r.Encoding.Dict
	if d.Epochs == nil {
		*d = newDictionary()
	}
	defer d.sortCallers()
	f, end, err := r.open(layout.FileEpochs, r.Encoding.header.Dacce.EpochsUsed)
	if err != nil {
		return err
	}
	defer f.Close()
	for r.next+layout.EpochSize <= end {
		size, err := r.epoch(f, r.next, end)
		if err != nil {
			return err
		}
		if size == 0 {
			break
		}
		r.next += size
	}
	return nil
}

// sortCallers brings the callers of targets that have got new ones in order.
func (d *Dictionary) sortCallers() {
	slices.Sort(d.touched)
	for _, target := range slices.Compact(d.touched) {
		sites := d.callers[target]
		slices.Sort(sites)
		d.callers[target] = slices.Compact(sites)
	}
	d.touched = d.touched[:0]
}

// epoch reads the record at off and returns its size, 0 at the end.
func (r *Reader) epoch(f *livedir.File, off, end int64) (int64, error) {
	b, err := f.At(off, layout.EpochSize)
	if err != nil {
		return 0, err
	}
	h := raw.Load[layout.Epoch](b)
	size := int64(h.Length)
	info := EpochInfo{Time: sealed.UnixNano(h.Time), MaxID: h.MaxID}
	last := uint32(len(r.Encoding.Dict.Epochs) - 1)
	switch {
	case size == 0:
		return 0, nil
	case size != layout.EpochSize+layout.EpochFuncSize*int64(h.Funcs)+layout.EpochSiteSize*int64(h.Sites) ||
		size > end-off:
		return 0, f.Fail(off, "epoch of %d bytes with %d functions and %d sites, but %d bytes follow", size, h.Funcs,
			h.Sites, end-off)
	case h.Epoch != last+1:
		return 0, f.Fail(off+int64(unsafe.Offsetof(h.Epoch)), "epoch %d behind epoch %d, want %d", h.Epoch, last,
			last+1)
	}
	if b, err = f.At(off, int(size)); err != nil {
		return 0, err
	}
	at := layout.EpochSize
	for range h.Funcs {
		if err := r.epochFunc(h.Epoch, raw.Load[layout.EpochFunc](b[at:])); err != nil {
			return 0, f.Fail(off+int64(at), "%w", err)
		}
		at += layout.EpochFuncSize
	}
	for range h.Sites {
		if err := r.epochSite(h.Epoch, raw.Load[layout.EpochSite](b[at:])); err != nil {
			return 0, f.Fail(off+int64(at), "%w", err)
		}
		at += layout.EpochSiteSize
	}
	info.Known = !r.Encoding.Dict.damaged
	r.Encoding.Dict.Epochs = append(r.Encoding.Dict.Epochs, info)
	return size, nil
}

// epochFunc reads what an epoch says about a function.
func (r *Reader) epochFunc(epoch uint32, f layout.EpochFunc) error {
	v := funcVersion{epoch, f.Key, f.NumCC}
	if err := v.check(); err != nil {
		return err
	}
	d := &r.Encoding.Dict
	fn, err := r.function(f.Func)
	d.damaged = d.damaged || f.Func == 0
	if err != nil || fn == NoFunc {
		return err
	}
	return d.addFunc(fn, v)
}

// check checks the ranges of numbers.
func (v *funcVersion) check() error {
	if v.key >= layout.NumKeys || v.numCC > layout.MaxNum {
		return fmt.Errorf("key %d, numCC %d, want less than %d and at most %d", v.key, v.numCC, layout.NumKeys,
			layout.MaxNum)
	}
	return nil
}

// addFunc adds what holds for a function from an epoch on; epochs come in order.
func (d *Dictionary) addFunc(fn uint32, v funcVersion) error {
	d.funcs[fn] = append(d.funcs[fn], v)
	return v.check()
}

// epochSite reads what an epoch says about a site.
func (r *Reader) epochSite(epoch uint32, e layout.EpochSite) error {
	v := siteVersion{epoch: epoch, addition: e.Addition}
	if err := v.check(); err != nil {
		return err
	}
	d := &r.Encoding.Dict
	fn, err := r.function(e.Func)
	d.damaged = d.damaged || e.Func == 0
	if err != nil || fn == NoFunc {
		return err
	}
	if e.Target < layout.NumKeys {
		v.target = uint32(e.Target) | keyTarget
	} else if v.target, err = r.function(e.Target); err != nil {
		return err
	}
	return d.addSite(&r.Profile.Funcs[fn], fn, e.Cell, v)
}

// check checks the range of the addition.
func (v *siteVersion) check() error {
	if v.addition != layout.NoAddition && v.addition >= layout.MaxNum {
		return fmt.Errorf("addition %d, want less than %d", v.addition, layout.MaxNum)
	}
	return nil
}

// addSite adds what holds from an epoch on for the site of a cell of f, which is
// function fn; epochs come in order.
func (d *Dictionary) addSite(f *profile.Func, fn, cell uint32, v siteVersion) error {
	s, err := d.site(f, fn, cell)
	if err != nil {
		return err
	}
	d.sites[s].versions = append(d.sites[s].versions, v)
	if v.addition != layout.NoAddition && v.target != NoFunc {
		d.addCaller(v.target, s)
	}
	return v.check()
}

// addCaller notes that a site has had a target. The same site comes again and
// again, mostly as the last one of its target.
func (d *Dictionary) addCaller(target, site uint32) {
	list := d.callers[target]
	if n := len(list); n > 0 && list[n-1] == site {
		return
	}
	if n := len(d.touched); n == 0 || d.touched[n-1] != target {
		d.touched = append(d.touched, target)
	}
	if list = append(list, site); len(list) == cap(list) {
		slices.Sort(list)
		list = slices.Compact(list)
	}
	d.callers[target] = list
}

// site returns the index of a site among those of the dictionary.
func (d *Dictionary) site(f *profile.Func, fn, cell uint32) (uint32, error) {
	key := siteKey{fn, cell}
	if i, ok := d.index[key]; ok {
		return i, nil
	}
	if cell >= f.Cells {
		return 0, fmt.Errorf("cell %d of a function with %d", cell, f.Cells)
	}
	i := uint32(len(d.sites))
	d.index[key] = i
	d.sites = append(d.sites, siteVersions{fn: fn, cell: cell, site: f.CellSites()[cell]})
	return i, nil
}
