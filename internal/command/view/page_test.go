package view

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/page"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/browser"
	"github.com/stemma-go/stemma/internal/testing/level"
	"github.com/stemma-go/stemma/profile"
)

// forest returns a profile of a program with so many functions in nested packages, whose contexts have counts up to
// most. Two with different seeds have the same contexts, and other counts.
func forest(t *testing.T, funcs int, value profile.Metric, most, seed uint64) *profile.Profile {
	t.Helper()
	p := profile.New(value)
	p.Processes = []profile.Process{{Args: []string{"forest"}, Run: seed, GoVersion: "go1.26.8", Engine: "cct",
		Full: true}}
	word := func(s string) uint32 {
		p.Strings = append(p.Strings, s)
		return uint32(len(p.Strings) - 1)
	}
	file := word("/src/forest/main.go")
	for i := range uint32(funcs) {
		name := fmt.Sprintf("example.org/forest/pkg%d.(*Tree[go.shape.int]).Branch%d", i%7, i)
		f := profile.Func{Name: word(name), File: file, Line: 10 * (i + 1), Cells: 2, Counters: 1}
		for cell, kind := range []profile.SiteKind{profile.SiteCall, profile.SiteGo} {
			f.Sites = append(f.Sites, profile.Site{Kind: kind, File: file, Line: f.Line + uint32(cell) + 1,
				Inlined: profile.None, Cell: int32(cell), Counter: profile.None})
		}
		p.Funcs = append(p.Funcs, f)
	}
	r, counts := rand.New(rand.NewPCG(seed, 1)), []uint64{0}
	for i := range uint32(funcs) {
		n := profile.Node{Func: i + 1, First: uint32(len(counts))}
		if i > 0 {
			n.Parent, n.Cell = (i+1)/2, i%5/4 // a tree, with a go statement now and then
		}
		p.Nodes = append(p.Nodes, n)
		counts = append(counts, 1+r.Uint64N(most))
	}
	p.Columns[0].Values = counts
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return p
}

// write writes a profile as a sealed file.
func write(t *testing.T, p *profile.Profile) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "forest.stemma")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// eval returns the value of an expression.
func eval[V any](t *testing.T, p *browser.Page, expression string) (v V) {
	t.Helper()
	if err := p.Eval(expression, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// must ends the test at the first error.
func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

var nanoseconds = profile.Metric{Name: "cpu", Unit: "nanoseconds", About: "time"}

// misplaced lists what has no room: a page that is wider than its window, rows that are higher than a few lines,
// names and numbers that are cut or run into each other.
const misplaced = `(() => {
	const bad = [], wide = document.documentElement.scrollWidth;
	if (wide > innerWidth) bad.push('the page is ' + wide + ' wide');
	const tools = $('theme').getBoundingClientRect(), search = $('search').getBoundingClientRect();
	const beside = Math.abs(tools.top - search.top) <= 4;
	if (!beside || search.width < 120) bad.push('no buttons beside a search of ' + search.width);
	const c = document.createElement('canvas').getContext('2d'), style = getComputedStyle($('search'));
	c.font = style.font;
	const room = $('search').clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
	if (c.measureText($('search').placeholder).width > room) bad.push('cut: ' + $('search').placeholder);
	for (const row of [...document.querySelectorAll('.source tbody tr')].slice(0, 20)) {
		const [first, line] = [row.cells[0], row.querySelector('.line')].map(e => e && e.getBoundingClientRect());
		const code = row.querySelector('.code').textContent;
		if (code || !line || !first.height) continue;
		if (line.top > first.top + 2) bad.push('only the number of a line is below the others: ' + row.textContent);
	}
	for (const e of document.querySelectorAll('header > *, #tools > *, #found > *, #legend > *, footer > button')) {
		const r = e.getBoundingClientRect();
		if (r.width && (r.right > innerWidth + 1 || r.left < 0)) bad.push('outside: ' + e.textContent);
	}
	const crumbs = $('crumbs'), path = crumbs.querySelectorAll('button').length > 1;
	const status = $('status');
	const over = status.scrollWidth > status.clientWidth + 1 || status.scrollHeight > status.clientHeight + 1;
	if (innerWidth < 1000 && over) bad.push('cut: ' + status.textContent);
	for (const e of document.querySelectorAll('.middle')) {
		if (innerWidth < 1000 && e.scrollWidth > e.clientWidth + 1) bad.push('cut: ' + e.textContent);
		const below = page.plots[1], high = below.el.clientHeight;
		if (high < Math.min(below.high, innerHeight / 5)) bad.push('callees have ' + high + ' of ' + below.high);
	}
	for (const e of [...document.querySelectorAll('.source tbody .code')].slice(0, 20)) {
		const r = e.getBoundingClientRect();
		if (r.left > innerWidth / 2) bad.push('a line of source begins at ' + r.left);
	}
	if (!path && crumbs.scrollWidth > crumbs.clientWidth + 1) bad.push('cut: ' + crumbs.textContent);
	for (const e of crumbs.querySelectorAll('button')) {
		const r = e.getBoundingClientRect(), all = crumbs.getBoundingClientRect(), last = !e.nextElementSibling;
		if (path && last && (r.left < all.left - 1 || r.right > all.right + 1)) bad.push('out of sight: ' + e.textContent);
		if (!path && e.scrollWidth > e.clientWidth + 1) bad.push('cut: ' + e.textContent);
	}
	for (const row of [...document.querySelectorAll('.long tbody tr')].slice(0, 20)) {
		const high = row.getBoundingClientRect().height;
		if (high > 100) bad.push('a row of ' + high + ': ' + row.textContent);
		for (const cell of row.cells) {
			const r = cell.getBoundingClientRect(), range = document.createRange();
			range.selectNodeContents(cell);
			const text = range.getBoundingClientRect();
			if (cell.className === 'name' && r.width < 240) bad.push('a name of ' + r.width + ': ' + cell.textContent);
			if (text.width && (text.left < r.left - 1 || text.right > r.right + 1)) bad.push('cut: ' + cell.textContent);
		}
	}
	for (const plot of page.plots.filter(p => p.el.isConnected)) {
		plot.resize();
		const y = plot.top(0);
		if (y < 0 || y + rowHeight > plot.el.clientHeight) bad.push('the root is at ' + y);
	}
	const warned = page.state.view === 'flame' && page.info.warnings.length;
	if (warned && !$('warnings').clientHeight) bad.push('no warnings');
	const main = document.querySelector('main').getBoundingClientRect();
	if (main.height < innerHeight * 0.4) bad.push('main has ' + main.height + ' of ' + innerHeight);
	return bad;
})()`

// Every view has room at each width, of one profile and of two that are compared: of calls, and of times, whose
// numbers are longer.
func TestWidths(t *testing.T) {
	level.NeedMore(t)
	p := tab(t)
	calls := write(t, forest(t, 300, profile.Calls, 1e9, 1))
	_, alone := serve(t, calls, "")
	base := write(t, forest(t, 300, profile.Calls, 1e9, 2))
	t.Chdir(filepath.Dir(base)) // its path is on the page: it is as long for everybody
	_, compared := serve(t, calls, filepath.Base(base))
	_, times := serve(t, write(t, forest(t, 300, nanoseconds, 1e12, 1)), "")
	running := live(t, func() *profile.Profile { return forest(t, 300, profile.Calls, 1e9, 1) })
	for name, url := range map[string]string{"alone": alone, "compared": compared, "times": times, "running": running} {
		follow(t, p, url, nil)
		inner := eval[string](t, p, "page.plots[0].items.find(i => i.depth === 4 && !i.rest).box.id")
		// Who enlarges the page to twice its size on a small screen has 640 by 360.
		for _, size := range [][2]int{{400, 800}, {640, 360}, {640, 800}, {900, 800}, {1440, 800}, {3840, 800}} {
			width := size[0]
			must(t, p.Resize(width, size[1]))
			for _, v := range []string{"flame", "sandwich", "functions", "source", "goroutines", "peek",
				"flame&root=" + inner} {
				visit(t, p, "q=branch1&focus=branch&view="+v)
				must(t, p.Eval("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))", nil))
				if bad := eval[[]string](t, p, misplaced); len(bad) > 0 {
					t.Errorf("%d pixels, %s, %s: %.300q", width, name, v, bad)
				}
			}
		}
	}
}

// visit goes to another link of the page that is open.
func visit(t *testing.T, p *browser.Page, link string) {
	t.Helper()
	must(t, p.Eval(fmt.Sprintf("page.state = Object.fromEntries(new URLSearchParams(%q)), page.show()", link), nil))
}

// contrastFunctions makes the page have contrast(a, b), that of two colours by the formula of WCAG.
const contrastFunctions = `(() => {
	const c = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
	const rgb = colour => {
		c.clearRect(0, 0, 1, 1);
		c.fillStyle = colour;
		c.fillRect(0, 0, 1, 1);
		return c.getImageData(0, 0, 1, 1).data;
	};
	const light = colour => {
		const [r, g, b] = [...rgb(colour)].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const contrast = (a, b) => {
		const [x, y] = [light(a), light(b)].sort((a, b) => b - a);
		return (x + 0.05) / (y + 0.05);
	};
	Object.assign(window, { rgb, contrast });
})()`

// contrasts lists texts of the page that are hard to read: their contrast with what is behind them, by the formula of
// WCAG, is below 4.5. Of a canvas it is that of the colours that boxes may have.
const contrasts = contrastFunctions + `, (() => {
	const c = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
	const behind = e => {
		for (; e; e = e.parentElement) {
			const { backgroundColor: b } = getComputedStyle(e);
			if (rgb(b)[3] === 255) return b;
		}
		return '#fff';
	};
	const bad = [], check = (what, a, b) => {
		const n = contrast(a, b);
		if (!(n >= 4.5)) bad.push(what + ': ' + n.toFixed(2));
	};
	for (const e of document.querySelectorAll('body *')) {
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility()) continue;
		check(e.tagName + ' ' + e.className + ' ' + e.textContent.slice(0, 30), getComputedStyle(e).color, behind(e));
	}
	check('placeholder', getComputedStyle($('search'), '::placeholder').color, behind($('search')));
	const style = getComputedStyle(document.documentElement);
	check('code', style.getPropertyValue('--text'), style.getPropertyValue('--heat'));
	const dark = isDark(), base = page.info.base;
	page.info.base = '';
	for (let i = 0; i < 3000; i++) check('box', ...colours({}, { name: 'p' + i + '.f' }, dark));
	check('pseudo', ...colours({}, { pseudo: true }, dark));
	page.info.base = base;
	for (let i = 0; i <= 60; i++) for (const [a, b] of [[i, 30], [30, i]]) check('compared', ...compared(a, b, dark));
	check('found', ...foundColours);
	for (const hit of [false, true]) {
		c.fillStyle = hatch(c, dark, hit);
		c.fillRect(0, 0, 6, 6);
		const d = c.getImageData(0, 0, 6, 6).data;
		for (let i = 0; i < d.length; i += 4) check('rest', restInk(dark), 'rgb(' + [...d.slice(i, i + 3)] + ')');
	}
	return [...new Set(bad)];
})()`

// live serves the page of a program that runs.
func live(t *testing.T, load func() *profile.Profile) (url string) {
	t.Helper()
	v, err := page.New(page.Options{Load: func() (*page.Data, error) {
		return &page.Data{Title: "running", Running: true, Record: &record.Record{Profile: load()},
			Warnings: []string{"pid 7: inuse: reachable objects are counted at the end, which is not yet"}}, nil
	}})
	must(t, err)
	s := httptest.NewServer(v.Handler(""))
	t.Cleanup(s.Close)
	return s.URL
}

// All text can be read, in the light and in the dark.
func TestContrast(t *testing.T) {
	level.NeedMore(t)
	p := tab(t)
	now := write(t, forest(t, 200, profile.Calls, 1e6, 1))
	_, alone := serve(t, now, "")
	_, url := serve(t, now, write(t, forest(t, 200, profile.Calls, 1e6, 2)))
	running := live(t, func() *profile.Profile { return forest(t, 200, profile.Calls, 1e6, 1) })
	for _, at := range []string{alone, url, running} {
		follow(t, p, at, []step{{"?", nil}})
		for _, theme := range []string{"light", "dark"} {
			for _, v := range []string{"flame", "sandwich", "functions", "source", "goroutines", "peek", "timeline"} {
				visit(t, p, "q=branch1&focus=branch&theme="+theme+"&view="+v)
				must(t, p.Eval("$('banner').hidden = $('busy').hidden = false, $('busy').textContent = 'at work', "+
					"showTip('a box', 0, 0)", nil))
				if bad := eval[[]string](t, p, contrasts); len(bad) > 0 {
					t.Errorf("%s, %s: %.500q", theme, v, bad)
				}
			}
		}
	}
}

// found is what the page says about a search.
const found = "$('found').hidden ? '' : $('found').querySelector('.text').textContent"

// A search says how many functions and boxes it has found, with how much of the value, what of them is not drawn, or
// that there is nothing; text between slashes is a regular expression.
func TestSearchSays(t *testing.T) {
	level.NeedMore(t)
	p := tab(t)
	must(t, p.Resize(400, 700))
	path := write(t, forest(t, 900, profile.Calls, 1000, 1))
	v, url := serve(t, path, "")
	var file bytes.Buffer
	must(t, v.Write(&file))
	out := filepath.Join(t.TempDir(), "page.html")
	must(t, os.WriteFile(out, file.Bytes(), 0o666))
	for _, c := range []struct{ view, q, want string }{
		{"flame", "BRANCH800", "“BRANCH800”: 1 function in 1 box, 1 of them too small to draw · total "},
		{"flame", "Branch0", "“Branch0”: 1 function in 1 box · total "},
		{"icicle", "/Branch[0-4]$/", "/Branch[0-4]$/: 5 functions in 5 boxes · total "},
		{"goroutines", "pkg3", "functions in "},
		{"sandwich", "Branch1", "callers: "},
		{"functions", "/Branch[0-4]$/", "/Branch[0-4]$/: 5 functions of 900 · "},
		{"functions", "branch[", "nothing found: no function has “branch[” in its name"},
		{"flame", "/^branch/", "nothing found: no function here matches /^branch/"},
		{"flame", "", ""},
	} {
		follow(t, p, url+"#view="+c.view+"&q="+c.q, nil)
		if have := eval[string](t, p, found); !strings.Contains(have, c.want) || c.want == "" && have != "" {
			t.Errorf("%s: %s: %q, want %q", c.view, c.q, have, c.want)
		}
	}
	follow(t, p, url+"#q=Branch800",
		[]step{{"n", []string{says("the rest below"), "$('status').textContent.includes('1 box found in')"}}})
	follow(t, p, url+"#q=/[/", []step{{"", []string{shows("error parsing regexp")}}})
	follow(t, p, url+"#view=functions&q=nosuch",
		[]step{{"", []string{shows("Nothing found: no function has “nosuch”")}}})
	for q, want := range map[string]string{"/Branch[0-4]$/": "5 functions in 5 boxes", "nosuch": "nothing found",
		"branch": "900 functions in 900 boxes"} {
		follow(t, p, "file://"+out+"#q="+q, nil)
		if have := eval[string](t, p, found); !strings.Contains(have, want) {
			t.Errorf("in a file: %s: %q, want %q", q, have, want)
		}
	}
}

// Contexts can be left out, by a search and by what is selected, and taken back. The view test compares the numbers
// with those of report.
func TestSelect(t *testing.T) {
	p := tab(t)
	_, url := serve(t, sealed(t, "shapes", func(*profile.Profile) {}), "")
	rows := func(n int) string { return fmt.Sprintf("document.querySelectorAll('tbody tr').length === %d", n) }
	all := eval[int](t, at(t, p, url+"#view=functions"), "document.querySelectorAll('tbody tr').length")
	follow(t, p, url+"#view=functions", []step{
		{"ArrowDown f", []string{link("focus="), shows("main.area"), "!" + shows("main.clean")}},
		{"F", []string{link("!focus="), rows(all)}},
		{"i", []string{link("ignore="), "!" + shows("main.square")}},
		{"F h", []string{link("hide=")}},
		{"F /", nil},
		{`"worker"`, nil},
		{"Enter", []string{rows(1)}},
	})
	press := func(text string) string {
		return fmt.Sprintf(
			"[...$('found').querySelectorAll('button')].find(b => b.textContent.startsWith(%q)).click()", text)
	}
	must(t, p.Eval(press("focus"), nil), p.Wait(link("focus=worker")), p.Wait(link("!q=")), p.Wait(shows("main.clean")))
	if eval[bool](t, p, shows("main.area")) {
		t.Error("what has no worker is there")
	}
	must(t, p.Eval(press("focus worker"), nil), p.Wait(link("!focus")), p.Wait(rows(all)))
	follow(t, p, url, []step{
		{"ArrowUp ArrowUp ArrowUp f", []string{link("focus=")}},
		{"F", []string{link("!focus=")}},
	})
}

// at goes to an address.
func at(t *testing.T, p *browser.Page, url string) *browser.Page {
	t.Helper()
	follow(t, p, url, nil)
	return p
}

// The callers and callees of a function are a table, whose names lead on.
func TestPeek(t *testing.T) {
	p := tab(t)
	_, url := serve(t, sealed(t, "shapes", func(*profile.Profile) {}), "")
	follow(t, p, url+"#view=functions", []step{
		{"ArrowDown ArrowDown p", []string{link("view=peek"), onText}},
	})
	text := eval[string](t, p, "[...document.querySelectorAll('main tr')]"+
		".map(r => [...r.cells].map(c => c.textContent).join(' ')).join('\\n')")
	want := "total % contexts function\ncallers\n54 100.00% 4 main.main\n54 100.00% 4 main.area\n" +
		"callees, with what they call\n40 74.07% 2 main.square\n4 7.41% 1 main.(*tri).M"
	if text != want {
		t.Errorf("have\n%s\nwant\n%s", text, want)
	}
	must(t, p.Press("Tab"))
	follow(t, p, url+"#view=peek&q=area", []step{{"Tab Enter", []string{shows("main.worker"), link("view=peek")}}})
}

// mouse moves the pointer, or presses its button.
func mouse(t *testing.T, p *browser.Page, kind string, x, y int) {
	t.Helper()
	must(t, p.Call("Input.dispatchMouseEvent",
		map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}, nil))
}

// What is said about a box goes away with the box: after a zoom, by mouse or by keys, and when it is scrolled.
func TestTip(t *testing.T) {
	level.NeedMore(t)
	p := tab(t)
	_, url := serve(t, write(t, forest(t, 300, profile.Calls, 1e6, 1)), "")
	const shown, hidden = "!$('tip').hidden", "$('tip').hidden"
	for name, leave := range map[string]func(){
		"click":  func() { mouse(t, p, "mousePressed", 600, 140); mouse(t, p, "mouseReleased", 600, 140) },
		"key":    func() { must(t, p.Press("Enter")) },
		"back":   func() { must(t, p.Press("Escape")) },
		"view":   func() { must(t, p.Press("4")) },
		"link":   func() { must(t, p.Eval("go({ view: 'source' })", nil)) },
		"scroll": func() { must(t, p.Eval("document.querySelector('.plot').dispatchEvent(new Event('scroll'))", nil)) },
	} {
		follow(t, p, url+"#view=icicle", []step{{"ArrowDown ArrowDown", nil}})
		mouse(t, p, "mouseMoved", 600, 140)
		must(t, p.Wait(shown))
		if text := eval[string](t, p, "$('tip').textContent"); !strings.Contains(text, "\ntotal ") {
			t.Errorf("the tip says %q", text)
		}
		leave()
		if err := p.Wait(hidden); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		mouse(t, p, "mouseMoved", 5, 5)
	}
}

// The name of what is selected can be copied, and its stack, innermost function first.
func TestCopy(t *testing.T) {
	level.NeedMore(t)
	p := tab(t)
	_, url := serve(t, sealed(t, "shapes", func(*profile.Profile) {}), "")
	const clipboard = "navigator.clipboard.readText()"
	must(t, p.Call("Browser.grantPermissions",
		map[string]any{"permissions": []string{"clipboardReadWrite", "clipboardSanitizedWrite"}}, nil))
	copies := func(link string, keys, want string) {
		t.Helper()
		follow(t, p, url+link, nil)
		must(t, p.Press(strings.Fields(keys)...), p.Wait(says("copied: ")))
		if have := eval[string](t, p, clipboard); have != want {
			t.Errorf("%s: %s: %q, want %q", link, keys, have, want)
		}
	}
	copies("", "ArrowUp ArrowUp ArrowUp y", "main.area")
	copies("", "ArrowUp ArrowUp ArrowUp Y", "main.area main.go:12\nmain.main\n[main]\n[root]")
	copies("#view=icicle", "ArrowDown ArrowDown Enter ArrowDown Y", "main.area main.go:12\nmain.main\n[main]\n[root]")
	copies("#view=functions", "ArrowDown y", "runtime.newobject")
	copies("#view=source&q=area", "y", "main.area")
	copies("#view=peek&q=area", "y", "main.area")
	copies("#view=sandwich&q=area", "Shift+Tab ArrowUp Y", "main.area main.go:12\nmain.main")
	// A page that comes from elsewhere has no clipboard.
	follow(t, p, url, []step{{"ArrowUp ArrowUp", nil}})
	must(t, p.Eval("navigator.clipboard.writeText('')", nil),
		p.Eval("Clipboard.prototype.writeText = () => Promise.reject(1)", nil),
		p.Eval("$('copyname').click()", nil), p.Wait(says("copied: ")))
	if have := eval[string](t, p, clipboard); have != "main.main" {
		t.Errorf("without a clipboard: %q", have)
	}
}

// The legend says what the colours of what is on screen mean.
func TestLegend(t *testing.T) {
	level.NeedMore(t)
	p := tab(t)
	now, was := twoShapes(t)
	_, alone := serve(t, now, "")
	_, compared := serve(t, now, was)
	for link, want := range map[string]string{
		alone:                             "a colour for each package|rest: too small to draw",
		alone + "#q=main":                 "a colour for each package|rest: too small to draw|found",
		compared + "#view=goroutines":     "fewer|same|more|new|rest: too small to draw",
		compared + "#gone=1":              "fewer|same|more|new|gone|rest: too small to draw",
		compared + "#view=functions&q=ab": "",
	} {
		follow(t, p, link, nil)
		have := eval[string](t, p,
			"$('legend').hidden ? '' : [...$('legend').children].map(e => e.textContent).join('|')")
		if have != want {
			t.Errorf("%s: %q, want %q", link, have, want)
		}
	}
	const patches = "[...$('legend').querySelectorAll('.patch')].map(e => getComputedStyle(e))" +
		".every(s => s.backgroundColor !== 'rgba(0, 0, 0, 0)' || s.backgroundImage !== 'none')"
	if follow(t, p, compared, nil); !eval[bool](t, p, patches) {
		t.Error("a patch has no colour")
	}
}

// What is compared is sorted by change.
func TestSortedByChange(t *testing.T) {
	p := tab(t)
	most, least := forest(t, 50, profile.Calls, 1000, 1), forest(t, 50, profile.Calls, 1000, 1)
	least.Columns[0].Values[17] += 5_000_000
	most.Columns[0].Values[30] += 1_000_000
	for _, p := range []*profile.Profile{most, least} {
		p.Columns[0].Values[16] += 10_000_000 // next to what has changed most
	}
	v, url := serve(t, write(t, most), write(t, least))
	var file bytes.Buffer
	must(t, v.Write(&file))
	out := filepath.Join(t.TempDir(), "page.html")
	must(t, os.WriteFile(out, file.Bytes(), 0o666))
	for _, at := range []string{url, "file://" + out} {
		follow(t, p, at+"#view=functions", nil)
		names := eval[[]string](t, p, "[...document.querySelectorAll('td.name')].map(c => c.textContent)")
		if !strings.HasSuffix(names[0], "Branch16") || !strings.HasSuffix(names[1], "Branch29") {
			t.Errorf("first come %q", names[:2])
		}
		if have := eval[string](t, p, "document.querySelector('[aria-sort]').textContent"); have != "change" {
			t.Errorf("sorted by %s", have)
		}
		visit(t, p, "view=peek&q=Branch7")
		names = eval[[]string](t, p, "[...document.querySelectorAll('main td.name')].map(c => c.textContent)")
		if len(names) != 4 || !strings.HasSuffix(names[2], "Branch16") {
			t.Errorf("the callees are %q, want what has changed more before the others", names)
		}
	}
}

// texts makes the page remember what it draws on canvases.
const texts = `window.texts = new Set();
	const plain = CanvasRenderingContext2D.prototype.fillText;
	CanvasRenderingContext2D.prototype.fillText = function(text, ...at) { window.texts.add(text); plain.call(this, text, ...at); };`

// A name that is cut to the room in a box keeps what tells the function from others.
func TestShortNames(t *testing.T) {
	p := tab(t)
	_, url := serve(t, sealed(t, "shapes", func(*profile.Profile) {}), "")
	follow(t, p, url, nil)
	for name, want := range map[string]string{
		"example.com/m.init.0": "init.0", "example.com/m.recovered.func1": "recovered.func1",
		"example.com/m.(*server).serve.gowrap2": "serve.gowrap2", "example.com/m.(*server).serve": "serve",
		"example.com/m.each[...].func1.2": "each[...].func1.2", "example.com/m.function1": "function1",
	} {
		have := eval[string](t, p, fmt.Sprintf(`(() => {
			const c = document.createElement('canvas').getContext('2d');
			c.font = '13px sans-serif';
			return fitted(c, %q, c.measureText(%q).width, true);
		})()`, name, want))
		if have != want {
			t.Errorf("%s is cut to %s, want %s", name, have, want)
		}
	}
	for _, name := range []string{"go/parser.(*parser).consumeCommentGroup", "main.MMMMMMMMMMMM", "main.größeWWW"} {
		wide := eval[[]int](t, p, fmt.Sprintf(`(() => {
			const c = document.createElement('canvas').getContext('2d'), wide = [];
			c.font = font;
			for (let w = 16; w < 300; w++) if (c.measureText(fitted(c, %q, w, true)).width > w) wide.push(w);
			return wide;
		})()`, name))
		if len(wide) > 0 {
			t.Errorf("%s leaves boxes of %v pixels", name, wide)
		}
	}
}

// A box of goroutines has a number, also where its name would fill it, if some of the name is left beside that.
func TestNumberBesideName(t *testing.T) {
	p := tab(t)
	_, url := serve(t, sealed(t, "shapes", func(*profile.Profile) {}), "")
	follow(t, p, url+"#view=goroutines", nil)
	bare := eval[[]string](t, p, `(() => {
		const c = document.createElement('canvas').getContext('2d'), plot = page.plots[0], bare = [];
		c.font = font;
		for (const name of ['main.(*server).worker', 'net/http.(*conn).serve']) {
			const whole = Math.ceil(widthOf(c, name)) + 9;
			for (let w = whole; w < whole + 30; w++) {
				const [text, more] = plot.label(c, plot.items[0].box, { name }, w);
				if (!more || widthOf(c, text) + widthOf(c, more) + 22 > w) bare.push(w + ' pixels: ' + text + ' ' + more);
			}
		}
		return bare;
	})()`)
	if len(bare) > 0 {
		t.Errorf("boxes without a number: %q", bare)
	}
}

// Numbers say what they count, one in the singular; a total is called one; a column has one unit; and the boxes of
// goroutines have numbers.
func TestWords(t *testing.T) {
	level.NeedMore(t)
	p := tab(t)
	must(t, p.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": texts}, nil))
	_, url := serve(t, sealed(t, "shapes", func(*profile.Profile) {}), "")
	for link, want := range map[string]string{
		"#root=": "[root] · total 67 calls 100.00% · own 0 calls · ", "#view=goroutines": "[root] · total 67 calls",
	} {
		follow(t, p, url+link, []step{{"", []string{says(want)}}})
	}
	follow(t, p, url, []step{{"ArrowUp ArrowUp", []string{says("main.main · total 66 calls 98.51% · own 1 call · ")}}})
	follow(t, p, url+"#view=sandwich&q=area", []step{{"", []string{shows("main.area · total 54 calls ")}}})
	follow(t, p, url+"#view=functions&q=main.init", []step{{"", []string{
		"/^“main.init”: 1 function of \\d+ · 1 call 1.49%$/.test(" + found + ")"}}})
	follow(t, p, url+"#view=goroutines", nil)
	must(t, p.Press("ArrowDown", "ArrowDown", "Enter"), p.Wait(link("root=")))
	for _, want := range []string{"2 goroutines · 8 calls · 11.94%", "58 calls · 86.57%"} {
		if err := p.Wait(fmt.Sprintf("[...window.texts].join('|').includes(%q)", want)); err != nil {
			t.Errorf("drawn: %s: %v", strings.Join(eval[[]string](t, p, "[...window.texts]"), "|"), err)
		}
	}
	times := forest(t, 30, nanoseconds, 100, 1)
	for i := range times.Columns[0].Values {
		times.Columns[0].Values[i] <<= i
	}
	times.Columns[0].Values[0] = 0
	_, url = serve(t, write(t, times), "")
	follow(t, p, url+"#view=functions", nil)
	for _, text := range eval[[]string](t, p, "[...document.querySelectorAll('td.amount')].map(c => c.textContent)") {
		if !strings.HasSuffix(text, " ms") {
			t.Errorf("%q in a column of milliseconds", text)
		}
	}
}

// A program that runs is read again, and what is scrolled to, has the focus or was opened stays.
func TestRefresh(t *testing.T) {
	level.NeedMore(t)
	p := tab(t)
	var grown atomic.Uint64
	url := live(t, func() *profile.Profile {
		prof := forest(t, 300, profile.Calls, 1000, 1)
		prof.Columns[0].Values[1] += grown.Add(1000)
		return prof
	})
	again := func() {
		t.Helper()
		gen := eval[int](t, p, "page.info.gen")
		for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			if eval[bool](t, p, fmt.Sprintf("look().then(() => page.info.gen > %d && page.again)", gen)) {
				return
			}
			if time.Now().After(end) {
				t.Fatal("the program is not read again")
			}
		}
	}
	const where = `[document.activeElement.textContent || document.activeElement.ariaLabel,
		Math.round(document.querySelector('.scroll, .plot').scrollTop),
		document.querySelectorAll('tbody tr').length].join('|')`
	same := func(name string) {
		t.Helper()
		before := eval[string](t, p, where)
		again()
		if have := eval[string](t, p, where); have != before {
			t.Errorf("%s: %q before, %q after", name, before, have)
		}
	}
	follow(t, p, url+"#view=functions&sort=name", nil)
	must(t, p.Wait("following()")) // on its own; here it looks more often
	must(t, p.Eval("document.querySelector('[data-key=more]').click()", nil),
		p.Wait("document.querySelectorAll('tbody tr').length > 200"),
		p.Eval("document.querySelectorAll('tbody button')[150].focus()", nil))
	if top := eval[float64](t, p, "document.querySelector('.scroll').scrollTop"); top < 100 {
		t.Fatalf("scrolled to %v", top)
	}
	same("functions")
	must(t, p.Eval("document.querySelector('.scroll').scrollTop = 400", nil), p.Eval("$('search').focus()", nil))
	same("functions, searching")
	must(t, p.Resize(1280, 300))
	for _, view := range []string{"icicle", "flame"} {
		follow(t, p, url+"#view="+view, []step{{"", []string{onCanvas}}})
		must(t, p.Eval("document.querySelector('.plot').scrollTop = 20", nil))
		same(view)
		const footer = "$('status').textContent"
		before := eval[string](t, p, footer)
		if again(); eval[string](t, p, footer) == before {
			t.Errorf("%s: the footer still says %q of what has grown", view, before)
		}
	}
	must(t, p.Eval("$('metric').focus()", nil))
	same("a list")
}

// While the page waits for an answer it shows that, and what the server is at.
func TestBusy(t *testing.T) {
	p := tab(t)
	v, _, err := Open([]string{sealed(t, "shapes", func(*profile.Profile) {})}, "")
	must(t, err)
	answer := make(chan bool)
	h := v.Handler("")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ask/flame":
			<-answer
		case "/ask/work":
			_, _ = w.Write([]byte(`{"what": "adding up 3,500,000 contexts"}`))
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	must(t, p.Go(s.URL))
	err = p.Wait("typeof $ === 'function' && !$('busy').hidden && " +
		"/^at work for \\d+ s: adding up 3,500,000 contexts/.test($('busy').textContent)")
	close(answer)
	must(t, err, p.Wait("window.painted"), p.Wait("$('busy').hidden"))
}

// When the server has gone the page says it in words, keeps what it shows, and finds it again.
func TestGone(t *testing.T) {
	p := tab(t)
	v, _, err := Open([]string{sealed(t, "shapes", func(*profile.Profile) {})}, "")
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	serve := func(l net.Listener) *http.Server {
		s := &http.Server{Handler: v.Handler(""), ReadHeaderTimeout: time.Minute}
		go func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		}()
		return s
	}
	s := serve(l)
	const current = "$('tabs').querySelector('[aria-current]').dataset.view"
	follow(t, p, "http://"+l.Addr().String()+"/#view=functions", nil)
	must(t, s.Close(), p.Press("5"), p.Wait("!$('banner').hidden"))
	if !eval[bool](t, p, shows("main.square")) ||
		!eval[bool](t, p, "$('banner').textContent.includes('does not answer')") {
		t.Error("what was on screen has gone, or the page does not say why")
	}
	if eval[bool](t, p, "document.body.textContent.includes('Failed to fetch')") {
		t.Error("the words are those of the browser")
	}
	for _, key := range []string{"1", "3", "6", "4"} {
		must(t, p.Press(key), p.Eval("page.drawn", nil))
		if !eval[bool](t, p, shows("main.square")) {
			t.Errorf("key %s: what was on screen has gone", key)
		}
		if have := eval[string](t, p, current); have != "functions" || !eval[bool](t, p, "$('legend').hidden") {
			t.Errorf("key %s: tab %s and its legend are above what was on screen", key, have)
		}
	}
	must(t, p.Press("5"))
	again, err := net.Listen("tcp", l.Addr().String())
	must(t, err)
	s = serve(again)
	defer s.Close()
	must(t, p.Eval("$('again').click()", nil), p.Wait("$('banner').hidden"),
		p.Wait("document.querySelector('table.source')"))
	if have := eval[string](t, p, current); have != "source" {
		t.Errorf("the view that was asked for is there, and tab %s", have)
	}
}
