package profile

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/stemma-go/stemma/internal/sealed"
)

// A Request is a sample that the program asked for under an identifier of its own.
type Request struct {
	ID        uint64        // the program's identifier; several requests may have one
	Run       uint64        // run number of the process
	Time      time.Duration // since the record began
	Goroutine uint64        // number of the goroutine
	Node      uint32        // the stack: the node of its innermost frame
	Pending   bool          // the outer frames were not known: Node is below [pending]
}

const tableRequest = "request"

func requestSchema() sealed.Schema[Request] {
	return sealed.Schema[Request]{
		{Name: "id", Get: func(r *Request) uint64 { return r.ID }, Set: func(r *Request, v uint64) { r.ID = v }},
		{Name: "run", Kind: sealed.Hex, Get: func(r *Request) uint64 { return r.Run },
			Set: func(r *Request, v uint64) { r.Run = v }},
		{Name: "time", Max: math.MaxInt64, Get: func(r *Request) uint64 { return uint64(r.Time) },
			Set: func(r *Request, v uint64) { r.Time = time.Duration(v) }},
		{Name: "goroutine", Get: func(r *Request) uint64 { return r.Goroutine },
			Set: func(r *Request, v uint64) { r.Goroutine = v }},
		num("node", sealed.Number, func(r *Request) *uint32 { return &r.Node }),
		{Name: "flags", Kind: sealed.Flags, Words: []string{"pending"},
			Get: func(r *Request) uint64 { return bits(r.Pending) },
			Set: func(r *Request, v uint64) { r.Pending = v&1 != 0 }},
	}
}

// RequestsOf returns the requests with an identifier.
func (p *Profile) RequestsOf(id uint64) (list []Request) {
	for _, r := range p.Requests {
		if r.ID == id {
			list = append(list, r)
		}
	}
	return list
}

// Stack returns the frames of a sampled node, innermost first.
func (p *Profile) Stack(node uint32) (stack []Frame) {
	for ; node != 0; node = p.Nodes[node].Parent {
		stack = append(stack, p.Funcs[p.Nodes[node].Func].Frames...)
	}
	return stack
}

// OfRequests returns a profile with the samples that some requests of p asked for, and nothing else.
// Each sample counts as one of value [Requested]. The result shares the tables of p.
func (p *Profile) OfRequests(list []Request) *Profile {
	c := Column{Metric: Requested, Values: make([]uint64, len(p.Nodes))}
	for _, r := range list {
		c.Values[r.Node]++
	}
	q := *p
	q.Columns, q.Requests = []Column{c}, list
	return &q
}

// sortRequests orders requests by run, time and everything else.
func (p *Profile) sortRequests() {
	slices.SortFunc(p.Requests, func(a, b Request) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Time, b.Time), cmp.Compare(a.Goroutine, b.Goroutine),
			cmp.Compare(a.ID, b.ID), cmp.Compare(a.Node, b.Node))
	})
}
