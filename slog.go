package stemma

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
)

// SlogHandler returns a handler that adds to each record the ID of the context
// that logged it, and passes the record to h. The ID is an attribute "ctx" before
// those of the record, at the top level whatever groups the logger has opened.
//
// An attribute that is an error with a context ([WrapError]), or wraps one, gets another one beside it: "err.ctx" for
// "err". A slog.TextHandler prints the context of an error of WrapError itself within it, so that one gets none. Where
// an error that WrapError was given has a method LogValue, MarshalJSON or MarshalText, h gets that error.
//
// The context is that of the call of the logging function, such as slog.Info.
// Decoding leaves out what lies between it and the handler. For a record that is
// handled in another goroutine the context is that of the call of Handle.
//
// In a normal build SlogHandler returns h itself.
func SlogHandler(h slog.Handler, opts ...SlogOption) slog.Handler {
	if runtimeAPI == nil {
		return h
	}
	w := &slogHandler{h: h, key: "ctx", bound: new(boundHandlers)}
	_, w.inErrors = h.(*slog.TextHandler)
	for _, o := range opts {
		o(w)
	}
	return w
}

// A SlogOption changes what [SlogHandler] adds.
type SlogOption func(*slogHandler)

// SlogKey makes key the key of the attribute instead of "ctx".
func SlogKey(key string) SlogOption {
	return func(h *slogHandler) { h.key = key }
}

// SlogFingerprint adds a second attribute under the given key: the fingerprint of the context, which is the same in
// every process and build. A context that comes for the first time is decoded in the process, as [Decode] does it. That
// takes milliseconds once, and microseconds for each context; then it is remembered. Without this option,
// stemma decode -fingerprint finds fingerprints later, and costs the program nothing.
func SlogFingerprint(key string) SlogOption {
	return func(h *slogHandler) { h.fingerprintKey, h.fingerprint = key, fingerprintText }
}

// A slogHandler adds the context to records.
//
// What is handed to h after h.WithGroup lies in the group, and so would the
// context. So h never hears of groups: the handler keeps them, with the attributes that
// came after them, and makes each record one with group attributes, which
// slog.Handler.WithGroup says is the same. Attributes within groups are therefore
// formatted anew for each record; those before the first group are not.
//
// The context is read here, and not where the record's PC is: where the logging
// function is inlined, as it mostly is, that is no address that a call returns to,
// and so in no frame. What is in between is left out by decode.Stack.Trim.
type slogHandler struct {
	h      slog.Handler
	key    string
	groups []slogGroup    // outermost first; never changed in place
	bound  *boundHandlers // of h

	inErrors bool // the handler prints the contexts of errors

	fingerprintKey string
	fingerprint    func(plainID) string // nil if it is not asked for, so that others do not link what decodes
}

// A plainID is an ID without its methods. Whatever a slogHandler refers to could be reached by reflection, once it is a
// slog.Handler, so the linker keeps all methods of these types: for an ID they parse, print and marshal.
type plainID struct{ hi, lo, run uint64 }

// A slogGroup is an open group.
type slogGroup struct {
	name  string
	attrs []slog.Attr
}

// Enabled implements slog.Handler.
func (h *slogHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.h.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *slogHandler) Handle(ctx context.Context, r slog.Record) error {
	id := Here()
	r = h.recordWithErrors(r)
	if len(h.groups) > 0 {
		r = h.nest(r)
	}
	if id.IsZero() {
		return h.h.Handle(ctx, r)
	}
	if b := h.bound.of(h, id); b != nil {
		return b.Handle(ctx, r)
	}
	var room [8]slog.Attr
	return h.h.Handle(ctx, withAttrs(r, appendAttrs(h.appendContext(room[:0], id), r)))
}

// appendAttrs appends the attributes of a record.
func appendAttrs(attrs []slog.Attr, r slog.Record) []slog.Attr {
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	return attrs
}

// withAttrs returns a record like r with other attributes.
func withAttrs(r slog.Record, attrs []slog.Attr) slog.Record {
	with := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	with.AddAttrs(attrs...)
	return with
}

// appendContext appends the attributes of a context. One that cannot be decoded has no fingerprint.
func (h *slogHandler) appendContext(attrs []slog.Attr, id ID) []slog.Attr {
	attrs = append(attrs, slog.String(h.key, id.String()))
	if h.fingerprint != nil {
		if f := h.fingerprint(plainID(id)); f != "" {
			attrs = append(attrs, slog.String(h.fingerprintKey, f))
		}
	}
	return attrs
}

// recordWithErrors returns r with the contexts of the errors in it.
func (h *slogHandler) recordWithErrors(r slog.Record) slog.Record {
	found := false
	r.Attrs(func(a slog.Attr) bool {
		_, found = errorContext(a.Value)
		return !found
	})
	if !found {
		return r
	}
	return withAttrs(r, h.withErrors(appendAttrs(make([]slog.Attr, 0, r.NumAttrs()), r)))
}

// withErrors returns a list of the attributes with the contexts of the errors among them.
func (h *slogHandler) withErrors(attrs []slog.Attr) []slog.Attr {
	with := make([]slog.Attr, 0, len(attrs)+1)
	for _, a := range attrs {
		id, ok := errorContext(a.Value)
		if !ok {
			with = append(with, a)
			continue
		}
		printed := false
		if e, ok := a.Value.Any().(interface {
			contextID() plainID
			Unwrap() error
		}); ok {
			if within := e.Unwrap(); saysHow(within) {
				a.Value = slog.AnyValue(within)
			} else {
				printed = h.inErrors
			}
		}
		if with = append(with, a); !printed {
			with = append(with, slog.String(a.Key+"."+h.key, ID(id).String()))
		}
	}
	return with
}

// saysHow reports whether an error has a method that handlers take what they write from.
func saysHow(err error) bool {
	switch err.(type) {
	case slog.LogValuer, interface{ MarshalJSON() ([]byte, error) }, interface{ MarshalText() ([]byte, error) }:
		return true
	}
	return false
}

// errorContext returns the context of a value that is an error with one. It does not name the type of such errors: a
// program that logs, and makes none, does without its methods.
// A nil pointer in an error is printed by handlers, which catch its panic: so does this.
func errorContext(v slog.Value) (id plainID, ok bool) {
	if v.Kind() != slog.KindAny && v.Kind() != slog.KindLogValuer {
		return plainID{}, false
	}
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	err, _ := v.Any().(error)
	return contextIn(err)
}

// contextIn is ContextOf without package errors, which makes a program that logs larger. It does not know methods As.
func contextIn(err error) (plainID, bool) {
	for err != nil {
		switch e := err.(type) {
		case interface{ contextID() plainID }:
			return e.contextID(), true
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		case interface{ Unwrap() []error }:
			for _, err := range e.Unwrap() {
				if id, ok := contextIn(err); ok {
					return id, true
				}
			}
			return plainID{}, false
		default:
			return plainID{}, false
		}
	}
	return plainID{}, false
}

// boundHandlers are handlers made from one by WithAttrs, with a context each: the
// same lines are logged in the same contexts again and again, and a handler that has
// formatted an attribute once copies it, which costs a tenth of formatting it.
// Handlers that log only a few lines do without: a logger made for a request, say.
type boundHandlers struct {
	records atomic.Uint32 // up to boundAfter
	table   atomic.Pointer[boundTable]
}

// A boundTable has a slot for each of some hashes of contexts. A larger one takes
// its place when it has missed more often than it has slots.
type boundTable struct {
	slots  []boundSlot
	misses atomic.Uint32
}

type boundSlot struct {
	bound atomic.Pointer[boundHandler]
	last  atomic.Uint64 // the context that came last, as a hash
}

// A boundHandler does not change.
type boundHandler struct {
	id plainID
	h  slog.Handler
}

// Bounds of what a handler keeps: with maxBound contexts, about 2 MB.
const (
	boundAfter = 64
	minBound   = 64
	maxBound   = 4096
)

// of returns h.h with the context id, or nil if it is not made. A context takes the
// place of another one with the same slot when it comes twice in a row: where each
// line has another context, making a handler for each would cost more than it saves.
func (b *boundHandlers) of(h *slogHandler, id ID) slog.Handler {
	if b.records.Load() < boundAfter {
		b.records.Add(1)
		return nil
	}
	t := b.table.Load()
	if t == nil {
		t = b.grow(nil, minBound)
	}
	hash := (id.hi ^ id.hi>>32 ^ id.lo) * 0x9e3779b97f4a7c15
	slot := &t.slots[hash>>32%uint64(len(t.slots))]
	have := slot.bound.Load()
	switch {
	case have != nil && have.id == plainID(id):
	case slot.last.Swap(hash) != hash:
		if n := len(t.slots); int(t.misses.Add(1)) > 2*n && n < maxBound {
			b.grow(t, 4*n)
		}
		return nil
	default:
		have = &boundHandler{plainID(id), h.h.WithAttrs(h.appendContext(nil, id))}
		slot.bound.Store(have)
	}
	return have.h
}

// grow replaces a table by an empty one with n slots, unless that is done already.
func (b *boundHandlers) grow(old *boundTable, n int) *boundTable {
	b.table.CompareAndSwap(old, &boundTable{slots: make([]boundSlot, n)})
	return b.table.Load()
}

// nest returns r with its attributes in the open groups.
func (h *slogHandler) nest(r slog.Record) slog.Record {
	attrs := appendAttrs(make([]slog.Attr, 0, r.NumAttrs()), r)
	for _, g := range slices.Backward(h.groups) {
		attrs = append(slices.Clip(g.attrs), attrs...)
		attrs = []slog.Attr{{Key: g.name, Value: slog.GroupValue(attrs...)}}
	}
	return withAttrs(r, attrs)
}

// WithAttrs implements slog.Handler.
func (h *slogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	attrs = h.withErrors(attrs)
	w := *h
	if n := len(h.groups); n > 0 {
		w.groups = slices.Clone(h.groups)
		last := &w.groups[n-1]
		last.attrs = append(slices.Clip(last.attrs), attrs...)
	} else {
		w.h = h.h.WithAttrs(attrs)
		w.bound = new(boundHandlers)
	}
	return &w
}

// WithGroup implements slog.Handler.
func (h *slogHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	w := *h
	w.groups = append(slices.Clip(h.groups), slogGroup{name: name})
	return &w
}
