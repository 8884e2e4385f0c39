// Package chance knows what the runtime and the standard library do by chance, and what kind of
// function each is.
//
// Whether compiled code finds a type in a cache, whether a pool has something, how deep a value lies in a hash trie,
// who waits for a lock: these are affairs of the implementation, and others in each run. The call by which a program
// asks for something, such as Pool.Get, counts as always. What it leads to says nothing about a change.
package chance

import (
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
)

// A part of what a function has.
type part uint8

const (
	self  part = 1 << iota // its own calls and allocations
	below                  // all that it calls
	whole = self | below
)

// A rule says which part of a function's counts is chance. In names * at the end stands for anything.
type rule struct {
	caller string // only where it is called by this function; "" for any
	name   string
	part   part
	why    string
}

const (
	missed  = "compiled code calls it if a cache has no entry, and the runtime fills it at random, once in 1,000 times"
	pooled  = "which P a goroutine runs on and when garbage was collected decide whether a pool has something"
	grown   = "what a pool gives is new, or has grown already"
	hashed  = "hashes have a random key, and decide what lies where"
	waited  = "whether somebody has to wait for a lock, or has been waiting, depends on time"
	ready   = "whether data is there already depends on time"
	freed   = "when garbage is collected, and who cleans up behind it, depends on time"
	reused  = "the runtime keeps them, and needs as many new ones as are in use at one moment"
	named   = "a name that a file of another run has is tried in vain"
	ordered = "keys of a map come in a random order, in which they are sorted"
)

// rules is the table. A rule for a function of the standard library that asks for something has only what it calls.
var rules = []rule{
	{"", "runtime.typeAssert", whole, missed},
	{"", "runtime.interfaceSwitch", whole, missed},

	{"", "sync.(*Pool).Get", below, pooled},
	{"", "sync.(*Pool).Put", below, pooled},
	{"", "sync.poolCleanup", whole, freed},
	{"fmt.(*buffer).*", "runtime.growslice", whole, grown},
	{"regexp.(*bitState).reset", "runtime.makeslice", whole, grown},
	{"regexp.(*queue).*", "runtime.growslice", whole, grown},
	{"regexp.(*machine).*", "runtime.makeslice", whole, grown},
	{"go/printer.(*printer).*", "runtime.growslice", whole, grown},

	{"", "internal/sync.(*HashTrieMap[...]).Load", below, hashed},
	{"", "internal/sync.(*HashTrieMap[...]).LoadOrStore", below, hashed},
	{"", "internal/sync.(*HashTrieMap[...]).Swap", below, hashed},
	{"", "internal/sync.(*HashTrieMap[...]).CompareAndSwap", below, hashed},
	{"", "internal/sync.(*HashTrieMap[...]).LoadAndDelete", below, hashed},
	{"", "internal/sync.(*HashTrieMap[...]).CompareAndDelete", below, hashed},
	{"", "internal/sync.(*HashTrieMap[...]).iter", self, hashed},
	{"internal/sync.(*HashTrieMap[...]).iter", "sync/atomic.*", whole, hashed},
	{"internal/sync.(*HashTrieMap[...]).iter", "internal/sync.*", self, hashed},
	{"internal/sync.(*node[...]).*", "runtime.*", whole, hashed},
	{"", "internal/sync.(*node[...]).*", whole, hashed},
	{"", "internal/sync.(*entry[...]).*", whole, hashed},
	{"", "new(maps.table)", self, hashed},
	{"", "new(*maps.table)", self, hashed},
	{"", "unique.(*canonMap[...]).Load", below, hashed},
	{"", "unique.(*canonMap[...]).LoadOrStore", below, hashed},
	{"", "unique.(*canonMap[...]).cleanup", whole, freed},

	{"", "internal/sync.(*Mutex).lockSlow", whole, waited},
	{"", "internal/sync.(*Mutex).unlockSlow", whole, waited},
	{"", "internal/sync.runtime_*", whole, waited},
	{"", "sync.(*RWMutex).rUnlockSlow", whole, waited},
	{"", "sync.runtime_Semacquire*", whole, waited},
	{"", "sync.runtime_Semrelease*", whole, waited},
	{"", "sync.(*WaitGroup).Wait", below, waited},
	{"", "internal/poll.runtime_Semacquire", whole, waited},
	{"", "internal/poll.runtime_Semrelease", whole, waited},
	{"", "internal/poll.(*pollDesc).wait", whole, ready},
	{"", "internal/poll.(*pollDesc).waitRead", whole, ready},
	{"", "internal/poll.(*pollDesc).waitWrite", whole, ready},
	{"", "internal/poll.ignoringEINTR*", whole, ready},

	{"", "[gc]", below, freed},
	{"", "[finalizer]", below, freed},
	{"", "[cleanup]", below, freed},
	{"", "new(runtime.g)", self, reused},
	{"", "new(*runtime.g)", self, reused},
	{"", "new(runtime.timerWhen)", self, reused},
	{"", "new(runtime.m)", self, reused},
	{"", "new(runtime.sudog)", self, reused},
	{"", "new(runtime._defer)", self, reused},

	{"", "os.CreateTemp", below, named},
	{"", "os.MkdirTemp", below, named},

	{"encoding/json.mapEncoder.encode", "slices.Sort*", below, ordered},
	{"encoding/json.mapEncoder.encode", "sort.*", below, ordered},
	{"internal/fmtsort.Sort", "slices.Sort*", below, ordered},
	{"net/http.Header.*", "slices.Sort*", below, ordered},
	{"net/url.Values.*", "slices.Sort*", below, ordered},
	{"net/url.Values.*", "sort.*", below, ordered},
	{"mime.FormatMediaType", "slices.Sort*", below, ordered},
}

// matches reports whether a rule speaks of a function.
func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// Nodes tells for each node of a tree whether its count is chance. With ops set, counts are of operations: what a
// function does itself, if what it calls is chance.
func Nodes(t *cct.Tree, ops bool) []bool {
	any, by := make([]part, len(t.Funcs)), make(map[uint32][]*rule) // by function
	for k := range rules {
		r := &rules[k]
		for i, f := range t.Funcs {
			switch {
			case !matches(r.name, f.Name):
			case r.caller == "":
				any[i] |= r.part
			default:
				by[uint32(i)] = append(by[uint32(i)], r)
			}
		}
	}
	list, inside := make([]bool, len(t.Nodes)), make([]bool, len(t.Nodes))
	for i, n := range t.Nodes {
		if i == 0 {
			continue
		}
		what := any[n.Func]
		for _, r := range by[n.Func] {
			if matches(r.caller, t.Funcs[t.Nodes[n.Parent].Func].Name) {
				what |= r.part
			}
		}
		list[i] = inside[n.Parent] || what&self != 0 || ops && what != 0
		inside[i] = inside[n.Parent] || what&below != 0
	}
	return list
}

// Why returns the reason why a function itself is chance wherever it is called, "" if it is not.
func Why(name string) string {
	for _, r := range rules {
		if r.caller == "" && r.part&self != 0 && matches(r.name, name) {
			return r.why
		}
	}
	return ""
}
