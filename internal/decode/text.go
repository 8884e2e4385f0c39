package decode

import (
	"path"
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

// A logger is a package that programs log with, by functions whose names begin with name, below which each record goes
// through a function that begins with logged. It calls stemma's handler for it, or others in between do: maxHandlers
// functions at most. The handler is empty where stemma has none, and a bridge of OpenTelemetry may take what is logged.
type logger struct{ handler, logged, name string }

var loggers = []logger{
	{own + "(*slogHandler).Handle", "log/slog.(*Logger).log", "log/slog."},
	{zap + "(*core).Write", "go.uber.org/zap", "go.uber.org/zap"},
	{zerolog + "Hook.Run", "github.com/rs/zerolog.", "github.com/rs/zerolog"},
	{logrus + "Hook.Fire", "github.com/sirupsen/logrus.", "github.com/sirupsen/logrus."},
	{otel + "(*processor).OnStart", "go.opentelemetry.io/otel/sdk/trace.", "go.opentelemetry.io/otel/"},
	{otel + "(*logProcessor).OnEmit", "go.opentelemetry.io/otel/sdk/log.", "go.opentelemetry.io/otel/"},
	{"", "github.com/go-logr/logr.", "github.com/go-logr/logr."},
}

// bridges begins the names of the functions through which other loggers log with OpenTelemetry.
const bridges = "go.opentelemetry.io/contrib/bridges/"

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
// handler of a logger, those up to the function that logs. Behind a bridge that is the function that logs with the
// logger before it.
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
	if by != nil && s.logger(by) == nil {
		return s
	}
	for by != nil {
		begun, bridged := false, false
		s = s.drop(func(f cct.PathFrame) bool {
			bridge := begun && strings.HasPrefix(f.Func, bridges)
			begun, bridged = begun || strings.HasPrefix(f.Func, by.logged), bridged || bridge
			return !begun || bridge || strings.HasPrefix(f.Func, by.name)
		})
		if by = nil; bridged {
			by = s.logger(nil)
		}
	}
	return s
}

// logger returns the logger that one of the next frames is of through which records go: the given one, or any if that
// is nil. It returns nil if there is none.
func (s Stack) logger(one *logger) *logger {
	group, up := s.Group, s.Up
	for n := 0; n < maxHandlers; {
		for _, f := range group.Frames {
			for i := range loggers {
				if l := &loggers[i]; (one == nil || l == one) && strings.HasPrefix(f.Func, l.logged) {
					return l
				}
			}
			n++
		}
		if up.Up == nil || up.Via != ViaCall {
			return nil
		}
		group, up = up.Group, up.Up
	}
	return nil
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
		b = append(append(append(b, prefix...), f.Func...), '\n')
		if f.File == "" { // what a wait, a label or an allocation is shown as has no place
			continue
		}
		b = append(append(b, prefix...), '\t')
		b = append(append(b, f.File...), ':')
		b = append(strconv.AppendInt(b, int64(f.Line), 10), '\n')
	}
	return b
}
