// Package browser drives a headless Chromium, for tests and measurements of the page.
//
// It speaks the browser's DevTools protocol over two pipes: JSON messages that end in a zero
// byte. So nothing listens on a port, and no library is needed.
package browser

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Find returns the path of a Chromium. The error says how to get one.
func Find() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no chromium; install one (Debian: apt-get install chromium)")
}

// A Browser is a running Chromium with one profile. It may be used by several goroutines.
type Browser struct {
	cmd *exec.Cmd
	in  *os.File

	mu      sync.Mutex
	last    int
	waiting map[int]chan message
	pages   map[string]*Page // by session
	ended   error            // why no message comes any more
}

// A message is a call, its answer, or an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Start starts the Chromium at path. It keeps what it writes in dir, which the caller removes after
// Close. Flags come in front of its own.
func Start(path, dir string, flags ...string) (*Browser, error) {
	toRead, toWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromRead, fromWrite, err := os.Pipe()
	if err != nil {
		toRead.Close()
		toWrite.Close()
		return nil, err
	}
	args := append(flags, "--headless", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
		"--user-data-dir="+dir, "--remote-debugging-pipe")
	if os.Getuid() == 0 {
		args = append(args, "--no-sandbox") // it refuses to run otherwise
	}
	b := &Browser{cmd: exec.Command(path, args...), in: toWrite, waiting: make(map[int]chan message),
		pages: make(map[string]*Page)}
	b.cmd.ExtraFiles = []*os.File{toRead, fromWrite} // descriptors 3 and 4
	err = b.cmd.Start()
	toRead.Close()
	fromWrite.Close()
	if err != nil {
		toWrite.Close()
		fromRead.Close()
		return nil, err
	}
	go b.listen(fromRead)
	return b, nil
}

// Close ends the browser.
func (b *Browser) Close() error {
	_ = b.Call("Browser.close", nil, nil) // it may be gone before it answers
	b.in.Close()
	timer := time.AfterFunc(10*time.Second, func() { _ = b.cmd.Process.Kill() })
	defer timer.Stop()
	return b.cmd.Wait()
}

// listen gives answers to those who wait for them, until the browser ends.
func (b *Browser) listen(from *os.File) {
	defer from.Close()
	r := bufio.NewReader(from)
	for {
		text, err := r.ReadBytes(0)
		var m message
		if err == nil {
			err = json.Unmarshal(text[:len(text)-1], &m)
		}
		b.mu.Lock()
		if err != nil {
			b.ended = fmt.Errorf("the browser does not answer any more: %w", err)
			for _, c := range b.waiting {
				close(c)
			}
			b.waiting = nil
			b.mu.Unlock()
			return
		}
		c, page := b.waiting[m.ID], b.pages[m.Session]
		delete(b.waiting, m.ID)
		b.mu.Unlock()
		if m.ID != 0 && c != nil {
			c <- m
		} else if m.Method != "" && page != nil {
			page.event(m)
		}
	}
}

// Call calls a method of the protocol, and puts what it returns into result unless that is nil.
func (b *Browser) Call(method string, params, result any) error {
	return b.call("", method, params, result)
}

func (b *Browser) call(session, method string, params, result any) error {
	m := message{Session: session, Method: method}
	if params != nil {
		var err error
		if m.Params, err = json.Marshal(params); err != nil {
			return err
		}
	}
	c := make(chan message, 1)
	b.mu.Lock()
	if b.ended != nil {
		defer b.mu.Unlock()
		return b.ended
	}
	b.last++
	m.ID = b.last
	b.waiting[m.ID] = c
	text, err := json.Marshal(m)
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	answer, ok := <-c
	switch {
	case !ok:
		return fmt.Errorf("%s: %w", method, b.ended)
	case answer.Error != nil:
		return fmt.Errorf("%s: %s", method, answer.Error.Message)
	case result != nil:
		return json.Unmarshal(answer.Result, result)
	}
	return nil
}

// A Page is a tab.
type Page struct {
	b       *Browser
	session string

	mu   sync.Mutex
	said []string // by the page's script to the console, and what it did not catch
}

// params are those of a call.
type params map[string]any

// Open opens a tab of width by height pixels that has nothing in it yet.
func (b *Browser) Open(width, height int) (*Page, error) {
	var target struct {
		TargetID string `json:"targetId"`
	}
	if err := b.Call("Target.createTarget", params{"url": "about:blank"}, &target); err != nil {
		return nil, err
	}
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	err := b.Call("Target.attachToTarget", params{"targetId": target.TargetID, "flatten": true}, &attached)
	if err != nil {
		return nil, err
	}
	p := &Page{b: b, session: attached.SessionID}
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	for _, method := range []string{"Page.enable", "Runtime.enable", "Log.enable"} {
		if err := p.Call(method, nil, nil); err != nil {
			return nil, err
		}
	}
	return p, p.Resize(width, height)
}

// Resize sets the size of what the page sees as its window.
func (p *Page) Resize(width, height int) error {
	return p.Call("Emulation.setDeviceMetricsOverride",
		params{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// Call calls a method of the protocol for this tab.
func (p *Page) Call(method string, args, result any) error {
	return p.b.call(p.session, method, args, result)
}

// event remembers errors.
func (p *Page) event(m message) {
	switch m.Method {
	case "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled":
		p.mu.Lock()
		p.said = append(p.said, string(m.Params))
		p.mu.Unlock()
	}
}

// Said returns what the page's script has written to the console, exceptions that it did not
// catch, and what the browser found fault with.
func (p *Page) Said() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.said...)
}

// Go goes to an address, and returns before it is there.
func (p *Page) Go(url string) error { return p.Call("Page.navigate", params{"url": url}, nil) }

// Eval evaluates an expression in the page, waits if it is a promise, and puts its value into
// result unless that is nil.
func (p *Page) Eval(expression string, result any) error {
	var answer struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	err := p.Call("Runtime.evaluate",
		params{"expression": expression, "awaitPromise": true, "returnByValue": true}, &answer)
	switch e := answer.Exception; {
	case err != nil:
		return err
	case e != nil:
		return fmt.Errorf("%s: %s %s", expression, e.Text, e.Exception.Description)
	case result != nil && answer.Result.Value != nil:
		return json.Unmarshal(answer.Result.Value, result)
	}
	return nil
}

// patience is how long Wait waits.
const patience = 30 * time.Second

// Wait waits until an expression is true.
func (p *Page) Wait(expression string) error {
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		ok := false
		// While a page is loaded there is nothing to evaluate it in.
		if err = p.Eval("!!("+expression+")", &ok); err == nil && ok {
			return nil
		}
	}
	return fmt.Errorf("after %v not true: %s (%v)", patience, expression, err)
}

// keyCodes are the codes of keys without a character of their own, which the browser needs to
// do what a key does on its own: move the focus, press a button.
var keyCodes = map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, "Backspace": 8, "Home": 36, "End": 35,
	"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "PageUp": 33, "PageDown": 34, " ": 32}

// Press presses keys, one after the other: names as in KeyboardEvent.key, "Shift+" in front.
func (p *Page) Press(keys ...string) error {
	for _, key := range keys {
		name, shift := strings.CutPrefix(key, "Shift+")
		event := params{"type": "keyDown", "key": name, "code": name, "windowsVirtualKeyCode": keyCodes[name]}
		if shift {
			event["modifiers"] = 8
		}
		if len(name) == 1 {
			event["text"] = name
		} else if name == "Enter" {
			event["text"] = "\r"
		}
		if err := p.Call("Input.dispatchKeyEvent", event, nil); err != nil {
			return err
		}
		event["type"] = "keyUp"
		delete(event, "text")
		if err := p.Call("Input.dispatchKeyEvent", event, nil); err != nil {
			return err
		}
	}
	return nil
}

// Wheel turns the wheel of the mouse at a place of the window by so many pixels.
func (p *Page) Wheel(x, y, pixels int) error {
	return p.Call("Input.dispatchMouseEvent",
		params{"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": pixels}, nil)
}

// Screenshot returns what the tab shows, as PNG.
func (p *Page) Screenshot() ([]byte, error) {
	var answer struct {
		Data string `json:"data"`
	}
	if err := p.Call("Page.captureScreenshot", params{"format": "png"}, &answer); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(answer.Data)
}
