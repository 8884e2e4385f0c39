package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	pprof "github.com/google/pprof/profile"
)

// An askedProcess is one that several clients ask for its counts.
type askedProcess struct {
	record  string            // its directory
	sums    map[string]int64  // what it says
	pushes  []int             // by client
	took    [][]time.Duration // until each answer was there, by client
	answers []*pprof.Profile  // the last of each client
}

// ask runs a process that several clients ask for its counts once a second, by the endpoint of package stemmahttp.
// They push what has come since they asked last. They ask a last time when it does no more.
func (f *fleet) ask(ctx context.Context, ends time.Time) error {
	w, err := f.start(counting)
	if err != nil {
		return err
	}
	defer w.kill() // it may have ended
	f.asked = askedProcess{sums: make(map[string]int64), pushes: make([]int, f.options.clients),
		took: make([][]time.Duration, f.options.clients), answers: make([]*pprof.Profile, f.options.clients)}
	stopped := make(chan struct{})
	errs := make([]error, f.options.clients+1)
	var clients sync.WaitGroup
	for i := range f.options.clients {
		clients.Go(func() { errs[i] = f.client(ctx, w, i, stopped) })
	}
	clients.Go(func() { errs[f.options.clients] = f.pprofAsks(ctx, w) })
	sleep(ctx, ends)
	err = w.stop(f.asked.sums)
	f.mu.Lock()
	for name, n := range f.asked.sums {
		f.sums[name] += n
	}
	f.mu.Unlock()
	close(stopped)
	clients.Wait()
	if ctx.Err() != nil {
		return nil
	}
	pattern := filepath.Join(f.records, fmt.Sprintf("%s.%d-*", counting, w.cmd.Process.Pid))
	list, _ := filepath.Glob(pattern) // which is a good one
	if list = runs(list); len(list) != 1 {
		return fmt.Errorf("%d records are called %s, want 1", len(list), pattern)
	}
	f.asked.record = list[0]
	return errors.Join(append(errs, err, w.end())...)
}

// runs leaves the directories of runs, and not those of their segments.
func runs(paths []string) (list []string) {
	for _, path := range paths {
		if strings.Count(filepath.Base(path), ".") == 1 {
			list = append(list, path)
		}
	}
	return list
}

// client asks once a second, and pushes the differences. These wait while Pyroscope is away, and who asks does not.
func (f *fleet) client(ctx context.Context, w *worker, number int, stopped chan struct{}) error {
	waiting, pushed := make(chan *pprof.Profile, 1000), make(chan error)
	go func() {
		var err error
		for since := range waiting {
			if err == nil {
				err = f.deliver(ctx, since, number)
				f.asked.pushes[number]++
			}
		}
		pushed <- err
	}()
	err := f.askOften(ctx, w, number, stopped, waiting)
	close(waiting)
	return errors.Join(err, <-pushed)
}

// askOften asks once a second, and a last time when the process has stopped. Each difference goes to differences.
func (f *fleet) askOften(ctx context.Context, w *worker, number int, stopped chan struct{},
	differences chan<- *pprof.Profile) error {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	var before *pprof.Profile
	for last := false; !last; {
		select {
		case <-ctx.Done():
			return nil
		case <-stopped:
			last = true
		case <-second.C:
		}
		began := time.Now()
		now, err := w.counts(ctx)
		if err != nil {
			return err
		}
		f.asked.took[number] = append(f.asked.took[number], time.Since(began))
		since := now.Copy()
		if before != nil {
			before.Scale(-1)
			if since, err = pprof.Merge([]*pprof.Profile{now, before}); err != nil {
				return err
			}
		}
		before = now.Copy()
		f.asked.answers[number] = now.Copy()
		differences <- since
	}
	return nil
}

// counts asks a process for its calls.
func (w *worker) counts(ctx context.Context) (*pprof.Profile, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/debug/stemma/pprof?metric=calls", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", w.url, answer.Status)
	}
	return pprof.Parse(answer.Body)
}

// deliver pushes a profile until it is there. Pyroscope may be away, and may have it without an answer.
func (f *fleet) deliver(ctx context.Context, p *pprof.Profile, client int) error {
	at := time.Now()
	p.TimeNanos = at.UnixNano()
	p.PeriodType = &pprof.ValueType{Type: "contexts", Unit: "count"}
	var err error
	for try := range 60 {
		if try > 0 {
			sleep(ctx, time.Now().Add(2*time.Second)) // so that what was pushed is shown
			var have map[string]int64
			have, err = f.server.sums(ctx, askedType, fmt.Sprintf(`{client="%d"}`, client), at,
				at.Add(time.Millisecond))
			if err == nil && len(have) > 0 {
				return nil
			}
		}
		if err == nil {
			if err = f.server.push(ctx, p, client); err == nil {
				return nil
			}
		}
	}
	return fmt.Errorf("two minutes without Pyroscope: %w", err)
}

// askedType is the type of profile that clients push.
const askedType = "asked:calls:count:contexts:count"

// pprofAsks lets 'go tool pprof' ask for ten seconds.
func (f *fleet) pprofAsks(ctx context.Context, w *worker) error {
	out := filepath.Join(f.Work, "seconds.pb.gz")
	cmd := exec.CommandContext(ctx, "go", "tool", "pprof", "-seconds=10", "-proto", "-output="+out,
		w.url+"/debug/stemma/pprof?metric=calls")
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+f.Work)
	text, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("go tool pprof: %w\n%s", err, text)
	}
	file, err := os.Open(out)
	if err != nil {
		return err
	}
	defer file.Close()
	p, err := pprof.Parse(file)
	if err != nil {
		return err
	}
	if !strings.Contains(p.String(), "main.step") {
		return errors.New("go tool pprof -seconds=10: no calls of main.step came in ten seconds")
	}
	return nil
}

// goesOn reports whether a process counts in a context when it does no more than answer, and end. stack has the
// innermost function first, and is of those that have started its goroutine as well. In main.main alone a process
// waits for a line, prints, and waits for the next. The collector comes when it likes.
func goesOn(stack []string) bool {
	own := 0 // functions of package main
	for _, name := range stack {
		if name == "net/http.(*Server).Serve" || name == "[gc]" {
			return true
		}
		if strings.HasPrefix(name, "main.") {
			own++
		}
	}
	return own == 1 && len(stack) > 1 && slices.Contains(stack[1:], "main.main")
}

// names returns the stack of a sample, the innermost function first.
func names(s *pprof.Sample) (stack []string) {
	for _, l := range s.Location {
		for _, line := range l.Line {
			stack = append(stack, line.Function.Name)
		}
	}
	return stack
}

// byFunction returns the sums of the contexts that keep, by innermost function.
func byFunction(p *pprof.Profile, keep func(stack []string) bool) map[string]int64 {
	sums := make(map[string]int64)
	for _, s := range p.Sample {
		if stack := names(s); s.Value[0] != 0 && keep(stack) {
			sums[stack[0]] += s.Value[0]
		}
	}
	return sums
}

// byContext is byFunction for each context.
func byContext(p *pprof.Profile, keep func(stack []string) bool) map[string]int64 {
	sums := make(map[string]int64)
	for _, s := range p.Sample {
		if stack := names(s); s.Value[0] != 0 && keep(stack) {
			sums[strings.Join(stack, " < ")] += s.Value[0]
		}
	}
	return sums
}
