// Package stemmazap adds context IDs to what zap logs.
//
// It is a module of its own: so stemma requires nothing for it.
package stemmazap

import (
	"errors"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/stemma-go/stemma"
)

// An Option changes what [Core] adds.
type Option func(*core)

// Key makes key the key of the field instead of "ctx".
func Key(key string) Option { return func(c *core) { c.key = key } }

// Core returns a core that adds to each entry a field "ctx" in front of its others: the ID of the context that logged
// it. An error among the fields that remembers its context, as those of stemma.WrapError do, gets a field beside it,
// "error.ctx" for "error". Behind a zap.Namespace that With has opened, "ctx" also is in the namespace.
//
//	logger := zap.New(stemmazap.Core(core))
//	logger = logger.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core { return stemmazap.Core(c) }))
//
// In a normal build Core returns c itself.
func Core(c zapcore.Core, opts ...Option) zapcore.Core {
	if !stemma.Enabled() {
		return c
	}
	w := &core{Core: c, key: "ctx"}
	for _, o := range opts {
		o(w)
	}
	return w
}

// A core adds contexts.
type core struct {
	zapcore.Core
	key string
}

// With implements zapcore.Core.
func (c *core) With(fields []zapcore.Field) zapcore.Core {
	return &core{c.Core.With(c.appendFields(nil, fields)), c.key}
}

// Check implements zapcore.Core. What a core that samples, or one of several, says of the entry is asked by Write: only
// an entry that they take must reach them, and once.
func (c *core) Check(entry zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return ce.AddCore(entry, c)
	}
	return ce
}

// Write implements zapcore.Core.
func (c *core) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	id := stemma.Here()
	ce := c.Core.Check(entry, nil)
	if ce == nil {
		return nil
	}
	with := make([]zapcore.Field, 0, len(fields)+2)
	if !id.IsZero() {
		with = append(with, zap.String(c.key, id.String()))
	}
	var failed failure
	ce.ErrorOutput = &failed
	ce.Write(c.appendFields(with, fields)...)
	if failed.Len() > 0 {
		return errors.New(strings.TrimSpace(failed.String()))
	}
	return nil
}

// appendFields appends fields, with the contexts of the errors among them.
func (c *core) appendFields(with, fields []zapcore.Field) []zapcore.Field {
	for _, f := range fields {
		with = append(with, f)
		if err, ok := f.Interface.(error); ok && f.Type == zapcore.ErrorType {
			if id, ok := stemma.ContextOf(err); ok {
				with = append(with, zap.String(f.Key+"."+c.key, id.String()))
			}
		}
	}
	return with
}

// A failure is what an entry says of a core that could not write it.
type failure struct{ strings.Builder }

// Sync implements zapcore.WriteSyncer.
func (*failure) Sync() error { return nil }
