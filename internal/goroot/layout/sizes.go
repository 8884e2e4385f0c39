package layout

import "unsafe"

// The sizes of records, without a type, so that any arithmetic can use them.
const (
	HeaderSize           = 4096
	NodeSize             = 16
	TableSize            = 16
	InuseHeaderSize      = 16
	InuseCountsSize      = 16
	GoroutinesHeaderSize = 3096
	GoroutineSize        = 40
	EarlierHeaderSize    = 136
	EarlierSamplesSize   = 2512
	MetaSize             = 32
	MetaAddrSize         = 4
	MetaStringSize       = 16
	FuncRecordSize       = 32
	CheckSize            = 32
	CheckOfIDSize        = 56
	CheckFrameSize       = 16
	CheckStringSize      = 4
	ContextsHeaderSize   = 4096
	FuncDataSize         = 32
	EpochSize            = 32
	EpochFuncSize        = 16
	EpochSiteSize        = 24
	InternedSize         = 32
	StackEntrySize       = 32
	PCEntrySize          = 32
	SeenEdgeSize         = 32
	PCsRecordSize        = 32
	PCPairSize           = 8
	StepSize             = 64
	LogEntrySize         = 32
	WarmHeaderSize       = 40
	WarmFuncSize         = 32
	WarmEdgeSize         = 16
	EdgeTableSize        = 8
	SampleHeaderSize     = 8192
	SampleNodeSize       = 64
	PlaceSize            = 16
	PlaceFrameSize       = 16
	CountsHeaderSize     = 64
	CountSize            = 48
	EventsHeaderSize     = 64
	EventSize            = 40
	CallsHeaderSize      = 64
	CallSize             = 8
	RequestsHeaderSize   = 64
	RequestSize          = 40
	CountdownSize        = 16
)

// Each of these overflows, and does not compile, unless the size is that of the type.
const (
	_ = -(HeaderSize ^ unsafe.Sizeof(Header{}))
	_ = -(NodeSize ^ unsafe.Sizeof(Node{}))
	_ = -(TableSize ^ unsafe.Sizeof(Table{}))
	_ = -(GoroutinesHeaderSize ^ unsafe.Sizeof(GoroutinesHeader{}))
	_ = -(GoroutineSize ^ unsafe.Sizeof(Goroutine{}))
	_ = -(EarlierHeaderSize ^ unsafe.Sizeof(EarlierHeader{}))
	_ = -(EarlierSamplesSize ^ unsafe.Sizeof(EarlierSamples{}))
	_ = -(MetaSize ^ unsafe.Sizeof(Meta{}))
	_ = -(MetaAddrSize ^ unsafe.Sizeof(MetaAddr{}))
	_ = -(MetaStringSize ^ unsafe.Sizeof(MetaString{}))
	_ = -(FuncRecordSize ^ unsafe.Sizeof(FuncRecord{}))
	_ = -(CheckSize ^ unsafe.Sizeof(Check{}))
	_ = -(CheckOfIDSize ^ unsafe.Sizeof(CheckOfID{}))
	_ = -(CheckFrameSize ^ unsafe.Sizeof(CheckFrame{}))
	_ = -(CheckStringSize ^ unsafe.Sizeof(CheckString{}))
	_ = -(ContextsHeaderSize ^ unsafe.Sizeof(ContextsHeader{}))
	_ = -(FuncDataSize ^ unsafe.Sizeof(FuncData{}))
	_ = -(EpochSize ^ unsafe.Sizeof(Epoch{}))
	_ = -(EpochFuncSize ^ unsafe.Sizeof(EpochFunc{}))
	_ = -(EpochSiteSize ^ unsafe.Sizeof(EpochSite{}))
	_ = -(InternedSize ^ unsafe.Sizeof(Interned{}))
	_ = -(StackEntrySize ^ unsafe.Sizeof(StackEntry{}))
	_ = -(PCEntrySize ^ unsafe.Sizeof(PCEntry{}))
	_ = -(SeenEdgeSize ^ unsafe.Sizeof(SeenEdge{}))
	_ = -(PCsRecordSize ^ unsafe.Sizeof(PCsRecord{}))
	_ = -(PCPairSize ^ unsafe.Sizeof(PCPair{}))
	_ = -(StepSize ^ unsafe.Sizeof(Step{}))
	_ = -(LogEntrySize ^ unsafe.Sizeof(LogEntry{}))
	_ = -(WarmHeaderSize ^ unsafe.Sizeof(WarmHeader{}))
	_ = -(WarmFuncSize ^ unsafe.Sizeof(WarmFunc{}))
	_ = -(WarmEdgeSize ^ unsafe.Sizeof(WarmEdge{}))
	_ = -(EdgeTableSize ^ unsafe.Sizeof(EdgeTable{}))
	_ = -(SampleHeaderSize ^ unsafe.Sizeof(SampleHeader{}))
	_ = -(SampleNodeSize ^ unsafe.Sizeof(SampleNode{}))
	_ = -(PlaceSize ^ unsafe.Sizeof(Place{}))
	_ = -(PlaceFrameSize ^ unsafe.Sizeof(PlaceFrame{}))
	_ = -(CountsHeaderSize ^ unsafe.Sizeof(CountsHeader{}))
	_ = -(CountSize ^ unsafe.Sizeof(Count{}))
	_ = -(EventsHeaderSize ^ unsafe.Sizeof(EventsHeader{}))
	_ = -(EventSize ^ unsafe.Sizeof(Event{}))
	_ = -(CallsHeaderSize ^ unsafe.Sizeof(CallsHeader{}))
	_ = -(CallSize ^ unsafe.Sizeof(Call{}))
	_ = -(RequestsHeaderSize ^ unsafe.Sizeof(RequestsHeader{}))
	_ = -(RequestSize ^ unsafe.Sizeof(Request{}))
	_ = -(CountdownSize ^ unsafe.Sizeof(Countdown{}))
)
