package decode

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
)

// own begins the names of the functions of package stemma, and below those of packages below it, which capture contexts
// for others.
const (
	own     = "github.com/stemma-go/stemma."
	zap     = "github.com/stemma-go/stemma/stemmazap."
	zerolog = "github.com/stemma-go/stemma/stemmazerolog."
	logrus  = "github.com/stemma-go/stemma/stemmalogrus."
	otel    = "github.com/stemma-go/stemma/stemmaotel."
	labels  = "github.com/stemma-go/stemma/stemmapprof."
	stacks  = "github.com/stemma-go/stemma/stemmaerrors."
)

// captures reports whether a function is one of those.
func captures(name string) bool {
	for _, prefix := range [...]string{own, zap, zerolog, logrus, otel, labels, stacks} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// A logger is a package that programs log with, by functions whose names begin with one of names, below which each
// record goes through a function that begins with logged. It calls stemma's handler for it, or others in between do:
// maxHandlers functions at most.
type logger struct {
	handler, logged string
	names           []string
}

// The functions that programs log with, of each logger. A bridge of OpenTelemetry is behind one of the others.
const (
	slogName, zapName, zerologName = "log/slog.", "go.uber.org/zap", "github.com/rs/zerolog"
	logrusName, logrName           = "github.com/sirupsen/logrus.", "github.com/go-logr/logr."
	otelName, bridgeName           = "go.opentelemetry.io/otel/", "go.opentelemetry.io/contrib/bridges/"
)

var loggers = []logger{
	{own + "(*slogHandler).Handle", "log/slog.(*Logger).log", []string{slogName}},
	{zap + "(*core).Write", zapName, []string{zapName}},
	{zerolog + "Hook.Run", "github.com/rs/zerolog.", []string{zerologName}},
	{logrus + "Hook.Fire", logrusName, []string{logrusName}},
	{otel + "(*processor).OnStart", otelName + "sdk/trace.", []string{otelName}},
	{otel + "(*logProcessor).OnEmit", otelName + "sdk/log.",
		[]string{otelName, bridgeName, slogName, zapName, zerologName, logrusName, logrName}},
}

const maxHandlers = 32

// Arrow stands between a frame and its caller in one line, and GoArrow between the
// first function of a goroutine and the go statement that began it.
const (
	Arrow   = " ← "
	GoArrow = " ←go "
)

// newGroup renders the frames once: a line is put together from groups.
func newGroup(frames []cct.PathFrame, adapters []bool) *Group {
	var b []byte
	for i, f := range frames {
		if i > 0 {
			b = append(b, Arrow...)
		}
		b = append(append(b, f.Func...), ' ')
		b = append(b, path.Base(f.File)...)
		if f.Line > 0 {
			b = strconv.AppendInt(append(b, ':'), int64(f.Line), 10)
		}
	}
	return &Group{Frames: frames, line: string(b), adapters: adapters}
}

// tail returns the group without its first n frames. It has more than n.
func (g *Group) tail(n int) *Group {
	if g.tails == nil {
		g.tails = make([]*Group, len(g.Frames))
	}
	if g.tails[n] == nil {
		g.tails[n] = newGroup(g.Frames[n:], g.adapters[n:])
		g.tails[n].Return = g.Return
	}
	return g.tails[n]
}

// Trim returns the stack without the frames at its top that are of package
// stemma: those of Here and of the functions that call it, and if that is the
// handler of a logger, those up to the function that logs.
func (s Stack) Trim() Stack {
	var by *logger
	s = s.drop(func(f cct.PathFrame) bool {
		for i := range loggers {
			if f.Func == loggers[i].handler {
				by = &loggers[i]
			}
		}
		return captures(f.Func)
	})
	if by == nil || !s.loggedNear(by.logged) {
		return s
	}
	begun := false
	return s.drop(func(f cct.PathFrame) bool {
		begun = begun || strings.HasPrefix(f.Func, by.logged)
		logs := func(name string) bool { return strings.HasPrefix(f.Func, name) }
		return !begun || slices.ContainsFunc(by.names, logs)
	})
}

// loggedNear reports whether a function that logs is among the next frames.
func (s Stack) loggedNear(logged string) bool {
	group, up := s.Group, s.Up
	for n := 0; n < maxHandlers; {
		for _, f := range group.Frames {
			if strings.HasPrefix(f.Func, logged) {
				return true
			}
			n++
		}
		if up.Up == nil || up.Via != ViaCall {
			return false
		}
		group, up = up.Group, up.Up
	}
	return false
}

// drop returns the stack without the frames at its top that are unwanted. It stops
// where the goroutine began: the stack of another one is not that of the caller.
func (s Stack) drop(unwanted func(cct.PathFrame) bool) Stack {
	for {
		n := 0
		for n < len(s.Frames) && unwanted(s.Frames[n]) {
			n++
		}
		switch {
		case n < len(s.Frames) && n > 0:
			return Stack{s.tail(n), s.Up}
		case n < len(s.Frames) || s.Up.Up == nil || s.Up.Via != ViaCall:
			return s
		}
		s = Stack{s.Up.Group, s.Up.Up}
	}
}

// AppendLine appends the stack in one line, innermost frame first:
//
//	main.pay pay.go:12 ← main.serve serve.go:40 ←go main.main serve.go:9 ← [main]
//
// Files are base names: functions tell their packages. If frames is not negative
// and the stack has more, those before the outermost are left out, with a note.
func (s Stack) AppendLine(b []byte, frames int) []byte {
	b = append(b, s.line...)
	n, left := len(s.Frames), 0
	arrow := Arrow
	if len(s.Frames) == 0 {
		arrow = ""
	}
	l := s.Up
	for ; l.Up != nil; l = l.Up {
		if l.Via == ViaGo {
			arrow = GoArrow
		}
		if len(l.Frames) == 0 {
			continue // a wrapper: the arrow stays
		}
		if n += len(l.Frames); frames >= 0 && n > frames {
			left += len(l.Frames)
			arrow = Arrow
			continue
		}
		b = append(append(b, arrow...), l.line...)
		arrow = Arrow
	}
	if left > 0 {
		b = append(b, Arrow...)
		b = append(strconv.AppendInt(b, int64(left), 10), " more"...)
	}
	return append(append(b, arrow...), l.end()...)
}

// end returns what stands at the outer end of a stack.
func (l *Link) end() string {
	if l.Via == ViaCut {
		return "[truncated: " + l.End + "]"
	}
	return "[" + l.End + "]"
}

// AppendStack appends the stack in several lines, each with the prefix: for each
// frame its function, and in the next line file and line.
func (s Stack) AppendStack(b []byte, prefix string) []byte {
	b = appendFrames(b, prefix, s.Frames)
	l := s.Up
	for ; l.Up != nil; l = l.Up {
		if l.Via == ViaGo {
			b = append(append(b, prefix...), "started by\n"...)
		}
		b = appendFrames(b, prefix, l.Frames)
	}
	return append(append(append(b, prefix...), l.end()...), '\n')
}

func appendFrames(b []byte, prefix string, frames []cct.PathFrame) []byte {
	for _, f := range frames {
		b = append(append(b, prefix...), f.Func...)
		b = append(append(append(b, '\n'), prefix...), '\t')
		b = append(append(b, f.File...), ':')
		b = append(strconv.AppendInt(b, int64(f.Line), 10), '\n')
	}
	return b
}
