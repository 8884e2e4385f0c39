package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/browser"
	"github.com/stemma-go/stemma/internal/testing/level"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// What a step of a script looks at.
const (
	onCanvas  = "document.activeElement.tagName === 'CANVAS'"
	onButton  = "document.activeElement.tagName === 'BUTTON'"
	onCallees = "document.activeElement.ariaLabel === 'Callees'"
	onText    = "document.activeElement.className === 'scroll'"
)

// link is true if the link in the address line has a part, or lacks one that begins with "!".
func link(part string) string {
	if want, not := strings.CutPrefix(part, "!"); not {
		return fmt.Sprintf("!location.hash.includes(%q)", want)
	}
	return fmt.Sprintf("location.hash.includes(%q)", part)
}

// says is true if the last line begins with a text: it shows what is selected.
func says(text string) string {
	return fmt.Sprintf("document.getElementById('status').textContent.startsWith(%q)", text)
}

// shows is true if the view has a text.
func shows(text string) string {
	return fmt.Sprintf("document.querySelector('main').textContent.includes(%q)", text)
}

// A step presses keys, with spaces between them, and what is then true. Words in quotes are typed.
type step struct {
	keys string
	want []string
}

// follow opens an address, and does the steps.
func follow(t *testing.T, p *browser.Page, url string, steps []step) {
	t.Helper()
	for _, err := range []error{p.Go("about:blank"), p.Wait("!window.painted"), p.Go(url), p.Wait("window.painted")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range steps {
		var err error
		if text, typed := strings.CutPrefix(s.keys, `"`); typed {
			err = p.Call("Input.insertText", map[string]string{"text": strings.TrimSuffix(text, `"`)}, nil)
		} else {
			err = p.Press(strings.Fields(s.keys)...)
		}
		for _, want := range s.want {
			if err == nil {
				err = p.Wait(want)
			}
		}
		if err != nil {
			var at string
			_ = p.Eval("location.href + ' ' + document.activeElement.outerHTML.slice(0, 300) + ' ' + "+
				"document.getElementById('status').textContent", &at)
			t.Errorf("%s: %v; the page is at %s", s.keys, err, at)
			return
		}
	}
}

// twoShapes seals the profile shapes, and another with other counts.
func twoShapes(t *testing.T) (now, was string) {
	t.Helper()
	now = sealed(t, "shapes", func(*profile.Profile) {})
	was = sealed(t, "shapes", func(p *profile.Profile) {
		for i := range p.Columns[0].Values {
			p.Columns[0].Values[i] *= uint64(1 + i%3)
		}
	})
	return now, was
}

// Every view can be reached and used by keyboard alone.
func TestKeyboard(t *testing.T) {
	level.NeedMore(t)
	p := tab(t)
	now, was := twoShapes(t)
	_, url := serve(t, now, "")
	_, compared := serve(t, now, was)
	_, shop, id, _ := recordtest.Shop(t)
	_, events := serve(t, shop, "")
	for _, c := range []struct {
		name, url string
		steps     []step
	}{
		{"flame", url, []step{
			{"", []string{onCanvas, says("[root]")}},
			{"ArrowUp", []string{says("[main]")}},
			{"ArrowRight", []string{"!" + says("[main]")}},
			{"ArrowLeft ArrowUp", []string{says("main.main")}},
			{"ArrowDown", []string{says("[main]")}},
			{"Enter", []string{link("root="), onCanvas, says("[main]")}},
			{"ArrowUp Enter", []string{says("main.main"), "document.querySelectorAll('#crumbs button').length === 3"}},
			{"Backspace", []string{"document.querySelectorAll('#crumbs button').length === 2"}},
			{"Escape", []string{link("!root=")}},
		}},
		{"icicle", url, []step{
			{"2 ArrowDown", []string{link("view=icicle"), onCanvas, says("[main]")}},
			{"ArrowDown Enter", []string{link("root="), says("main.main")}},
			{"1", []string{link("view=flame"), link("root="), onCanvas}}, // it draws the same
			{"Escape", []string{"document.querySelectorAll('#crumbs button').length === 2"}},
			{"Home", []string{says("[main]")}},
			{"Escape Escape", []string{link("view=icicle")}}, // out, and back to the view before
		}},
		{"functions", url, []step{
			{"4", []string{link("view=functions"), onButton, "document.activeElement.textContent === 'main.square'"}},
			{"ArrowDown ArrowDown", []string{"document.activeElement.textContent === 'main.area'"}},
			{"ArrowUp ArrowDown Enter", []string{link("view=sandwich"), shows("main.area")}},
			{"Escape", []string{link("view=functions"), onButton}},
			{"o", []string{link("view=source"), onText, shows("main.square")}},
			{"Backspace", []string{link("view=functions"), onButton}},
			{"s", []string{link("view=sandwich"), onCanvas}},
			{"Escape Escape", []string{link("!view=functions"), link("!view=sandwich"), onCanvas}},
			{"Escape", []string{onCanvas}}, // there is nothing before
		}},
		{"sandwich", url, []step{
			{"ArrowUp ArrowUp ArrowUp s", []string{link("view=sandwich"), onCallees}},
			{"ArrowDown", []string{"!" + says("main.area")}},
			{"Enter", []string{link("root=")}},
			{"Shift+Tab", []string{"document.activeElement.ariaLabel === 'Callers'", says("main.area")}},
			{"ArrowUp Enter", []string{link("uroot="), says("main.main")}},
			{"Escape", []string{link("!uroot=")}},
			{"Tab Escape", []string{link("!root="), onCallees}},
			{"3", []string{link("view=sandwich")}},
		}},
		{"source", url, []step{
			{"5", []string{link("view=source"), onText}},
			{"Tab", []string{"document.activeElement !== document.querySelector('.scroll')"}},
			{"s", []string{link("view=sandwich"), onCanvas}},
			{"o", []string{link("view=source"), onText}},
		}},
		{"goroutines", url, []step{
			{"ArrowUp Enter", []string{link("root=")}},
			{"6", []string{link("view=goroutines"), link("!root="), onCanvas, says("[root]")}},
			{"ArrowDown", []string{says("[main]")}},
			{"Enter", []string{link("root=")}},
			{"Escape", []string{link("!root=")}},
			{"Escape", []string{link("!view=goroutines")}},
		}},
		{"search", url, []step{
			{"/", []string{"document.activeElement.id === 'search'"}},
			{`"SQUARE"`, nil},
			{"1 Backspace Enter", []string{link("q=SQUARE"), onCanvas}}, // a digit is text here
			{"n", []string{says("main.square")}},
			{"Home N", []string{says("main.square")}},
			{"4", []string{"document.querySelectorAll('tbody tr').length === 1"}},
			{"/", nil},
			{"Escape", []string{onButton}},
		}},
		{"keys", url, []step{
			{"?", []string{"document.getElementById('keys').open"}},
			{"? 2 Backspace",
				[]string{"document.getElementById('keys').open", link("!view=")}}, // nothing behind it moves
			{"Escape", []string{"!document.getElementById('keys').open", onCanvas}},
			{"t", []string{link("theme=dark"), "document.documentElement.classList.contains('dark')", onCanvas}},
			{"t", []string{link("theme=light")}},
		}},
		{"compared", compared, []step{
			{"g", []string{link("gone=1"), onCanvas}},
			{"g", []string{link("!gone")}},
			{"4", []string{"document.querySelector('thead').textContent.includes('change')"}},
		}},
		{"timeline", events, []step{
			{"7", []string{link("view=timeline"), onText, "document.querySelector('main canvas')"}},
			{"1 v", []string{link("metric="), onCanvas}},
			{"/", nil},
			{`"` + id + `"`, nil},
			{"Enter", []string{link("view=context"), onText}},
			{"Tab Enter", []string{link("view=flame"), link("root="), onCanvas, says("main.pay")}},
			{"Escape Escape Escape Escape Escape", []string{link("view=context")}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) { follow(t, p, c.url, c.steps) })
	}
	if said := p.Said(); len(said) > 0 {
		t.Errorf("the browser has something to say: %s", said)
	}
}

// tabbed are the elements that Tab should reach, in their order, and those that it reaches.
const tabbed = `[...document.querySelectorAll('button, select, input, canvas[tabindex], .scroll[tabindex]')]` +
	`.filter(e => e.offsetParent && !e.closest('dialog'))`

// unclear says what is wrong with how the element that has the focus shows that, and with what a screen reader calls
// it: what scrolls cuts an outline that is outside of it.
const unclear = `(() => {
	const e = document.activeElement, s = getComputedStyle(e), wide = parseFloat(s.outlineWidth);
	const out = wide + parseFloat(s.outlineOffset), r = e.getBoundingClientRect();
	if (s.outlineStyle === 'none' || !(wide >= 2)) return 'no outline';
	for (const head of e.querySelectorAll('thead, th')) {
		const over = getComputedStyle(head).position === 'sticky' && head.getBoundingClientRect().top < r.top - out + wide - 0.5;
		if (over) return 'what stays at the top covers the outline';
	}
	for (let up = e.parentElement; up; up = up.parentElement) {
		if (getComputedStyle(up).overflowX === 'visible') continue;
		const clip = up.getBoundingClientRect();
		for (const side of ['left', 'top', 'right', 'bottom']) {
			const sign = side === 'left' || side === 'top' ? -1 : 1;
			if (sign * (r[side] + sign * out - clip[side]) > 0.5) return 'the outline is cut at the ' + side;
		}
	}
	return /\w\w/.test(e.ariaLabel || e.textContent) ? '' : 'no name';
})()`

// Tab leads to everything that can be used, in the order in which it is on the page; what has the focus is seen, and
// has a name.
func TestTabOrder(t *testing.T) {
	level.NeedMore(t)
	p := tab(t)
	now, was := twoShapes(t)
	_, url := serve(t, now, was)
	for _, view := range []string{"flame", "icicle", "sandwich", "functions", "source", "goroutines", "peek",
		"flame&q=square&focus=main", "functions&q=square&hide=clean"} {
		follow(t, p, url+"#view="+view, nil)
		n := 0
		if err := p.Eval(tabbed+".length", &n); err != nil || n < 12 {
			t.Fatalf("%s: %d elements, %v", view, n, err)
		}
		must(t, p.Eval("("+tabbed+")[1].focus()", nil), p.Press("Shift+Tab")) // a key shows where the focus is
		at := -1
		for range n {
			before := at
			if err := p.Eval("("+tabbed+").indexOf(document.activeElement)", &at); err != nil || at != before+1 {
				t.Fatalf("%s: behind element %d of %d comes %d (%v)", view, before, n, at, err)
			}
			if bad := eval[string](t, p, unclear); bad != "" {
				t.Errorf("%s: %s: %s", view, eval[string](t, p, "document.activeElement.outerHTML.slice(0, 200)"), bad)
			}
			if err := p.Press("Tab"); err != nil {
				t.Fatal(err)
			}
		}
	}
}
