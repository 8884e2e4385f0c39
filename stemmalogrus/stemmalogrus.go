// Package stemmalogrus adds context IDs to what logrus logs.
//
// It is a module of its own: so stemma requires nothing for it.
package stemmalogrus

import (
	"github.com/sirupsen/logrus"

	"github.com/stemma-go/stemma"
)

// A Hook adds to each entry a field with the ID of the context that logged it. An error among the fields that remembers
// its context, as those of stemma.WrapError do, gets a field beside it: "error.ctx" for "error".
//
//	logger.AddHook(stemmalogrus.Hook{})
//
// In a normal build it adds nothing.
type Hook struct {
	Key string // of the field; "ctx" if it is empty
}

// Levels implements logrus.Hook.
func (Hook) Levels() []logrus.Level { return logrus.AllLevels }

// Fire implements logrus.Hook. The entry is a copy that logrus has made for its hooks.
func (h Hook) Fire(entry *logrus.Entry) error {
	id := stemma.Here()
	if id.IsZero() {
		return nil
	}
	key := h.Key
	if key == "" {
		key = "ctx"
	}
	beside := make(logrus.Fields)
	for k, v := range entry.Data {
		if err, ok := v.(error); ok {
			if id, ok := stemma.ContextOf(err); ok {
				beside[k+"."+key] = id.String()
			}
		}
	}
	for k, v := range beside {
		entry.Data[k] = v
	}
	entry.Data[key] = id.String()
	return nil
}
