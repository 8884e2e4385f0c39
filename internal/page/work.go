package page

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stemma-go/stemma/internal/humanize"
)

// A work says what an answer takes its time for. Who waits for one can ask it meanwhile.
type work struct{ at atomic.Pointer[workStep] }

type workStep struct {
	what  string
	began time.Time
}

// A workAnswer says what is being done, and for how long; nothing if What is "".
type workAnswer struct {
	What    string  `json:"what"`
	Seconds float64 `json:"seconds"`
}

// doing says that something is done with so many contexts.
func (m *model) doing(what string, contexts int) {
	if m.work == nil {
		return
	}
	if contexts > 0 {
		what = fmt.Sprintf("%s %s", what, humanize.Plural(contexts, "context"))
	}
	m.work.at.Store(&workStep{what, time.Now()})
}

func (w *work) end() { w.at.Store(nil) }

func (w *work) say() workAnswer {
	if s := w.at.Load(); s != nil {
		return workAnswer{s.what, time.Since(s.began).Seconds()}
	}
	return workAnswer{}
}
