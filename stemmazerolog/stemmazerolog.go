// Package stemmazerolog adds context IDs to what zerolog logs.
//
// It is a module of its own: so stemma requires nothing for it.
package stemmazerolog

import (
	"github.com/rs/zerolog"

	"github.com/stemma-go/stemma"
)

// A Hook adds to each event a field with the ID of the context that logged it. The hook runs when the event is sent, by
// Msg, Msgf, MsgFunc or Send: the context is the one of that call.
//
//	logger = logger.Hook(stemmazerolog.Hook{})
//
// In a normal build it adds nothing.
type Hook struct {
	Key string // of the field; "ctx" if it is empty
}

// Run implements zerolog.Hook.
func (h Hook) Run(e *zerolog.Event, level zerolog.Level, message string) {
	id := stemma.Here()
	if id.IsZero() {
		return
	}
	key := h.Key
	if key == "" {
		key = "ctx"
	}
	e.Str(key, id.String())
}

// ErrorStack returns, for zerolog.ErrorStackMarshaler, the ID of the context that an error remembers, as one of
// stemma.WrapError does. zerolog logs it as "stack" for events that ask for one: e.Stack().Err(err). For other errors
// it returns nil, and nothing is logged.
func ErrorStack(err error) any {
	id, ok := stemma.ContextOf(err)
	if !ok {
		return nil
	}
	return id.String()
}
