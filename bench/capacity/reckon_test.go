package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestFleet reckons with round numbers: each process ends a segment a minute, which is 1,440 a day.
func TestFleet(t *testing.T) {
	c := &cost{program: "p", series: 50, stored: 1000, pushed: 6 << 20, rows: 10, tables: 2000, agent: 0.6, read: 0.5}
	have := fleetOf(c, 100, time.Minute)
	want := fleet{objects: 288_000, stored: 144e6, puts: 288_000.0 / 86_400, pushed: 10 << 20, rows: 1.44e6,
		tables: 288e6, agents: 1, report: 72_000, list: 118.8, listKept: 954}
	for name, pair := range map[string][2]float64{"objects": {have.objects, want.objects},
		"stored": {have.stored, want.stored}, "puts": {have.puts, want.puts}, "pushed": {have.pushed, want.pushed},
		"rows": {have.rows, want.rows}, "tables": {have.tables, want.tables}, "agents": {have.agents, want.agents},
		"list": {have.list, want.list}, "listKept": {have.listKept, want.listKept},
		"report": {have.report, want.report}} {
		if math.Abs(pair[0]-pair[1]) > 1e-6*pair[1] {
			t.Errorf("%s: have %g, want %g", name, pair[0], pair[1])
		}
	}
	var text strings.Builder
	if err := show(&text, []*cost{c}, time.Minute); err != nil {
		t.Fatal(err)
	}
	// 100 series, 40 processes that push 100 KiB a second each, 720 s of a report for each, and 1.19 s of a
	// list, or 9.54 s
	if last := strings.Fields(text.String()[strings.LastIndex(text.String(), "\np "):]); last[1] != "100" ||
		last[2] != "40.0" || last[3] != "0.833" || last[4] != "505" || last[5] != "62.9" {
		t.Errorf("have %q", last)
	}
}
