package encoder

import "errors"

// A PCC hashes contexts (Bond and McKinley, OOPSLA 2007): a callee's value is
// three times its caller's and the call site. It keeps nothing but a value for
// each frame and cannot be decoded; different contexts may have one value.
type PCC struct {
	running map[Goroutine]*pccStack
	calls   uint64
}

type pccStack struct {
	frames []pccFrame
	root   int // 1 if the first frame is that of Root
}

type pccFrame struct {
	f     Func
	value uint64
}

// NewPCC returns the encoder.
func NewPCC() *PCC {
	p := &PCC{running: make(map[Goroutine]*pccStack)}
	p.Start(Main)
	return p
}

// Name implements [Encoder].
func (p *PCC) Name() string { return "pcc" }

// step returns the callee's frame. Sites count from 1, so that each one changes
// the value. The target of a dynamic site is not hashed, as the paper has it: the
// function is part of the context.
func (p *PCC) step(g Goroutine, site Site, callee Func) pccFrame {
	frames := p.running[g].frames
	return pccFrame{callee, 3*frames[len(frames)-1].value + uint64(site) + 1}
}

// Call implements [Encoder].
func (p *PCC) Call(g Goroutine, site Site, callee Func) {
	s := p.running[g]
	s.frames = append(s.frames, p.step(g, site, callee))
	p.calls++
}

// Unwind implements [Encoder].
func (p *PCC) Unwind(g Goroutine, depth int) {
	s := p.running[g]
	s.frames = s.frames[:s.root+depth]
}

// Start implements [Encoder].
func (p *PCC) Start(g Goroutine) { p.running[g] = &pccStack{make([]pccFrame, 1), 1} }

// Go implements [Encoder].
func (p *PCC) Go(g Goroutine, site Site, entry Func, child Goroutine) {
	p.running[child] = &pccStack{[]pccFrame{p.step(g, site, entry)}, 0}
}

// Exit implements [Encoder].
func (p *PCC) Exit(g Goroutine) { delete(p.running, g) }

// Reencode implements [Encoder]: there is nothing to do.
func (p *PCC) Reencode() {}

// Capture implements [Encoder].
func (p *PCC) Capture(g Goroutine) Context {
	frames := p.running[g].frames
	f := frames[len(frames)-1]
	return Context{Func: f.f, ID: f.value}
}

// ErrNotDecodable is what [PCC.Decode] returns.
var ErrNotDecodable = errors.New("a pcc value cannot be decoded")

// Decode implements [Encoder].
func (p *PCC) Decode(Context) ([]Call, error) { return nil, ErrNotDecodable }

// Stats implements [Encoder].
func (p *PCC) Stats() Stats { return Stats{Calls: p.calls} }
