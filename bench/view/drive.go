package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/testing/browser"
)

// A frame is the time from one frame to the next, and what was done meanwhile.
type frame struct {
	took   time.Duration
	during string
}

// measured is what was seen of a page.
type measured struct {
	read   time.Duration // from the start of the command until it serves
	paint  time.Duration // from the request until the graph was drawn
	worst  frame
	median time.Duration
	frames int
	steps  int

	memory   int // bytes, without the code of the browser that all its processes share
	resident int // with it
}

// A server is a stemma view that serves a page.
type server struct {
	cmd *exec.Cmd
	url string
}

// serve starts stemma view and waits until it serves.
func serve(stemma string, args ...string) (*server, error) {
	s := &server{cmd: exec.Command(stemma, append([]string{"view", "-http=127.0.0.1:0"}, args...)...)}
	s.cmd.Env = append(os.Environ(), "DISPLAY=", "WAYLAND_DISPLAY=") // it shall open no browser
	out, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said = append(said, lines.Text())
		if _, after, ok := strings.Cut(lines.Text(), "serving "); ok {
			s.url, _, _ = strings.Cut(after, ";")
			return s, nil
		}
	}
	s.close()
	return nil, fmt.Errorf("stemma view: %s", strings.Join(said, "\n"))
}

func (s *server) close() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
}

// watch notes the time between frames, with what is done at that time, and what
// long ones were spent on.
const watch = `
window.during = 'load'; window.paintedAt = 0; window.gaps = []; window.slow = [];
{
  let last = performance.now();
  const frame = () => {
    const now = performance.now();
    gaps.push([now - last, window.during]);
    last = now;
    if (window.painted && !window.paintedAt) window.paintedAt = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  new PerformanceObserver(list => {
    for (const e of list.getEntries())
      slow.push(window.during + ': ' + e.duration.toFixed() + ' ms; styles, layout and paint ' +
        (e.startTime + e.duration - e.styleAndLayoutStart).toFixed() + ' ms; ' +
        e.scripts.map(s => (s.sourceFunctionName || s.invoker) + ' ' + s.duration.toFixed() + ' ms, forced layout ' +
          s.forcedStyleAndLayoutDuration.toFixed() + ' ms').join(', '));
  }).observe({ type: 'long-animation-frame', buffered: true });
}`

// settled waits until all keys have been followed and what they ask for is on screen.
const settled = "page.typed.then(() => page.drawn).then(() => new Promise(requestAnimationFrame)).then(() => 0)"

// measure opens a record and goes through the views.
func (o *options) measure(b *browser.Browser, stemma, record string) (*measured, error) {
	begin := time.Now()
	s, err := serve(stemma, record)
	if err != nil {
		return nil, err
	}
	defer s.close()
	m := &measured{read: time.Since(begin)}
	p, err := b.Open(1280, 800)
	if err != nil {
		return nil, err
	}
	if err := p.Call("Page.addScriptToEvaluateOnNewDocument", map[string]string{"source": watch}, nil); err != nil {
		return nil, err
	}
	if err := errors.Join(p.Go(s.url), p.Wait("window.paintedAt")); err != nil {
		return nil, err
	}
	d := &driven{Page: p, b: b}
	if err := d.walk(); err != nil {
		return nil, err
	}
	if err := m.take(p, d.steps); err != nil {
		return nil, err
	}
	if o.slow {
		var slow []string
		if err := p.Eval("slow", &slow); err != nil {
			return nil, err
		}
		fmt.Println(strings.Join(slow, "\n"))
	}
	m.memory = d.memory
	if _, m.resident, err = memory(b); err != nil {
		return nil, err
	}
	if said := p.Said(); len(said) > 0 {
		return nil, fmt.Errorf("the page has something to say: %s", said)
	}
	return m, nil
}

// take takes the times that the page has noted.
func (m *measured) take(p *browser.Page, steps int) error {
	var seen struct {
		Paint float64
		Gaps  [][2]any
	}
	if err := p.Eval("({paint: paintedAt, gaps: gaps})", &seen); err != nil {
		return err
	}
	ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
	m.paint, m.steps = ms(seen.Paint), steps
	var all []time.Duration
	for _, g := range seen.Gaps {
		took, ok := g[0].(float64)
		during, _ := g[1].(string)
		if !ok || during == "load" {
			continue
		}
		all = append(all, ms(took))
		if ms(took) > m.worst.took {
			m.worst = frame{ms(took), during}
		}
	}
	if len(all) == 0 {
		return errors.New("no frames")
	}
	slices.Sort(all)
	m.frames, m.median = len(all), all[len(all)/2]
	return nil
}

// memory returns what the largest process of a tab has in memory at this moment, and had at its
// peak with the browser's own code, both in bytes. The other tabs are empty.
func memory(b *browser.Browser) (now, peak int, err error) {
	var info struct {
		ProcessInfo []struct {
			Type string `json:"type"`
			ID   int    `json:"id"`
		} `json:"processInfo"`
	}
	if err := b.Call("SystemInfo.getProcessInfo", nil, &info); err != nil {
		return 0, 0, err
	}
	for _, p := range info.ProcessInfo {
		if p.Type != "renderer" {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.ID))
		if err != nil {
			return 0, 0, err
		}
		sizes := make(map[string]int)
		for line := range strings.SplitSeq(string(text), "\n") {
			if name, kb, ok := strings.Cut(line, ":"); ok && strings.HasSuffix(kb, " kB") {
				n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(kb, " kB")))
				sizes[name] = n << 10
			}
		}
		now, peak = max(now, sizes["RssAnon"]+sizes["RssShmem"]), max(peak, sizes["VmHWM"])
	}
	return now, peak, nil
}

// photograph writes pictures: light, dark, narrow, compared.
func (o *options) photograph(b *browser.Browser, stemma, now, was string) error {
	for _, shot := range []struct {
		name, link    string
		width, height int
		base          bool
	}{
		{"light", "#theme=light", 1600, 900, false},
		{"dark", "#theme=dark&view=icicle", 1600, 900, false},
		{"narrow", "#theme=light&view=sandwich", 1280, 720, false},
		{"functions", "#theme=light&view=functions", 1280, 720, false},
		{"diff", "#theme=light&view=icicle", 1280, 800, true},
		{"diff-dark", "#theme=dark&view=functions", 1280, 800, true},
	} {
		args := []string{now}
		if shot.base {
			args = []string{"-base", was, now}
		}
		if shot.base && was == "" {
			continue
		}
		if err := photo(b, stemma, args, shot.link, shot.width, shot.height,
			filepath.Join(o.shots, shot.name+".png")); err != nil {
			return fmt.Errorf("%s: %w", shot.name, err)
		}
	}
	return nil
}

// photo writes one picture of a page that is served for it.
func photo(b *browser.Browser, stemma string, args []string, link string, width, height int, path string) error {
	s, err := serve(stemma, args...)
	if err != nil {
		return err
	}
	defer s.close()
	p, err := b.Open(width, height)
	if err != nil {
		return err
	}
	if err := errors.Join(p.Go(s.url+link), p.Wait("window.painted"), p.Eval(settled, nil)); err != nil {
		return err
	}
	png, err := p.Screenshot()
	if err != nil {
		return err
	}
	return os.WriteFile(path, png, 0o666)
}

// driven is a page that is gone through.
type driven struct {
	*browser.Page
	b      *browser.Browser
	steps  int
	memory int   // most that was seen between the parts of the walk
	err    error // the first one; nothing is done after it
}

// do notes what is done from now on, and does it.
func (d *driven) do(what string, does func()) {
	if d.err == nil {
		d.err = d.Eval(fmt.Sprintf("window.during = %q", what), nil)
	}
	does()
	now, _, err := memory(d.b)
	d.memory, d.err = max(d.memory, now), errors.Join(d.err, err)
}

// press presses keys, each when what the one before asks for is on screen.
func (d *driven) press(keys ...string) {
	for _, key := range keys {
		d.steps++
		if d.err == nil {
			d.err = errors.Join(d.Press(key), d.Eval(settled, nil))
		}
	}
}

// scroll turns the wheel n times, at the pace of a hand.
func (d *driven) scroll(n, pixels int) {
	for range n {
		d.steps++
		if d.err == nil {
			d.err = d.Wheel(640, 400, pixels)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// script calls something in the page.
func (d *driven) script(expression string) {
	d.steps++
	if d.err == nil {
		d.err = errors.Join(d.Eval(expression, nil), d.Eval(settled, nil))
	}
}

// walk goes through all views: into the graphs and out again, up and down.
func (d *driven) walk() error {
	for _, view := range []struct{ key, name string }{
		{"1", "flame"}, {"2", "icicle"}, {"6", "goroutines"}, {"3", "sandwich"},
	} {
		inward := "ArrowDown"
		if view.name == "flame" {
			inward = "ArrowUp"
		}
		d.do(view.name+", shown", func() { d.press(view.key) })
		d.do(view.name+", zoom in", func() {
			for range 8 {
				d.press(inward, inward, "ArrowRight", inward, "Enter")
			}
		})
		d.do(view.name+", scroll", func() { d.scroll(30, 120); d.scroll(30, -120) })
		d.do(view.name+", rest opened", func() {
			const plot = "page.plots.at(-1)"
			d.script(plot + ".items.some(i => i.rest) && " + plot + ".open(" + plot + ".items.find(i => i.rest))")
		})
		d.do(view.name+", zoom out", func() {
			for range 20 {
				d.press("Escape")
			}
			d.press(view.key, "Home")
		})
		d.do(view.name+", keys", func() {
			for range 25 {
				d.press(inward, "ArrowRight")
			}
		})
	}
	d.do("functions, shown", func() { d.press("4") })
	d.do("functions, scroll", func() { d.scroll(30, 400) })
	d.do("functions, more", func() { d.script("document.querySelector('tr.rest button').click()") })
	d.do("functions, scroll", func() { d.scroll(60, 600) })
	d.do("source, shown", func() { d.press("5") })
	d.do("search", func() { d.press("1"); d.script("search('doWork12')"); d.press("n", "n", "N") })
	d.do("dark", func() { d.press("t", "t") })
	d.do("resized", func() { d.err = errors.Join(d.err, d.Resize(1920, 1080)) })
	time.Sleep(200 * time.Millisecond)
	return d.err
}
