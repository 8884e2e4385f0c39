package fingerprint

import (
	"strconv"
	"strings"
)

// The parameters of FNV-1a with 64 bits.
const (
	offset = 0xcbf29ce484222325
	prime  = 0x100000001b3
)

// fnv1a goes on with a hash.
func fnv1a(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * prime
	}
	return h
}

// mix is another hash, to tell texts with one fingerprint apart.
func mix(h uint64, s string) uint64 {
	for i := range len(s) {
		h = h*0x9e3779b97f4a7c15 ^ uint64(s[i])
		h ^= h >> 29
	}
	return h
}

// goes is what stands before a function that a go statement calls.
const goes = "go "

// line returns a line of a text, behind those before it.
func line(byGo bool, name string) string {
	if byGo {
		return "\n" + goes + name
	}
	return "\n" + name
}

// named goes on with the hash of a text by a line with a function.
func named(h uint64, byGo bool, name string) uint64 {
	h = fnv1a(h, "\n")
	if byGo {
		h = fnv1a(h, goes)
	}
	return fnv1a(h, name)
}

// namedCheck is the same for the other hash.
func namedCheck(h uint64, byGo bool, name string) uint64 {
	h = mix(h, "\n")
	if byGo {
		h = mix(h, goes)
	}
	return mix(h, name)
}

// hash goes on with the hash of a text of lines by the place of a call.
func (p place) hash(h uint64) uint64 {
	if p.line <= 0 {
		return h
	}
	h = fnv1a(h, "\n\t")
	h = fnv1a(h, p.file[strings.LastIndexAny(p.file, `/\`)+1:])
	h = fnv1a(h, ":")
	var digits [20]byte
	for _, c := range strconv.AppendInt(digits[:0], int64(p.line), 10) {
		h = (h ^ uint64(c)) * prime
	}
	return h
}
