package tree

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
	"github.com/stemma-go/stemma/internal/goroot/rt/segment"
)

// # Segments
//
// Counters only grow. So what a program counts in a while is a difference: the sums over all shards at its end, less
// those at its beginning. A segment has the nodes whose counters have grown, and those that lead to them, at offsets of
// its own. Nothing of it needs the lock, but for how much of the tree there is: objects up to there are complete and
// stay as they are.
//
// What is read here may be on a page that was lost. An object begins where the bitmap says, which is in no file. A node
// without its function or its parent is left out, with all below it; the header counts the page.

// piece is how many bytes of a tree are looked at between two rests: about 10 to 50 µs of work.
const piece = 1 << 15

// addShards makes sums those of the shards, which are addresses, for the part of a tree from one offset to another. All
// have the shape of a shard. Ps count meanwhile; each counter is read once.
func addShards(sums unsafe.Pointer, shards []uintptr, from, to uintptr) {
	clear(unsafe.Slice((*uint64)(unsafe.Add(sums, from)), (to-from)/layout.CounterSize))
	for _, shard := range shards {
		for off := from; off < to; off += layout.CounterSize {
			if n := memory.Load64((*uint64)(unsafe.Add(unsafe.Pointer(nil), shard+off))); n != 0 {
				*(*uint64)(unsafe.Add(sums, off)) += n
			}
		}
	}
}

// A Segment is what a tree has counted between two sums, in the form of a record. It is used on one thread, which may
// be without a P: no pointer in it is set later. Nothing that it points to lies in the Go heap.
type Segment struct {
	Tree          *Tree
	Before, After unsafe.Pointer // sums over all shards, of the shape of a shard
	Used          uint64         // of the tree, at the end
	Places        unsafe.Pointer // zeroed memory of PlacesSize: the new offset of the node that begins at each 8 bytes
	Files         segment.Files  // whose Rest is called

	size uint32 // of the segment's tree
}

// PlacesSize returns the bytes of Places for a tree with used bytes.
func PlacesSize(used uint64) uint64 { return used / 2 }

// Plan says which nodes the segment has, and where. It returns the bytes of the segment's tree. ok is false if the
// program ends meanwhile: see segment.Remover.Rest.
func (s *Segment) Plan() (size uint32, ok bool) {
	*s.place(RootNode) = segment.Wanted
	end := uint32(s.Used)
	rested := end
	for end > RootNode { // from the end, since parents lie before their children
		if rested-end >= piece {
			if !s.Files.Rest() {
				return 0, false
			}
			rested = end
		}
		off := s.Tree.Owner(end - 8)
		if off >= end {
			break
		}
		if up, ok := s.parent(off); ok && (*s.place(off) != 0 || s.grew(off, end)) {
			*s.place(off), *s.place(up) = segment.Wanted, segment.Wanted
		}
		end = off
	}
	s.size = layout.HeaderSize
	rested = RootNode
	for off := uint32(RootNode); off < uint32(s.Used); {
		if off-rested >= piece {
			if !s.Files.Rest() {
				return 0, false
			}
			rested = off
		}
		next := s.next(off)
		if *s.place(off) != 0 {
			up, ok := s.parent(off)
			if *s.place(off) = 0; ok && (off == RootNode || *s.place(up) != 0) {
				*s.place(off) = s.size
				s.size += next - off
			}
		}
		off = next
	}
	return s.size, true
}

// place returns the new offset of the node at an offset, 0 if the segment has it not.
func (s *Segment) place(off uint32) *uint32 {
	return segment.Place(s.Places, off)
}

// parent returns the parent of the node at off. ok is false for a table, and for what a lost page has struck.
func (s *Segment) parent(off uint32) (up uint32, ok bool) {
	n := s.Tree.node(off)
	if n.Func&7 != 0 || uint32(n.Func) == layout.TagTable || n.Func == 0 {
		return 0, false
	}
	up = n.Parent
	return up, off == RootNode || up >= RootNode && up < off && up%8 == 0
}

// grew reports whether a counter between two offsets is greater than before.
func (s *Segment) grew(from, to uint32) bool {
	for off := from; off < to; off += layout.CounterSize {
		if s.count(off) != 0 {
			return true
		}
	}
	return false
}

// count returns by how much a counter has grown. One that is less than it was is on a page that was lost.
func (s *Segment) count(off uint32) uint64 {
	before, after := *(*uint64)(unsafe.Add(s.Before, off)), *(*uint64)(unsafe.Add(s.After, off))
	return after - min(before, after)
}

// next returns where the object behind the one at off begins, or the end of the tree.
func (s *Segment) next(off uint32) uint32 {
	end := uint32(s.Used)
	for off += 8; off < end; off += 8 {
		bits := *(*uint8)(s.Tree.starts.At(uint64(off) / 64)) >> (off / 8 % 8)
		if bits == 0 {
			off = off&^63 + 56 // the last one of this byte
			continue
		}
		for ; bits&1 == 0; bits >>= 1 {
			off += 8
		}
		return min(off, end)
	}
	return end
}

// Fill writes nodes to buf, from the one that was at offset from on, of a piece of the tree, as many as fit: or, with
// counters, what these have counted. It returns the offset to go on with, which is Used at the end, and the bytes
// written. buf is as long as any node.
func (s *Segment) Fill(from uint32, buf []byte, counters bool) (next uint32, n int) {
	from = max(from, RootNode)
	off := from
	for off < uint32(s.Used) && off-from < piece {
		end := s.next(off)
		if *s.place(off) == 0 {
			off = end
			continue
		}
		size := int(end - off)
		if n+size > len(buf) {
			return off, n
		}
		part := unsafe.Pointer(unsafe.SliceData(buf[n:]))
		if counters {
			for at := off; at < end; at += layout.CounterSize {
				*(*uint64)(unsafe.Add(part, at-off)) = s.count(at)
			}
		} else {
			clear(buf[n : n+size])
			node := s.Tree.node(off)
			up := uint32(RootNode)
			if off != RootNode {
				up = *s.place(node.Parent)
			}
			*(*layout.Node)(part) = layout.Node{Func: node.Func, Parent: up, Cell: node.Cell}
		}
		n += size
		off = end
	}
	return off, n
}
