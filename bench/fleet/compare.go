package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"
	"github.com/parquet-go/parquet-go"

	"github.com/stemma-go/stemma/bench/internal/table"
)

// Sums are those of all functions, for each metric.
type sums map[string]map[string]int64

// kinds are the metrics that are compared, and where the programs themselves have counted: under what name, and in
// which function.
var kinds = []struct{ metric, unit, said, function string }{
	{"calls", "count", "calls", "main.step"},
	{"alloc_objects", "count", "objects", "new(main.object)"},
	{"alloc_space", "bytes", "", ""},
}

// compare compares what the programs, their records, the bucket, Pyroscope, the collector and the tables have.
func (f *fleet) compare(ctx context.Context) error {
	t := &table.Table{Title: fmt.Sprintf("Sums of %d runs", f.runs), Left: 2,
		Head: []string{"metric", "where", "functions", "sum", "said by the programs", "differs"}}
	var errs []error
	var want sums // of the records
	for _, place := range []struct {
		name string
		read func(ctx context.Context) (sums, error)
	}{{"records", f.ofRecords}, {"bucket", f.ofBucket}, {"Parquet", f.ofTables}, {"collector", f.ofCollector},
		{"Pyroscope", f.ofPyroscope}} {
		if place.name == "collector" && f.otlp == "" {
			continue
		}
		have, err := place.read(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", place.name, err))
			continue
		}
		if want == nil {
			want = have
		}
		for _, k := range kinds {
			wanted := want[k.metric]
			if place.name == "Pyroscope" {
				wanted = shown(wanted)
			}
			said, differ := "", differences(have[k.metric], wanted)
			if k.said != "" {
				said = fmt.Sprint(f.sums[k.said])
				if have[k.metric][k.function] != f.sums[k.said] {
					differ = append(differ, k.function)
				}
			}
			t.Add(k.metric, place.name, fmt.Sprint(len(have[k.metric])), fmt.Sprint(total(have[k.metric])), said,
				fmt.Sprint(len(differ)))
			if len(differ) > 0 && !(f.classic && place.name == "Pyroscope") {
				errs = append(errs, fmt.Errorf("%s: %d functions have other %s than in the records or said, such as %s",
					place.name, len(differ), k.metric, differ[0]))
			}
		}
	}
	errs = append(errs, t.Text(os.Stdout), f.compareAsked(ctx), f.decode(ctx))
	return errors.Join(errs...)
}

// shapes are type arguments, which Pyroscope cuts off, up to the last bracket of a name.
var shapes = regexp.MustCompile(`\[go\.shape.*\]`)

// shown returns numbers under the names that Pyroscope gives functions.
func shown(of map[string]int64) map[string]int64 {
	sums := make(map[string]int64)
	for name, n := range of {
		sums[shapes.ReplaceAllString(name, "[...]")] += n
	}
	return sums
}

// differences returns the functions that have another number.
func differences(have, want map[string]int64) (names []string) {
	for name, n := range have {
		if want[name] != n {
			names = append(names, name)
		}
	}
	for name := range want {
		if _, ok := have[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func total(of map[string]int64) (sum int64) {
	for _, n := range of {
		sum += n
	}
	return sum
}

// compareAsked compares what clients have pushed with their last answers: all functions. It compares these with the
// record of the process that they asked: all contexts in which it does not go on to count afterwards, since it answers
// the last requests, and ends.
func (f *fleet) compareAsked(ctx context.Context) error {
	pushed := &table.Table{Title: "What clients have pushed of one process", Left: 1,
		Head: []string{"client", "pushes", "seconds", "ms for an answer, median", "most", "functions", "calls",
			"in the last answer", "differs"}}
	recorded := &table.Table{Title: "What clients have been told, but for who answers them", Left: 1,
		Head: []string{"client", "functions", "contexts", "calls", "in the record", "differs"}}
	text, err := f.tool(ctx, nil, "export", "-format=pprof", "-metric=calls", f.asked.record)
	if err != nil {
		return err
	}
	record, err := pprof.ParseData(text)
	if err != nil {
		return err
	}
	every, work := func([]string) bool { return true }, func(stack []string) bool { return !goesOn(stack) }
	want := byContext(record, work)
	var errs []error
	if steps := byFunction(record, every)["main.step"]; steps != f.asked.sums["calls"] {
		errs = append(errs, fmt.Errorf("the process that is asked has recorded %d calls of main.step, and counted %d",
			steps, f.asked.sums["calls"]))
	}
	for i, answer := range f.asked.answers {
		have, err := f.server.sums(ctx, askedType, fmt.Sprintf(`{client="%d"}`, i), f.began, time.Now())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		told, name := shown(byFunction(answer, every)), fmt.Sprint(i)
		differ := differences(have, told)
		took := slices.Sorted(slices.Values(f.asked.took[i]))
		pushed.Add(name, fmt.Sprint(f.asked.pushes[i]), fmt.Sprintf("%.0f", f.time.Seconds()),
			fmt.Sprint(took[len(took)/2].Milliseconds()), fmt.Sprint(took[len(took)-1].Milliseconds()),
			fmt.Sprint(len(have)), fmt.Sprint(total(have)), fmt.Sprint(total(told)), fmt.Sprint(len(differ)))
		if len(differ) > 0 && !f.classic {
			errs = append(errs, fmt.Errorf("client %d: %d functions have other calls than in the last answer, such as "+
				"%s", i, len(differ), differ[0]))
		}
		told = byContext(answer, work)
		differ = differences(told, want)
		recorded.Add(name, fmt.Sprint(len(byFunction(answer, work))), fmt.Sprint(len(told)), fmt.Sprint(total(told)),
			fmt.Sprint(total(want)), fmt.Sprint(len(differ)))
		for _, context := range differ {
			errs = append(errs, fmt.Errorf("client %d: the last answer has %d calls, and the record %d: %s", i,
				told[context], want[context], context))
		}
	}
	return errors.Join(append(errs, pushed.Text(os.Stdout), recorded.Text(os.Stdout))...)
}

// tool runs a command of stemma, which finds stemma-fleet.
func (f *fleet) tool(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, f.Stemma, args...)
	cmd.Stdin = in
	cmd.Env = append(append(os.Environ(), credentials...), "PATH="+f.bin("")+":"+os.Getenv("PATH"),
		"XDG_CACHE_HOME="+f.Work)
	text, err := cmd.Output()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		err = fmt.Errorf("stemma %q: %w\n%s", args, err, failed.Stderr)
	}
	return text, err
}

// report reads what 'stemma report' prints.
func (f *fleet) report(ctx context.Context, args ...string) (sums, error) {
	all := make(sums)
	for _, k := range kinds {
		text, err := f.tool(ctx, nil, append([]string{"report", "-json", "-top=-1", "-metric=" + k.metric}, args...)...)
		if err != nil {
			return nil, err
		}
		var r struct {
			Functions []struct {
				Name  string
				Calls int64
			}
		}
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, err
		}
		all[k.metric] = make(map[string]int64)
		for _, one := range r.Functions {
			if one.Calls != 0 {
				all[k.metric][one.Name] += one.Calls
			}
		}
	}
	return all, nil
}

func (f *fleet) ofRecords(ctx context.Context) (sums, error) {
	list, err := filepath.Glob(filepath.Join(f.records, counting+".*"))
	if err != nil {
		return nil, err
	}
	return f.report(ctx, runs(list)...)
}

func (f *fleet) ofBucket(ctx context.Context) (sums, error) {
	return f.report(ctx, "-store", f.store, "-service="+counting)
}

func (f *fleet) ofPyroscope(ctx context.Context) (sums, error) {
	all := make(sums)
	for _, k := range kinds {
		name := k.metric
		if strings.HasPrefix(name, "alloc_") {
			name = "stemma_" + name // of Go's own Pyroscope mends the stacks
		}
		have, err := f.server.sums(ctx, "stemma:"+name+":"+k.unit+":contexts:count",
			`{service_name="`+counting+`"}`, f.began, time.Now())
		if err != nil {
			return nil, err
		}
		all[k.metric] = have
	}
	return all, nil
}

// A number is one that JSON has as text or as a number.
type number int64

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseInt(strings.Trim(string(text), `"`), 10, 64)
	*n = number(v)
	return err
}

// exported is what the collector writes of a request, as JSON.
type exported struct {
	ResourceProfiles []struct {
		ScopeProfiles []struct {
			Profiles []struct {
				ProfileID  string
				SampleType struct{ TypeStrindex int }
				Samples    []struct {
					StackIndex int
					Values     []number
				}
			}
		}
	}
	Dictionary struct {
		StringTable   []string
		StackTable    []struct{ LocationIndices []int }
		LocationTable []struct{ Lines []struct{ FunctionIndex int } }
		FunctionTable []struct{ NameStrindex int }
	}
}

// ofCollector adds up what has come, each profile once.
func (f *fleet) ofCollector(context.Context) (sums, error) {
	file, err := os.Open(f.exported())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	all, seen := make(sums), make(map[string]bool)
	for d := json.NewDecoder(file); ; {
		var r exported
		err := d.Decode(&r)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		of := &r.Dictionary
		for _, resource := range r.ResourceProfiles {
			for _, scope := range resource.ScopeProfiles {
				for _, p := range scope.Profiles {
					metric := of.StringTable[p.SampleType.TypeStrindex]
					if seen[p.ProfileID] {
						continue
					}
					seen[p.ProfileID] = true
					if all[metric] == nil {
						all[metric] = make(map[string]int64)
					}
					for _, one := range p.Samples {
						leaf := of.LocationTable[of.StackTable[one.StackIndex].LocationIndices[0]].Lines[0]
						all[metric][of.StringTable[of.FunctionTable[leaf.FunctionIndex].NameStrindex]] +=
							int64(one.Values[0])
					}
				}
			}
		}
	}
}

// ofTables writes tables of what is in the bucket, and adds them up.
func (f *fleet) ofTables(ctx context.Context) (sums, error) {
	dir := filepath.Join(f.Work, "tables")
	if _, err := f.tool(ctx, nil, "export", "-format=parquet", "-o="+dir, "-store", f.store,
		"-service="+counting); err != nil {
		return nil, err
	}
	functions := make(map[string]string)
	if err := rows(dir, "contexts-*", func(c struct {
		Context  string `parquet:"context"`
		Function string `parquet:"function"`
	}) {
		functions[c.Context] = c.Function
	}); err != nil {
		return nil, err
	}
	all := make(sums)
	return all, rows(dir, "values-*", func(v struct {
		Context string `parquet:"context"`
		Metric  string `parquet:"metric"`
		Value   int64  `parquet:"value"`
	}) {
		if all[v.Metric] == nil {
			all[v.Metric] = make(map[string]int64)
		}
		all[v.Metric][functions[v.Context]] += v.Value
	})
}

// rows calls do with each row of some tables.
func rows[T any](dir, pattern string, do func(T)) error {
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return err
	}
	for _, file := range files {
		list, err := parquet.ReadFile[T](file)
		if err != nil {
			return err
		}
		for _, one := range list {
			do(one)
		}
	}
	return nil
}

// decode decodes all logs from the bucket.
func (f *fleet) decode(ctx context.Context) error {
	if f.loggers == 0 {
		return nil
	}
	ids := 0
	var text bytes.Buffer
	for _, log := range f.logs {
		lines, err := os.ReadFile(log)
		if err != nil {
			return err
		}
		text.Write(lines)
		ids += bytes.Count(lines, []byte(" ctx=stm"))
	}
	out, err := f.tool(ctx, &text, "decode", "-store", f.store)
	if err != nil {
		return err
	}
	decoded := bytes.Count(out, []byte(` ctx="main.request `))
	fmt.Printf("%d of %d IDs in %d logs are decoded\n", decoded, ids, len(f.logs))
	if decoded != ids || ids == 0 && f.loggers > 0 {
		return fmt.Errorf("%d of %d IDs are decoded", decoded, ids)
	}
	return nil
}
