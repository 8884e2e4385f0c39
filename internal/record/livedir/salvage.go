package livedir

import (
	"fmt"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/profile"
)

// What a full disk leaves behind.
//
// A page that the disk did not take reads as zeros, wherever it lies: the
// program went on with a page of its own in its place. So in a directory whose
// header counts lost pages, damage is expected, and makes unknown only what it
// struck: a function, or a node and the nodes below it. In any other directory
// the same damage is an error, since nothing explains it.
//
// A record or object that begins in front of a lost page still tells its size.
// Behind a lost page the readers look for the next place where one can begin.

// pageSize is the unit in which a disk refuses what the program wrote.
const pageSize = 4096

// maxSalvaged bounds the records that are looked for behind a lost page, in
// bytes, so that the search takes time in proportion to the file.
const maxSalvaged = 1 << 16

// maxDamages is how many notes say where the damage is; there may be as many
// places as pages.
const maxDamages = 10

// PagesLost reports whether the program counted pages that the disk did not take, or
// met one that has become zeros without a signal.
func (l *Dir) PagesLost() bool {
	return l.Header.Lost[layout.LostPages] > 0 || l.Header.Lost[layout.LostPaths] > 0
}

// damage notes that the bytes from off up to end of a file cannot be read.
func (l *Dir) damage(f *File, off, end int64, format string, args ...any) {
	l.damages++
	if l.damages <= maxDamages {
		l.Note("%s: offset %d to %d: %s", f.Name, off, end, fmt.Sprintf(format, args...))
	}
}

// NoteDamages says how many notes there would be more.
func (l *Dir) NoteDamages() {
	if l.damages > maxDamages {
		l.Note("places with damage beyond these: %d", l.damages-maxDamages)
	}
}

// isLost reports whether the page that off lies in is all zeros up to end, the
// end of what is in use. Records are dense, so that such a page was lost.
func (f *File) isLost(off, end int64) (bool, error) {
	begin := off &^ (pageSize - 1)
	b, err := f.At(begin, int(min(pageSize, end-begin)))
	if err != nil {
		return false, err
	}
	for _, v := range b {
		if v != 0 {
			return false, nil
		}
	}
	return true, nil
}

// checkPages returns an error if the n bytes at off touch a lost page.
func (f *File) checkPages(off, n, end int64) error {
	for page := off &^ (pageSize - 1); page < off+n; page += pageSize {
		lost, err := f.isLost(page, end)
		if err != nil {
			return err
		}
		if lost {
			return fmt.Errorf("the page at offset %d was lost", page)
		}
	}
	return nil
}

// salvage returns how far it is from the record at off, which cannot be read,
// to the next one. cause is nil if the record has no length. The function's
// nodes can still be skipped, and counted, if ID and size were not lost.
func (r *FuncsReader) salvage(f *File, off, end int64, cause error) (int64, error) {
	h, err := readFuncHeader(f, off)
	if err != nil {
		return 0, err
	}
	if h.checkLength(end-off) == nil {
		r.live.damage(f, off, off+int64(h.Length), "function %#x is not known: %v", h.ID, cause)
		if h.checkNode() == nil {
			r.unknown[h.ID] = h.NodeSize
		}
		return int64(h.Length), nil
	}
	next := off + 8
	for ; next+layout.FuncRecordSize <= end; next += 8 {
		if h, err = readFuncHeader(f, next); err != nil {
			return 0, err
		}
		if !h.plausible(end - next) {
			continue
		}
		// What can be read here is read once more when the walk gets here.
		if _, err := r.record(f, next, end); err == nil {
			break
		}
	}
	if next+layout.FuncRecordSize > end {
		next = end
	}
	r.live.damage(f, off, next, "records of functions were lost")
	return next - off, nil
}

// plausible reports whether a record may begin with h, where none is known to
// begin; room bytes are in use there.
func (h *funcHeader) plausible(room int64) bool {
	parts := layout.FuncRecordSize + lengthSize*uint64(h.Strings) + uint64(h.BlobLen)
	return h.checkLength(room) == nil && h.checkNode() == nil && h.Length <= maxSalvaged &&
		layout.RecFunc <= h.Kind && h.Kind <= layout.RecMetric && parts <= uint64(h.Length)
}

// salvage walks the objects of the tree like readTree, where pages were lost.
// The root stands where it always does, whether its page was lost or not.
func (w *treeWalk) salvage() error {
	w.add(layout.HeaderSize, 0)
	gap := int64(-1) // where bytes begin that are no object, -1 if all is well
	garbage := false // some of them are not zero
	for off := int64(layout.HeaderSize + w.funcs.sizes[0]); off+8 <= w.end; {
		b, err := w.tree.At(off, int(min(layout.NodeSize, w.end-off)))
		if err != nil {
			return err
		}
		size := w.known(off, b, gap >= 0)
		switch nonzero := raw.Load[uint64](b) != 0; {
		case size > 0:
			w.noteGap(gap, off, garbage)
			gap, garbage = -1, false
		case gap < 0:
			gap, garbage = off, nonzero
			if nonzero { // a node, since it begins where an object must
				w.live.Lose(profile.LossUnreadable, 1)
			}
		default:
			garbage = garbage || nonzero
		}
		off += max(size, 8)
	}
	w.noteGap(gap, w.end, garbage)
	return nil
}

// noteGap notes that the bytes from off up to end are no object. A few zeros
// in a page that is there are no damage, but an object about to be made.
func (w *treeWalk) noteGap(off, end int64, garbage bool) {
	if off >= 0 && (garbage || w.tree.checkPages(off, end-off, w.end) != nil) {
		w.live.damage(w.tree, off, end, "nodes cannot be read")
	}
}

// known returns the size of the object at off, which begins with b, or 0 if
// none can begin there. A node is added, or counted as unreadable if its
// function or its parent is. loose tells that off is a guess: then a word that
// happens to be a function's ID does not make a node.
func (w *treeWalk) known(off int64, b []byte, loose bool) int64 {
	word := raw.Load[uint64](b)
	if t := raw.Load[tableHead](b); t.Tag == layout.TagTable {
		n := int64(t.Size) - layout.TableSize
		if n < 16 || n&(n-1) != 0 || n > w.end-off-layout.TableSize {
			return 0
		}
		return n + layout.TableSize
	}
	fn, ok := w.funcs.ByID[word]
	size := int64(w.funcs.unknown[word])
	if ok {
		size = int64(w.funcs.sizes[fn])
	}
	if size == 0 || size > w.end-off || word == layout.RootFunc {
		return 0
	}
	node := raw.Load[layout.Node](b)
	n := profile.Node{Func: fn, Cell: node.Cell}
	parent := int64(node.Parent)
	up, have := w.live.Node(uint32(parent))
	n.Parent = uint32(up)
	p := w.live.Profile
	switch {
	case ok && have && p.CheckCell(n, w.entered) == nil:
		w.add(off, w.index.Node(n.Parent, n.Cell, fn))
	case loose && (parent < layout.HeaderSize || parent >= off || parent%8 != 0):
		return 0
	case parent == 0:
		w.live.Lose(profile.LossIncomplete, 1)
	default:
		w.live.Lose(profile.LossUnreadable, 1)
	}
	return size
}
