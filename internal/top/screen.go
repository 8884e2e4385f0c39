package top

import (
	"slices"
	"time"

	"github.com/gdamore/tcell/v2"
)

// A screen is a page on a terminal, with the keys that change it.
type screen struct {
	s        tcell.Screen
	r        *Reader
	o        Options
	interval time.Duration

	before, now *Reading
	above       int // rows that are scrolled away
	paused      bool
	typing      bool // the search is being typed
	failed      error
}

// keys are what the last line says.
const keys = "q quit · f functions · c contexts · s sort · / search · p pause · v value · ↑↓ scroll"

// Show shows pages on a terminal until it is told to end.
func Show(s tcell.Screen, r *Reader, interval time.Duration, o Options) error {
	if err := s.Init(); err != nil {
		return err
	}
	defer s.Fini()
	x := &screen{s: s, r: r, o: o, interval: interval}
	if x.read(); x.failed != nil {
		return x.failed
	}
	events, quit := make(chan tcell.Event, 16), make(chan struct{})
	go s.ChannelEvents(events, quit)
	defer close(quit)
	next := time.NewTimer(x.pause())
	for {
		x.draw()
		select {
		case e, ok := <-events:
			if !ok || x.handle(e) {
				return nil
			}
		case <-next.C:
			if !x.paused {
				x.read()
			}
			next.Reset(x.pause())
		}
	}
}

// pause is how long it is until the next reading. The second follows the first soon: there
// are no rates before it.
func (x *screen) pause() time.Duration {
	if x.before == nil {
		return x.r.Pause(min(x.interval, 300*time.Millisecond))
	}
	return x.r.Pause(x.interval)
}

// read takes a reading. If the directory cannot be read any more, the last page stays.
func (x *screen) read() {
	now, err := x.r.Read()
	if x.failed = err; err == nil {
		x.before, x.now = x.now, now
	}
}

// handle does what an event says, and tells whether it is the end.
func (x *screen) handle(e tcell.Event) (end bool) {
	switch e := e.(type) {
	case *tcell.EventResize:
		x.s.Sync()
	case *tcell.EventKey:
		if x.typing {
			x.typed(e)
			return e.Key() == tcell.KeyCtrlC
		}
		return x.pressed(e)
	}
	return false
}

// typed changes the search.
func (x *screen) typed(e *tcell.EventKey) {
	switch e.Key() {
	case tcell.KeyEnter:
		x.typing = false
	case tcell.KeyEscape:
		x.typing, x.o.Search = false, ""
	case tcell.KeyBackspace, tcell.KeyBackspace2:
		if r := []rune(x.o.Search); len(r) > 0 {
			x.o.Search = string(r[:len(r)-1])
		}
	case tcell.KeyRune:
		x.o.Search += string(e.Rune())
	}
	x.above = 0
}

// pressed does what a key stands for.
func (x *screen) pressed(e *tcell.EventKey) (end bool) {
	_, high := x.s.Size()
	switch e.Key() {
	case tcell.KeyCtrlC, tcell.KeyEscape:
		return true
	case tcell.KeyUp:
		x.above--
	case tcell.KeyDown:
		x.above++
	case tcell.KeyPgUp:
		x.above -= high - 5
	case tcell.KeyPgDn:
		x.above += high - 5
	case tcell.KeyHome:
		x.above = 0
	}
	switch e.Rune() {
	case 'q':
		return true
	case 'f', 'c':
		x.o.Contexts, x.above = e.Rune() == 'c', 0
	case 's':
		x.o.Sort = Orders[(slices.Index(Orders, x.o.Sort)+1)%len(Orders)]
	case '/':
		x.typing, x.o.Search = true, ""
	case 'p', ' ':
		x.paused = !x.paused
	case 'v':
		x.nextValue()
	}
	return false
}

// nextValue shows the next of the values that there are.
func (x *screen) nextValue() {
	values := x.now.Values
	for i, v := range values {
		if v.Name == x.now.Tree.Type.Name {
			x.r.metric = values[(i+1)%len(values)].Name
			x.now = nil
			x.read()
			return
		}
	}
}

// draw draws the page. All that is written has been made printable, by the reader of the record.
func (x *screen) draw() {
	x.s.Clear()
	_, high := x.s.Size()
	room := max(1, high-5)
	x.above = max(0, x.above)
	o := x.o
	o.Rows = x.above + room
	if x.now == nil {
		x.line(0, "reading failed: "+x.failed.Error(), tcell.StyleDefault)
		x.s.Show()
		return
	}
	page := Between(x.before, x.now, o)
	x.above = min(x.above, max(0, len(page.Rows)-1))
	page.Rows = page.Rows[x.above:]
	plain, bold := tcell.StyleDefault, tcell.StyleDefault.Bold(true)
	for y, text := range lines(page, x.now, o) {
		style := plain
		if y == 0 || y == 2 {
			style = bold
		}
		x.line(y, text, style)
	}
	x.line(high-1, x.status(), tcell.StyleDefault.Reverse(true))
	x.s.Show()
}

// status is what the last line says.
func (x *screen) status() string {
	text := keys
	switch {
	case x.typing:
		return "search: " + x.o.Search + "▏"
	case x.failed != nil:
		return "reading failed: " + x.failed.Error()
	case x.paused:
		text = "PAUSED · " + text
	}
	if x.o.Search != "" {
		text = "only " + x.o.Search + " · " + text
	}
	return "by " + x.o.Sort + " · " + text
}

// line writes a line of the screen.
func (x *screen) line(y int, text string, style tcell.Style) {
	wide, high := x.s.Size()
	if y >= high {
		return
	}
	at := 0
	for _, r := range text {
		if at >= wide {
			return
		}
		x.s.SetContent(at, y, r, nil, style)
		at++
	}
}
