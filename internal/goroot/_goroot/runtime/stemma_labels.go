// Labels of goroutines, as runtime/pprof sets them, are contexts: see rt/tree/labels.go.

package runtime

import (
	"internal/goarch"
	"internal/runtime/pprof/label"
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/tree"
	"internal/runtime/sys"
	"unsafe"
)

// stemmaLabelsOn reports whether labels are contexts. It is set before there is a P and does not change.
var stemmaLabelsOn bool

// stemmaLabelled has the frames of a goroutine that get other labels, innermost first. It is under the lock.
var stemmaLabelled *[stemmaLabelFrames]stemmaLabelFrame

// stemmaLabelFrames is how many frames of a stack can get other labels. What lies further out calls as it did.
const stemmaLabelFrames = 1 << 12

// A stemmaLabelFrame is a frame: where its slot is, and the node in it.
type stemmaLabelFrame struct {
	slot uintptr
	node uint32
}

// stemmaLabelsInit makes the tree know labels, if that is asked for.
func stemmaLabelsInit() {
	if keys := stemmaOption("labels"); keys != "" {
		stemma.tree.InitLabels(stemmaTables(tree.LabelsMemory), keys)
		stemmaLabelled = (*[stemmaLabelFrames]stemmaLabelFrame)(stemmaTables(unsafe.Sizeof(*stemmaLabelled)))
		stemmaLabelsOn = true
	}
}

// stemmaSetLabels is called when the running goroutine has got labels. Its frames go on in contexts with these labels.
// It runs on a goroutine with a P, and may grow the stack. The addresses of slots are found and used on the system
// stack: the goroutine's does not move meanwhile. It must not be inlined, since it asks where it was called from.
//
//go:noinline
func stemmaSetLabels(labels unsafe.Pointer) {
	if !stemmaLabelsOn {
		return
	}
	gp := getg()
	pc, sp := sys.GetCallerPC(), sys.GetCallerSP()
	systemstack(func() {
		lock(&stemma.lock)
		var set tree.LabelSet
		if labels != nil {
			for _, l := range (*label.Set)(labels).List {
				set = stemma.tree.Add(set, l.Key, l.Value)
			}
		}
		stemmaRelabel(stemmaFindLabelled(gp, pc, sp, stemma.tree.ID(set)))
		unlock(&stemma.lock)
	})
}

// stemmaFindLabelled finds the frames of gp, which has called from pc, that go on with other labels than they have
// had, and returns how many there are, and the labels in the lane that they are in. Where a measurement begins they
// end: [stemmaMeasureRun] looks at those further out. These are the frames up to the first one that has the labels
// already. Where pprof.Do sets labels, they are those of its own frame, since it sets what its caller has before it
// returns. Other labels that are set below a pprof.Do end there as well. It runs on the system stack, under the lock.
func stemmaFindLabelled(gp *g, pc, sp uintptr, id uint64) (n int, inLane uint64) {
	const pkg, do = "runtime/pprof.", "runtime/pprof.Do"
	outside := false // a frame was found that is none of package pprof's
	first := true
	var u unwinder
	for u.initAt(pc, sp, 0, gp, unwindSilentErrors); u.valid() && n < len(stemmaLabelled); u.next() {
		f := &u.frame
		if f.fn.flag&layout.FuncFlagSlot == 0 {
			continue
		}
		name := funcname(f.fn)
		isDo := name == do
		if !isDo && !outside && len(name) > len(pkg) && name[:len(pkg)] == pkg {
			continue // it returns
		}
		slot := f.varp - goarch.PtrSize
		node := *(*uint32)(unsafe.Pointer(slot))
		if !stemma.tree.IsOf(node, uint64(f.fn.entry())) {
			continue
		}
		at := stemma.tree.LabelsAt(node)
		if first {
			first = false
			id = layout.InLane(id, at)
		}
		if at == id || !layout.SameLane(at, id) {
			break
		}
		if isDo && !outside && stemma.tree.IsLabelled(node) {
			outside = true // it is about to return: its caller has had these labels, if all is well
			continue
		}
		stemmaLabelled[n] = stemmaLabelFrame{slot, node}
		n++
		outside = true
		if isDo {
			break
		}
	}
	return n, id
}

// stemmaRelabel gives n frames the nodes that they have with other labels, from the outermost one inwards, and counts
// the labels once. It runs on the system stack, under the lock, so that neither P nor slots move.
func stemmaRelabel(n int, id uint64) {
	counted := false
	caller, now := uint32(0), uint32(0) // the node of the frame further out, and its new one
	for i := n - 1; i >= 0; i-- {
		f := &stemmaLabelled[i]
		node, labels := uint32(0), uint32(0)
		if caller != 0 {
			node = stemma.tree.RelabelBelow(f.node, caller, now)
		}
		if node == 0 {
			node, labels = stemma.tree.Relabel(f.node, id)
		}
		if labels != 0 && !counted {
			counted = true
			*(*uint64)(unsafe.Pointer(layout.Base + uintptr(labels) + getg().m.p.ptr().stemma.shard))++
		}
		caller, now = f.node, node
		*(*uintptr)(unsafe.Pointer(f.slot)) = uintptr(node)
	}
}
