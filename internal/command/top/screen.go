package top

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"
)

// A screen is a page on a terminal, with the keys that change it.
type screen struct {
	s        Display
	r        *Reader
	o        Options
	interval time.Duration

	before, now *Reading
	above       int // rows that are scrolled away
	at          int // the row that is chosen, of all
	left        int // characters of names that are scrolled away
	paused      bool
	typing      bool // the search is being typed
	help        bool // the keys are listed
	failed      error
	page        []Line // that is being drawn
}

// keys are all keys, with what they do.
var keys = []struct{ key, does string }{
	{"q", "quit"}, {"f", "functions"}, {"c", "contexts"}, {"s", "sort"}, {"/", "search"}, {"p", "pause"},
	{"v", "metric"}, {"↑↓", "choose a row, whose full name is below the rows"}, {"←→", "scroll names"},
	{"PgUp PgDn Home", "scroll"}, {"Esc", "end the search, leave this list"}, {"?", "these keys"},
}

// shortKeys is what the last line says, from the longest to what has room everywhere.
var shortKeys = []string{
	"q quit · f functions · c contexts · s sort · / search · p pause · v metric · ↑↓ choose · ←→ names · ? keys",
	"q quit · f c what · s sort · / search · p pause · v metric · ←→ names · ? keys",
	"q quit · s sort · / search · ? keys",
	"q quit · ? keys",
	"? keys",
}

// Show shows pages on a terminal until it is told to end.
func Show(s Display, r *Reader, interval time.Duration, o Options) error {
	x := &screen{s: s, r: r, o: o, interval: interval}
	if x.read(); x.failed != nil {
		return x.failed
	}
	next := time.NewTimer(x.pause())
	for {
		x.draw()
		select {
		case e, ok := <-s.Events():
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

// handle does what an event says, and reports whether it is the end.
func (x *screen) handle(e Event) (end bool) {
	switch {
	case e.Key == NewSize:
		return false
	case x.typing:
		x.typed(e)
		return e.Key == KeyEnd
	}
	return x.pressed(e)
}

// typed changes the search.
func (x *screen) typed(e Event) {
	switch e.Key {
	case KeyEnter:
		x.typing = false
	case KeyEscape:
		x.typing, x.o.Search = false, ""
	case KeyBackspace:
		if r := []rune(x.o.Search); len(r) > 0 {
			x.o.Search = string(r[:len(r)-1])
		}
	case KeyRune:
		x.o.Search += string(e.Rune)
	}
	x.at = 0
}

// pressed does what a key stands for.
func (x *screen) pressed(e Event) (end bool) {
	if e.Key == KeyEnd || e.Rune == 'q' {
		return true
	}
	if x.help {
		x.help = false
		return false
	}
	_, high := x.s.Size()
	switch e.Key {
	case KeyEscape: // it ends what can be ended, but never the program: who ends a search may press it twice
		x.o.Search, x.left = "", 0
	case KeyUp:
		x.at--
	case KeyDown:
		x.at++
	case KeyPgUp:
		x.at -= high - 5
	case KeyPgDn:
		x.at += high - 5
	case KeyHome:
		x.at, x.left = 0, 0
	case KeyLeft:
		x.left = max(0, x.left-panBy)
	case KeyRight:
		x.left += panBy
	}
	switch e.Rune {
	case 'f', 'c':
		x.o.Contexts, x.at, x.left = e.Rune == 'c', 0, 0
	case 's':
		x.o.Sort = Orders[(slices.Index(Orders, x.o.Sort)+1)%len(Orders)]
	case '/':
		x.typing, x.o.Search = true, ""
	case 'p', ' ':
		x.paused = !x.paused
	case 'v':
		x.nextValue()
	case '?':
		x.help = true
	}
	return false
}

// panBy is how many characters names are scrolled by at once.
const panBy = 20

// nextValue shows the next of the values that there are. If it cannot be read, what is on the page stays.
func (x *screen) nextValue() {
	values, shown := x.now.Values, x.r.metric
	for i, v := range values {
		if v.Name != x.now.Tree.Type.Name {
			continue
		}
		x.r.metric = values[(i+1)%len(values)].Name
		if x.read(); x.failed != nil {
			x.r.metric = shown
			return
		}
		x.before = nil // of the value before: there are no rates yet
		return
	}
}

// draw draws the page. All that is written has been made printable, by the reader of the record.
func (x *screen) draw() {
	wide, high := x.s.Size()
	x.page = make([]Line, high)
	defer func() { x.s.Draw(x.page) }()
	if x.help {
		for y, k := range keys {
			x.line(y, fmt.Sprintf("%15s  %s", k.key, k.does), 0)
		}
		return
	}
	room := max(1, high-5-detailLines)
	x.at = max(0, x.at)
	x.above = min(max(x.above, x.at-room+1), x.at)
	o := x.o
	o.Rows = x.above + room
	page := Between(x.before, x.now, o)
	x.at = min(x.at, max(0, len(page.Rows)-1))
	x.above = min(x.above, x.at)
	page.Rows = page.Rows[x.above:]
	name := ""
	if i := x.at - x.above; i < len(page.Rows) {
		name = page.Rows[i].Name
	}
	x.pan(page.Rows)
	for y, text := range lines(page, x.now, o) {
		style := Style(0)
		if y == 0 || y == 2 {
			style = Bold
		}
		if y == headLines+x.at-x.above && name != "" {
			style |= Underlined
		}
		x.line(y, text, style)
	}
	for i, part := range wrapped(name, wide, detailLines) {
		x.line(high-1-detailLines+i, part, 0)
	}
	x.line(high-1, x.status(wide), Reversed)
}

const (
	headLines   = 3 // above the rows
	detailLines = 2 // for the name of the row that is chosen
)

// pan scrolls the names of rows, as far as one of them has more to show.
func (x *screen) pan(rows []Row) {
	longest := 0
	for _, r := range rows {
		longest = max(longest, utf8.RuneCountInString(r.Name))
	}
	if x.left = min(x.left, max(0, longest-panBy)); x.left == 0 {
		return
	}
	for i := range rows {
		r := []rune(rows[i].Name)
		rows[i].Name = "…" + string(r[min(x.left+1, len(r)):])
	}
}

// wrapped breaks text into lines; the last one ends in an ellipsis if there is more.
func wrapped(text string, wide, most int) (list []string) {
	for r := []rune(text); len(r) > 0 && wide > 0; {
		n := min(wide, len(r))
		if len(list) == most-1 && n < len(r) {
			return append(list, string(r[:wide-1])+"…")
		}
		list, r = append(list, string(r[:n])), r[n:]
	}
	return list
}

// status is what the last line says, in as many columns.
func (x *screen) status(wide int) string {
	before := "by " + x.o.Sort + " · "
	switch {
	case x.typing:
		return "search: " + x.o.Search + "▏"
	case x.failed != nil:
		return "reading failed: " + x.failed.Error()
	}
	if x.o.Search != "" {
		before += "only " + x.o.Search + " · "
	}
	if x.paused {
		before += "PAUSED · "
	}
	for _, text := range shortKeys {
		if utf8.RuneCountInString(before+text) <= wide {
			return before + text
		}
	}
	return shortKeys[len(shortKeys)-1]
}

// line writes a line of the page.
func (x *screen) line(y int, text string, style Style) {
	if y >= 0 && y < len(x.page) {
		x.page[y] = Line{text, style}
	}
}
