package layout

// A Rotation is what the header of a main file, tree or samples, says of segments. Context IDs have none.
type Rotation struct {
	Segment uint64 // number of the segment, from 1 on; 0 of a record without rotation
	Dropped uint64 // segments that were removed, since no more are kept
	Failed  uint64 // rotations that failed
	Began   uint64 // when the segment began, nanoseconds since 1970
	Ended   uint64 // when it ended; 0 of a live directory, whose number is that of the segment that is to come
}

// FileEarlier begins the names of the two files of what earlier segments had counted, 0 or 1 ends them.
const FileEarlier = "earlier."

// FileEarlierSamples begins the names of the two files of what earlier segments of samples had.
const FileEarlierSamples = "sampled."

// NewSuffix is the end of the name of a segment's main file until the segment is complete.
const NewSuffix = ".new"

// UnfinishedFiles are the files of a segment before it is complete, in the order of package segment's. Then it has tree
// or samples, without the suffix.
var UnfinishedFiles = [...]string{FileFuncs, FileShard + "0", FilePlaces, FileTree + NewSuffix, FileSamples + NewSuffix}

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

// An EarlierSamples is the beginning of the files sampled.0 and sampled.1 of a program with rotation: what was sampled
// when a segment ended, in turn. The weights of nodes follow, two for each, in the order of the nodes. One without a
// number was being written.
type EarlierSamples struct {
	Segment uint64 // number of the segment that ended, written last
	Ended   uint64 // when that was, nanoseconds since 1970
	Nodes   uint64 // whose weights follow

	Stats   [55]uint64             // as in the header of the run, at that moment
	Latency [LatencyBuckets]uint64 // likewise
}
