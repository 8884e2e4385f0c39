package layout

// FileEarlier begins the names of the two files of what earlier segments had counted, 0 or 1 ends them.
const FileEarlier = "earlier."

// UnfinishedFiles are the files of a segment before it is complete. The last one then becomes tree.
var UnfinishedFiles = [...]string{FileFuncs, FileShard + "0", FileTree + ".new"}

// An EarlierHeader is the beginning of the files earlier.0 and earlier.1 of a program with rotation. Their shape is
// that of a shard: they have what all shards together had counted when a segment ended, in turn. One without a number
// was being written.
type EarlierHeader struct {
	Segment uint64 // number of the segment that ended, written last
	Ended   uint64 // when that was, nanoseconds since 1970

	Lost [15]uint64 // as in the header of the run, at that moment
}

// SegmentLosses are the losses that happen to single calls: each is of one segment. Others, such as a page that was
// lost, concern all that come.
var SegmentLosses = [...]int{LostNodes, LostEdges, LostFaults, LostLabels, LostNegative}
