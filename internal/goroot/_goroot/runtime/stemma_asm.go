// What the assembly has of package layout and of package rt. The compiler writes these into
// go_asm.h, as const_stemmaBase and so on.

package runtime

import (
	rt "internal/runtime/stemma"
	"internal/runtime/stemma/layout"
	"unsafe"
)

const (
	stemmaBase         = rt.Base
	stemmaTagTable     = rt.TagTable
	stemmaNodeFunc     = rt.Base + unsafe.Offsetof(layout.Node{}.Func)
	stemmaTableTag     = rt.Base + unsafe.Offsetof(layout.Table{}.Tag)
	stemmaTableMask    = rt.Base + unsafe.Offsetof(layout.Table{}.Mask)
	stemmaTableEntries = rt.Base + layout.TableSize
	stemmaHashShift    = rt.HashShift
	stemmaHashMul      = rt.HashMul
	stemmaHashBits     = rt.HashBits

	stemmaTriggerShift = 4 // functions lie at multiples of 16
	stemmaTriggerMask  = rt.FuncTriggerSize - 1

	stemmaSlot       = -layout.SlotBelow
	stemmaReturnAt   = layout.ReturnAbove
	stemmaDataKey    = unsafe.Offsetof(layout.FuncData{}.Key)
	stemmaDataLimit  = unsafe.Offsetof(layout.FuncData{}.Limit)
	stemmaDataFunc   = unsafe.Offsetof(layout.FuncData{}.Func)
	stemmaDataIndex  = unsafe.Offsetof(layout.FuncData{}.Index)
	stemmaWordID     = rt.WordID
	stemmaWordKey    = rt.WordKey
	stemmaMaxDeep    = rt.MaxDeep
	stemmaKeyPush    = rt.KeyPush
	stemmaAnyDynamic = rt.KeyUnknown<<rt.WordKey | rt.Dynamic
	stemmaPushStep   = rt.PushStep
	stemmaIDPCBits   = rt.IDPCBits

	stemmaPCLog    = rt.PCEntryLog
	stemmaPCReturn = unsafe.Offsetof(layout.PCEntry{}.Return)
	stemmaPCAV     = unsafe.Offsetof(layout.PCEntry{}.AV)
	stemmaPCShift  = 64 - rt.PCBits
	stemmaPCMask   = 1<<rt.PCBits - 1
	stemmaPCMul    = rt.PCMul

	stemmaEntryLog    = rt.StackEntryLog
	stemmaEntryWord   = unsafe.Offsetof(layout.StackEntry{}.Word)
	stemmaEntryPlace  = unsafe.Offsetof(layout.StackEntry{}.Place)
	stemmaEntryTarget = unsafe.Offsetof(layout.StackEntry{}.Target)
	stemmaEntryNode   = unsafe.Offsetof(layout.StackEntry{}.Node) // and kind, behind it

	stemmaStepLog    = rt.StepLog
	stemmaStepCallee = unsafe.Offsetof(layout.Step{}.Callee)
	stemmaStepBound  = unsafe.Offsetof(layout.Step{}.Bound)
	stemmaStepMask   = unsafe.Offsetof(layout.Step{}.Mask)
	stemmaStepMul    = unsafe.Offsetof(layout.Step{}.Mul)
	stemmaStepAdd    = unsafe.Offsetof(layout.Step{}.Add)
	stemmaStepCell   = unsafe.Offsetof(layout.Step{}.Cell)
	stemmaStepShift  = layout.StepShift
	stemmaEdgeMask   = unsafe.Offsetof(layout.EdgeTable{}.Mask)
	stemmaEdgeSteps  = layout.EdgeTableSize
	stemmaEdgeMul    = rt.EdgeMul
	stemmaIDBits     = rt.IDIdBits
	stemmaIDMask     = 1<<rt.IDIdBits - 1
	stemmaIDEpoch    = rt.IDEpoch
	stemmaIDLimit    = rt.IDIdBits + rt.IDEpochBits
)

const (
	stemmaTraceN       = rt.TraceN
	stemmaTraceEntries = rt.TraceEntries
	stemmaTraceNObjs   = rt.TraceNObjs
	stemmaTraceObjs    = rt.TraceObjs
	stemmaTraceMaxObjs = rt.TraceMaxObjs
	stemmaTraceNodes   = rt.TraceNodes
	stemmaTracePlain   = rt.TracePlain
	stemmaTraceTramp   = rt.TraceTramp
	stemmaTraceGoexit  = rt.TraceGoexit
	stemmaTraceReturns = rt.TraceReturns
	stemmaTraceTarget  = rt.TraceTarget
	stemmaTraceSP      = rt.TraceSP
	stemmaTraceBP      = rt.TraceBP
	stemmaTraceSave    = rt.TraceSave
	stemmaPlainMask    = rt.PlainSize - 1
	stemmaNodeKey      = unsafe.Offsetof(layout.SampleNode{}.Key)
	stemmaNodeLog      = rt.SampleNodeLog

	// Fields of the innermost entry, and of the one before it, from the end of the entries.
	stemmaTopOff    = -rt.EntrySize + int(unsafe.Offsetof(rt.Entry{}.Off))
	stemmaTopPC     = -rt.EntrySize + int(unsafe.Offsetof(rt.Entry{}.PC))
	stemmaTopRef    = -rt.EntrySize + int(unsafe.Offsetof(rt.Entry{}.Ref))
	stemmaNextOff   = stemmaTopOff - rt.EntrySize
	stemmaNextRef   = stemmaTopRef - rt.EntrySize
	stemmaTraceLog  = rt.EntryLog
	stemmaObjLog    = rt.ObjLog
	stemmaObjBit    = rt.RefBit
	stemmaObjPC     = unsafe.Offsetof(rt.Object{}.PC)
	stemmaObjParent = unsafe.Offsetof(rt.Object{}.Parent)
	stemmaObjNode   = unsafe.Offsetof(rt.Object{}.Node)
	stemmaObjTime   = rt.ObjTime
	stemmaObjCount  = rt.ObjCount // and expect, behind it
)
