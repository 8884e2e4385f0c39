package main

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/stemma-go/stemma/bench/internal/table"
)

// Limits of what a fleet works with, of their own documents.
const (
	pyroscopeRate   = 4 << 20 // bytes a second of a tenant, before compression, unless it is told otherwise
	pyroscopeSeries = 5000    // of a tenant, unless it is told otherwise
	bucketPuts      = 3500    // requests a second that S3 takes below one prefix
	listed          = 1000    // objects that S3 names at once: all of a service, since names do not have the day
	kept            = 30      // days that a bucket has, if nobody removes what is older before
	listTime        = 0.1     // seconds for that, about
	getTime         = 0.02    // seconds until S3 has answered what is in a small object, about
	getAtOnce       = 32      // how many are asked for at once
	patience        = 600.0   // seconds that somebody waits for a question over a day
)

// objects are written for a segment: the record and its manifest.
const objects = 2

// show prints what a segment is, what fleets of several sizes are, and which size is too large first.
func show(w io.Writer, costs []*cost, rotate time.Duration) error {
	one := &table.Table{Left: 1, Title: "One segment, on average; the memory is that of a report of all that were " +
		"measured", Head: []string{"program", "segments", "contexts", "stored KB", "pushed KB", "rows", "tables KB",
		"agent ms", "report ms", "report MB"}}
	for _, c := range costs {
		one.Add(c.program, digits(c.segments), digits(c.contexts), digits(c.stored/1e3), digits(c.pushed/1e3),
			digits(c.rows), digits(c.tables/1e3), digits(c.agent*1e3), digits(c.read*1e3), digits(c.memory/1e6))
	}
	if err := one.Text(w); err != nil {
		return err
	}
	many := &table.Table{Left: 1, Title: fmt.Sprint("\nFleets, if a segment ends each ", rotate), Head: []string{
		"program", "processes", "objects a day", "GB a day", "PUT/s", "pushed KB/s", "rows a day",
		"tables GB a day", "agents' CPUs", "a day's list s", fmt.Sprintf("of %d days s", kept), "a day's report CPU s"}}
	first := &table.Table{Left: 1, Title: "\nProcesses at which a default of the server, or the patience of ten " +
		"minutes, is reached", Head: []string{"program", "Pyroscope's series", "Pyroscope's rate", "a report of a day",
		"the list of a day", fmt.Sprintf("in a bucket of %d days", kept), "PUT of one prefix"}}
	for _, c := range costs {
		for _, n := range []float64{10, 1000, 100_000} {
			f := fleetOf(c, n, rotate)
			many.Add(c.program, digits(n), digits(f.objects), digits(f.stored/1e9), digits(f.puts),
				digits(f.pushed/1e3), digits(f.rows), digits(f.tables/1e9), digits(f.agents), digits(f.list),
				digits(f.listKept), digits(f.report))
		}
		f := fleetOf(c, 1, rotate)
		first.Add(c.program, digits(math.Floor(pyroscopeSeries/c.series)), digits(pyroscopeRate/f.pushed),
			digits(patience/f.report), digits(patience/f.list), digits(patience/f.listKept), digits(bucketPuts/f.puts))
	}
	if err := many.Text(w); err != nil {
		return err
	}
	return first.Text(w)
}

// A fleet is what processes do in a day, or a second.
type fleet struct {
	objects, stored, puts, pushed, rows, tables, agents, report float64

	list, listKept float64 // of a bucket with that day alone, and with all days that it keeps
}

// fleetOf returns what n processes do.
func fleetOf(c *cost, n float64, rotate time.Duration) (f fleet) {
	const day = 24 * 60 * 60
	segments := n * day / rotate.Seconds() // of a day
	f.objects, f.stored = objects*segments, c.stored*segments
	f.puts, f.pushed = f.objects/day, c.pushed*segments/day
	f.rows, f.tables = c.rows*segments, c.tables*segments
	f.agents, f.report = c.agent*segments/day, c.read*segments
	names, manifests := f.objects/listed*listTime, segments*getTime/getAtOnce // each manifest of the day is read
	f.list, f.listKept = names+manifests, kept*names+manifests
	return f
}

// digits returns a number with three digits or more.
func digits(x float64) string {
	switch {
	case x >= 1e9:
		return digits(x/1e9) + " G"
	case x >= 1e6:
		return digits(x/1e6) + " M"
	case x == 0 || x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	case x >= 1:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3g", x)
}
