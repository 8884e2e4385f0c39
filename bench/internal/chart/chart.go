// Package chart draws figures as SVG.
package chart

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// Sizes of all figures.
const (
	width  = 18 * vg.Centimeter
	height = 11 * vg.Centimeter
)

// Figure is a figure of lines or of bars.
type Figure struct {
	Name       string // of its file, without .svg
	Title      string
	X, Y       string // what the axes show
	LogX, LogY bool   // points that are not positive are left out there
	Steps      bool   // values hold until the next point
	Lines      []Line

	Groups []string // of bars, along the x axis; then there are no lines
	Bars   []Bars
}

// Line is a line through points.
type Line struct {
	Name string
	X, Y []float64 // equally many
}

// Bars are one bar in each group. NaN stands for none.
type Bars struct {
	Name   string
	Values []float64
}

// SVG draws f.
func (f *Figure) SVG(w io.Writer) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.X, f.Y
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	draw := f.lines
	if f.Groups != nil {
		draw = f.bars
	}
	if err := draw(p); err != nil {
		return fmt.Errorf("figure %s: %w", f.Name, err)
	}
	to, err := p.WriterTo(width, height, "svg")
	if err != nil {
		return fmt.Errorf("figure %s: %w", f.Name, err)
	}
	_, err = to.WriteTo(w)
	return err
}

// errEmpty says that there is nothing to draw: axes without points have no range.
var errEmpty = errors.New("no points")

// lines draws lines with their points: where there are few, the points are what was
// measured and the line is for the eye.
func (f *Figure) lines(p *plot.Plot) error {
	empty := true
	for i, l := range f.Lines {
		points := f.points(l)
		if len(points) == 0 {
			continue
		}
		empty = false
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, dots.Color = plotutil.Color(i), plotutil.Color(i)
		line.Dashes, dots.Shape = plotutil.Dashes(i/7), plotutil.Shape(i)
		if f.Steps {
			line.StepStyle = plotter.PostStep
		}
		p.Add(line, dots)
		p.Legend.Add(l.Name, line, dots)
	}
	if empty {
		return errEmpty
	}
	if f.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	if f.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		if p.Y.Min == p.Y.Max { // a constant has no range on a log axis
			p.Y.Min, p.Y.Max = p.Y.Min/2, p.Y.Max*2
		}
	}
	return nil
}

// points returns the points of l that can be drawn.
func (f *Figure) points(l Line) plotter.XYs {
	var xys plotter.XYs
	for i := range l.X {
		x, y := l.X[i], l.Y[i]
		bad := math.IsNaN(x+y) || math.IsInf(x+y, 0)
		if bad || f.LogX && x <= 0 || f.LogY && y <= 0 {
			continue
		}
		xys = append(xys, plotter.XY{X: x, Y: y})
	}
	return xys
}

// bars draws groups of bars beside each other. The width of a bar follows from how
// many there are.
func (f *Figure) bars(p *plot.Plot) error {
	if len(f.Bars) == 0 {
		return errEmpty
	}
	each := 13 * vg.Centimeter / vg.Length(max(1, len(f.Groups)*(len(f.Bars)+1)))
	for i, b := range f.Bars {
		values := make(plotter.Values, len(b.Values))
		for k, v := range b.Values {
			if !math.IsNaN(v) {
				values[k] = v
			}
		}
		chart, err := plotter.NewBarChart(values, each)
		if err != nil {
			return err
		}
		chart.Color, chart.LineStyle.Width = shade(i), 0
		chart.Offset = each * (vg.Length(i) - vg.Length(len(f.Bars)-1)/2)
		p.Add(chart)
		p.Legend.Add(b.Name, chart)
	}
	p.NominalX(f.Groups...)
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign = math.Pi/6, -1
	p.X.Min, p.X.Max = -0.5, float64(len(f.Groups))-0.5
	p.Y.Max *= 1.1 + 0.08*float64(len(f.Bars)) // room for the legend
	return nil
}

// shade returns the color of bar i. There are seven colors; after them come the same,
// but darker, since bars have no dashes to be told apart by.
func shade(i int) color.Color {
	r, g, b, _ := plotutil.Color(i).RGBA()
	dark := uint32(1 + i/7)
	return color.RGBA64{uint16(r / dark), uint16(g / dark), uint16(b / dark), 0xffff}
}
