package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// lost shows what Pyroscope alone loses of what it has acknowledged, when a signal ends it while others push. Nothing
// of stemma takes part. A push is one profile of one call.
func lost(ctx context.Context, o options) error {
	t := &table.Table{Title: "What Pyroscope has after its end", Left: 2,
		Head: []string{"storage", "ended by", "acknowledged before", "acknowledged", "shown", "lost"}}
	for _, storage := range []string{"default", "v2"} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			o.classic = storage == "default"
			before, all, shown, err := losing(ctx, o, sig)
			if err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "fleet: storage %s, %v: %d acknowledged, %d shown\n", storage, sig, all, shown)
			t.Add(storage, sig.String(), fmt.Sprint(before), fmt.Sprint(all), fmt.Sprint(shown),
				fmt.Sprint(max(0, all-shown)))
		}
	}
	return t.Text(os.Stdout)
}

// losing pushes for some seconds, ends Pyroscope by a signal, starts it again, and returns what it has acknowledged
// before the signal and in all, and what it shows.
func losing(ctx context.Context, o options, sig syscall.Signal) (before, all, shown int64, err error) {
	work, err := os.MkdirTemp("", "fleet-lost-")
	if err != nil {
		return 0, 0, 0, err
	}
	defer os.RemoveAll(work)
	f := &fleet{options: o, Lab: &lab.Lab{Work: work}, began: time.Now()}
	if err := errors.Join(os.Mkdir(filepath.Join(work, "pyroscope"), 0o777), f.describeServers()); err != nil {
		return 0, 0, 0, err
	}
	defer f.pyroscope.end(syscall.SIGKILL)
	if err := f.pyroscope.start(ctx); err != nil {
		return 0, 0, 0, err
	}
	pushing, stop := context.WithCancel(ctx)
	defer stop()
	acknowledged := make([]acks, 4)
	var pushers sync.WaitGroup
	for i := range acknowledged {
		pushers.Go(func() { f.pushOnes(pushing, i, &acknowledged[i]) })
	}
	sleep(ctx, time.Now().Add(5*time.Second))
	before = sum(acknowledged)
	f.pyroscope.end(sig)
	if err := f.pyroscope.start(ctx); err != nil {
		return 0, 0, 0, err
	}
	// It takes pushes some time after it says that it is ready.
	for since, until := sum(acknowledged), time.Now().Add(time.Minute); sum(acknowledged) < since+20 &&
		time.Now().Before(until) && ctx.Err() == nil; {
		sleep(ctx, time.Now().Add(100*time.Millisecond))
	}
	stop()
	pushers.Wait()
	sleep(ctx, time.Now().Add(5*time.Second)) // for what it shows late
	have, err := f.server.sums(ctx, askedType, `{service_name="asked"}`, f.began, time.Now().Add(time.Minute))
	return before, sum(acknowledged), have["one"], err
}

// acks counts what was acknowledged.
type acks struct {
	mu sync.Mutex
	n  int64
}

func sum(list []acks) (n int64) {
	for i := range list {
		list[i].mu.Lock()
		n += list[i].n
		list[i].mu.Unlock()
	}
	return n
}

// pushOnes pushes profiles of one call, each at a millisecond of its own, until ctx is done. It pushes none again.
func (f *fleet) pushOnes(ctx context.Context, pusher int, to *acks) {
	one := &pprof.Function{ID: 1, Name: "one"}
	where := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: one}}}
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "calls", Unit: "count"}}, Period: 1,
		PeriodType: &pprof.ValueType{Type: "contexts", Unit: "count"},
		Sample:     []*pprof.Sample{{Location: []*pprof.Location{where}, Value: []int64{1}}},
		Location:   []*pprof.Location{where}, Function: []*pprof.Function{one}}
	for ctx.Err() == nil {
		p.TimeNanos = time.Now().UnixNano()
		if f.server.push(context.WithoutCancel(ctx), p, pusher) == nil {
			to.mu.Lock()
			to.n++
			to.mu.Unlock()
		}
		sleep(ctx, time.Now().Add(5*time.Millisecond))
	}
}
