// What the assembly has of package layout. The compiler writes these into
// go_asm.h, as const_stemmaBase and so on.

package runtime

import (
	"internal/goarch"
	"internal/runtime/stemma/ids"
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/sample"
	"unsafe"
)

// The slow paths of function entry, which compiled code and the assembly call as they call a write barrier: no Go code
// does.
func stemmaDacceEnter()
func stemmaLucceEnter()
func stemmaEnterSlow()
func stemmaDacceSlow()
func stemmaLucceSlow()
func stemmaAcctSlow()

const (
	stemmaGCtx     = layout.GCtx
	stemmaGFunc    = layout.GFunc
	stemmaGNode    = layout.GNode
	stemmaGPushes  = layout.GPushes
	stemmaGStack   = layout.GStack
	stemmaGCap     = layout.GCap
	stemmaGID      = layout.GID
	stemmaGPairs   = layout.GPairs
	stemmaGVersion = layout.GVersion

	stemmaBase         = layout.Base
	stemmaTagTable     = layout.TagTable
	stemmaNodeFunc     = layout.Base + unsafe.Offsetof(layout.Node{}.Func)
	stemmaTableTag     = layout.Base + unsafe.Offsetof(layout.Table{}.Tag)
	stemmaTableMask    = layout.Base + unsafe.Offsetof(layout.Table{}.Mask)
	stemmaTableEntries = layout.Base + layout.TableSize
	stemmaHashMul      = layout.HashMul - 1<<32 // as the assembler wants it: a signed number of 32 bits
	stemmaHashBits     = layout.HashBits

	stemmaTriggerShift = 4 // functions lie at multiples of 16
	stemmaTriggerMask  = sample.FuncTriggerSize - 1

	stemmaSlot       = -layout.SlotBelow
	stemmaSavedFP    = -goarch.PtrSize // from the stack pointer, where a frame pointer lies below it
	stemmaReturnAt   = layout.ReturnAbove
	stemmaDataKey    = unsafe.Offsetof(layout.FuncData{}.Key)
	stemmaDataLimit  = unsafe.Offsetof(layout.FuncData{}.Limit)
	stemmaDataFunc   = unsafe.Offsetof(layout.FuncData{}.Func)
	stemmaDataIndex  = unsafe.Offsetof(layout.FuncData{}.Index)
	stemmaWordID     = layout.WordID
	stemmaWordKey    = layout.WordKey
	stemmaMaxDeep    = layout.MaxDeep
	stemmaKeyPush    = layout.KeyPush
	stemmaAnyDynamic = layout.KeyUnknown<<layout.WordKey | layout.Dynamic
	stemmaPushStep   = layout.PushStep
	stemmaIDPCBits   = layout.IDPCBits

	stemmaPCLog    = layout.PCEntryLog
	stemmaPCReturn = unsafe.Offsetof(layout.PCEntry{}.Return)
	stemmaPCAV     = unsafe.Offsetof(layout.PCEntry{}.AV)
	stemmaPCEdge   = unsafe.Offsetof(layout.PCEntry{}.Edge)
	stemmaPCShift  = 64 - layout.PCBits
	stemmaPCMask   = 1<<layout.PCBits - 1
	stemmaPCMul    = layout.PCMul

	stemmaSeenTarget = unsafe.Offsetof(layout.SeenEdge{}.Target)
	stemmaSeenHits   = unsafe.Offsetof(layout.SeenEdge{}.Hits)
	stemmaSeenMask   = layout.SeenEdgeStep - 1

	stemmaEntryLog    = layout.StackEntryLog
	stemmaEntryWord   = unsafe.Offsetof(layout.StackEntry{}.Word)
	stemmaEntryPlace  = unsafe.Offsetof(layout.StackEntry{}.Place)
	stemmaEntryTarget = unsafe.Offsetof(layout.StackEntry{}.Target)
	stemmaEntryNode   = unsafe.Offsetof(layout.StackEntry{}.Interned) // and kind, behind it

	stemmaStepLog    = ids.StepLog
	stemmaStepCallee = unsafe.Offsetof(layout.Step{}.Callee)
	stemmaStepBound  = unsafe.Offsetof(layout.Step{}.Bound)
	stemmaStepMask   = unsafe.Offsetof(layout.Step{}.Mask)
	stemmaStepMul    = unsafe.Offsetof(layout.Step{}.Mul)
	stemmaStepAdd    = unsafe.Offsetof(layout.Step{}.Add)
	stemmaStepCell   = unsafe.Offsetof(layout.Step{}.Cell)
	stemmaStepBegin  = unsafe.Offsetof(layout.Step{}.Begin)
	stemmaStepShift  = layout.StepShift
	stemmaEdgeMask   = unsafe.Offsetof(layout.EdgeTable{}.Mask)
	stemmaEdgeSteps  = layout.EdgeTableSize
	stemmaEdgeMul    = ids.EdgeMul
	stemmaIDBits     = layout.IDIdBits
	stemmaIDMask     = 1<<layout.IDIdBits - 1
	stemmaIDEpoch    = layout.IDEpoch
	stemmaDepthShift = layout.VersionDepth
	stemmaIDLimit    = layout.IDIdBits + layout.IDEpochBits
)

const (
	stemmaTraceN       = sample.TraceN
	stemmaTraceEntries = sample.TraceEntries
	stemmaTraceNObjs   = sample.TraceNObjs
	stemmaTraceObjs    = sample.TraceObjs
	stemmaTraceMaxObjs = sample.TraceMaxObjs
	stemmaTraceNodes   = sample.TraceNodes
	stemmaTracePlain   = sample.TracePlain
	stemmaTraceTramp   = sample.TraceTramp
	stemmaTraceGoexit  = sample.TraceGoexit
	stemmaTraceReturns = sample.TraceReturns
	stemmaTraceStride  = sample.TraceStride
	stemmaTraceTarget  = sample.TraceTarget
	stemmaTraceSP      = sample.TraceSP
	stemmaTraceBP      = sample.TraceBP
	stemmaTraceSave    = sample.TraceSave
	stemmaTraceSaveLen = sample.TraceSaveLen
	stemmaPlainMask    = sample.PlainSize - 1
	stemmaNodeKey      = unsafe.Offsetof(layout.SampleNode{}.Key)
	stemmaNodeLog      = sample.SampleNodeLog

	// Fields of the innermost entry, and of the one before it, from the end of the entries.
	stemmaTopOff    = -sample.EntrySize + int(unsafe.Offsetof(sample.Entry{}.Off))
	stemmaTopPC     = -sample.EntrySize + int(unsafe.Offsetof(sample.Entry{}.PC))
	stemmaTopRef    = -sample.EntrySize + int(unsafe.Offsetof(sample.Entry{}.Ref))
	stemmaTopBelow  = -sample.EntrySize + int(unsafe.Offsetof(sample.Entry{}.Below))
	stemmaNextOff   = stemmaTopOff - sample.EntrySize
	stemmaNextRef   = stemmaTopRef - sample.EntrySize
	stemmaTraceLog  = sample.EntryLog
	stemmaObjLog    = sample.ObjLog
	stemmaObjBit    = sample.RefBit
	stemmaObjPC     = unsafe.Offsetof(sample.Object{}.PC)
	stemmaObjParent = unsafe.Offsetof(sample.Object{}.Parent)
	stemmaObjNode   = unsafe.Offsetof(sample.Object{}.Node)
	stemmaObjTime   = sample.ObjTime
	stemmaObjCount  = sample.ObjCount // and expect, behind it
)
