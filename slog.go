package stemma

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
)

// SlogHandler returns a handler that adds to each record the ID of the context
// that logged it, and hands it to h: an attribute "ctx", always at the top level,
// whatever groups the logger has opened.
//
// The context is that of the call of the logging function, such as slog.Info: what
// lies between it and the handler is left out when the ID is decoded. For a record
// that is handled in another goroutine it is that of the call of Handle.
//
// In a normal build SlogHandler returns h itself.
func SlogHandler(h slog.Handler, opts ...SlogOption) slog.Handler {
	if runtimeAPI == nil {
		return h
	}
	w := &slogHandler{h: h, key: "ctx"}
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

// A slogHandler adds the context to records.
//
// What is handed to h after h.WithGroup lies in the group, and the context would
// too. So h never hears of groups: the handler keeps them, with the attributes that
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
	groups []slogGroup // outermost first; never changed in place
}

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
	if len(h.groups) > 0 {
		r = h.nest(r)
	} else if r.NumAttrs() >= ownAttrs {
		r = r.Clone()
	}
	if !id.IsZero() {
		r.AddAttrs(slog.Attr{Key: h.key, Value: id.logged()})
	}
	return h.h.Handle(ctx, r)
}

// ownAttrs is how many attributes a copy of a record has for itself. Those behind
// them it shares with the record that it is a copy of, unless it is a clone, which
// copies the whole record once more.
const ownAttrs = 5

// texts holds IDs that were logged with their texts, at places that follow from
// the ID: a line is logged many times in one context, and making the text costs as
// much as the rest of what the handler does.
var texts [1 << 10]atomic.Pointer[idText]

// An idText does not change.
type idText struct {
	id    ID
	value slog.Value
}

// logged returns the value of [ID.LogValue].
func (id ID) logged() slog.Value {
	slot := &texts[(id.hi^id.hi>>32^id.lo)*0x9e3779b97f4a7c15>>54]
	if t := slot.Load(); t != nil && t.id == id {
		return t.value
	}
	t := &idText{id, id.LogValue()}
	slot.Store(t)
	return t.value
}

// nest returns r with its attributes in the open groups.
func (h *slogHandler) nest(r slog.Record) slog.Record {
	attrs := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	for _, g := range slices.Backward(h.groups) {
		attrs = append(slices.Clip(g.attrs), attrs...)
		attrs = []slog.Attr{{Key: g.name, Value: slog.GroupValue(attrs...)}}
	}
	nested := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	nested.AddAttrs(attrs...)
	return nested
}

// WithAttrs implements slog.Handler.
func (h *slogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	w := *h
	if n := len(h.groups); n > 0 {
		w.groups = slices.Clone(h.groups)
		last := &w.groups[n-1]
		last.attrs = append(slices.Clip(last.attrs), attrs...)
	} else {
		w.h = h.h.WithAttrs(attrs)
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
