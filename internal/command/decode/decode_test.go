package decode

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/safefile"
	"github.com/stemma-go/stemma/internal/testing/level"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// A simulated process is one of many of a few programs: code lies at the same
// addresses, and IDs differ in the run number alone, or hardly.
type simulated struct {
	path string
	ids  []ctxid.ID
	want []string // the functions of each
}

// simulate makes n processes that record below dir.
func simulate(t *testing.T, dir string, n int) (list []simulated) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		p := recordtest.NewProgram(uint64(i), 4)
		run := r.Uint64()
		p.D.Header(func(h *layout.Header) { h.Run = run })
		s := simulated{path: filepath.Join(dir, fmt.Sprintf("prog.%d", i))}
		for range 3 {
			for range 10 {
				p.Act()
			}
			c := p.Capture()
			s.ids = append(s.ids, ctxid.ID{Hi: c.Hi, Lo: c.Lo, Run: run})
			var funcs []string
			for _, f := range c.All() {
				funcs = append(funcs, f.Func)
			}
			s.want = append(s.want, strings.Join(funcs, " "))
		}
		p.D.WriteTo(t, s.path)
		list = append(list, s)
	}
	return list
}

// functions returns the functions of a path.
func functions(path []cct.PathFrame) string {
	var funcs []string
	for _, f := range path {
		funcs = append(funcs, f.Func)
	}
	return strings.Join(funcs, " ")
}

// decodeAll decodes all IDs of all processes, of one after the other by turns.
func decodeAll(t *testing.T, set *Set, processes []simulated) (ids int) {
	t.Helper()
	for i := range processes[0].ids {
		for _, p := range processes {
			stack, err := set.Decode(p.ids[i])
			if err != nil {
				t.Fatalf("%s: %v", p.path, err)
			}
			if have := functions(stack.Path()); have != p.want[i] {
				t.Fatalf("%s: have %s\nwant %s", p.path, have, p.want[i])
			}
			ids++
		}
	}
	return ids
}

// without removes the record of one process. Its IDs are refused, and none is decoded
// with the record of another.
func without(t *testing.T, dir string, p simulated, all int) {
	t.Helper()
	aside := filepath.Join(t.TempDir(), "aside")
	if err := os.Rename(p.path, aside); err != nil {
		t.Fatal(err)
	}
	set, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range p.ids {
		_, err := set.Decode(id)
		want := fmt.Sprintf("ID of run %016x: no record of that run in %s (have %s); name the record of the run that "+
			"wrote the log", id.Run, dir, humanize.Plural(all-1, "run"))
		if err == nil || err.Error() != want {
			t.Fatalf("without %s: have %v, want %s", p.path, err, want)
		}
	}
	if err := os.Rename(aside, p.path); err != nil {
		t.Fatal(err)
	}
	if _, err := set.Decode(p.ids[0]); err != nil {
		t.Errorf("%s is there again: %v", p.path, err)
	}
}

var runs = flag.Int("runs", 0, "decode IDs of `N` processes in TestManyRuns, not 500, or 2000 with -more")

// TestManyRuns decodes the IDs of thousands of processes with the directory that their
// records are in: each to its own stack, or none if its record is removed.
func TestManyRuns(t *testing.T) {
	n := *runs
	if n == 0 {
		n = level.Rounds(500, 2000)
	}
	dir := t.TempDir()
	processes := simulate(t, dir, n)
	set, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	ids := decodeAll(t, set, processes)
	alike := make(map[ctxid.ID]bool)
	for _, p := range processes {
		for _, id := range p.ids {
			id.Run = 0
			alike[id] = true
		}
	}
	t.Logf("%d IDs of %d processes, of which %d differ in more than the run", ids, n, len(alike))
	if len(alike) > ids/2 {
		t.Error("the IDs of processes are hardly alike")
	}
	for i := 0; i < n; i += n / 4 {
		without(t, dir, processes[i], n)
	}
}

// TestSeveralPaths decodes with records that are named one by one, and in two directories.
func TestSeveralPaths(t *testing.T) {
	one, other := t.TempDir(), t.TempDir()
	processes := simulate(t, one, 5)
	for i := range processes[3:] {
		p := &processes[3+i]
		to := filepath.Join(other, filepath.Base(p.path))
		if err := os.Rename(p.path, to); err != nil {
			t.Fatal(err)
		}
		p.path = to
	}
	for _, paths := range [][]string{{one, other}, {processes[0].path, processes[1].path, processes[2].path, other}} {
		set, err := Open(paths...)
		if err != nil {
			t.Fatal(err)
		}
		decodeAll(t, set, processes)
	}
	if _, err := Open(one, "decode_test.go"); err == nil || !strings.Contains(err.Error(), "decode_test.go") {
		t.Errorf("a path that is no record: %v", err)
	}
}

// TestRunsWithout removes the record of each process in turn.
func TestRunsWithout(t *testing.T) {
	dir := t.TempDir()
	processes := simulate(t, dir, 100)
	for _, p := range processes {
		without(t, dir, p, len(processes))
	}
}

// TestRunsClosed lets fewer records be open than the IDs are of.
func TestRunsClosed(t *testing.T) {
	dir := t.TempDir()
	processes := simulate(t, dir, 100)
	set, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	set.limit = 1 << 16
	decodeAll(t, set, processes)
	open := int64(0)
	for _, p := range processes {
		for _, r := range set.byRun[p.ids[0].Run] {
			if r.open != nil {
				open += r.open.Size()
			}
		}
	}
	if open > set.limit || open != set.open {
		t.Errorf("%d bytes of records are open, %d are counted, want at most %d", open, set.open, set.limit)
	}
}

// TestRunGone removes a record that was found but not opened yet.
func TestRunGone(t *testing.T) {
	dir := t.TempDir()
	processes := simulate(t, dir, 2)
	set, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	gone := processes[1]
	if err := os.RemoveAll(gone.path); err != nil {
		t.Fatal(err)
	}
	if _, err := set.Decode(gone.ids[0]); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprintf("(have run %016x)", processes[0].ids[0].Run)) {
		t.Errorf("have %v", err)
	}
}

// TestRunReplaced has another run record into the directory that is named.
func TestRunReplaced(t *testing.T) {
	dir := t.TempDir()
	processes := simulate(t, dir, 2)
	old, next := processes[0], processes[1]
	set, err := Open(old.path)
	if err != nil {
		t.Fatal(err)
	}
	decodeAll(t, set, []simulated{old})
	if _, err := set.Decode(next.ids[0]); err == nil {
		t.Fatal("decoded without its record")
	}
	if err := os.RemoveAll(old.path); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next.path, old.path); err != nil {
		t.Fatal(err)
	}
	decodeAll(t, set, []simulated{next})
	decodeAll(t, set, []simulated{old}) // what was read holds
}

// TestRecordAppears looks for records at the moment at which they come to be: a program makes its live directory, and
// then the files in it.
func TestRecordAppears(t *testing.T) {
	from, dir := t.TempDir(), t.TempDir()
	processes := simulate(t, from, 300)
	set, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	made := make(chan error, 1)
	go func() {
		for _, p := range processes {
			to := filepath.Join(dir, filepath.Base(p.path))
			files, err := filepath.Glob(filepath.Join(p.path, "*"))
			if err == nil {
				err = os.Mkdir(to, 0o700)
			}
			for _, file := range files {
				if err == nil {
					err = os.Rename(file, filepath.Join(to, filepath.Base(file)))
				}
			}
			if err != nil {
				made <- err
				return
			}
		}
		made <- nil
	}()
	for making := true; making; {
		select {
		case err := <-made:
			if err != nil {
				t.Fatal(err)
			}
			making = false
		default:
			set.scan()
		}
	}
	decodeAll(t, set, processes)
}

// TestFetched decodes logs whose records are elsewhere: none is there before an ID asks for it, which is nothing to
// warn of. A log without IDs needs none.
func TestFetched(t *testing.T) {
	_, path, id, _ := recordtest.Shop(t)
	parsed, err := ctxid.Parse(id)
	if err != nil {
		t.Fatal(err)
	}
	other := string(ctxid.Append(nil, ctxid.ID{Hi: parsed.Hi, Lo: parsed.Lo, Run: parsed.Run + 1}))
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		name, text, want, notes, fails string
		paths                          []string // that are fetched
	}{
		{name: "there", text: id + "\n", want: recordtest.ShopLine + "\n", paths: []string{path}},
		{name: "not there", text: id + "\n", want: id + "\n",
			notes: "1 ID cannot be decoded and was left as it is: " + id +
				fmt.Sprintf(": ID of run %016x: no record of that run in file:///x of srv, nor in . and stemma.out "+
					"(have 0 runs); 'stemma collect' beside the program puts it there, a minute or two after the "+
					"program has begun\n", parsed.Run),
			fails: "no ID of the text has a record in the store"},
		{name: "beside one that is there", text: id + " " + other + "\n",
			want: recordtest.ShopLine + " " + other + "\n",
			notes: "1 ID cannot be decoded and was left as it is: " + other +
				fmt.Sprintf(": ID of run %016x: no record of that run in file:///x of srv, nor in . and stemma.out "+
					"(have run %016x); ", parsed.Run+1, parsed.Run),
			paths: []string{path}},
		{name: "no ID", text: "begins\n", want: "begins\n"},
	} {
		set, err := Open()
		if err != nil {
			t.Fatal(err)
		}
		set.Store, set.Fetch = "file:///x of srv", func(...uint64) ([]string, error) { return c.paths, nil }
		var out, notes strings.Builder
		err = set.Translate(&out, &notes, strings.NewReader(c.text), FormatLine)
		if said := strings.TrimPrefix(notes.String(), "stemma: "); out.String() != c.want ||
			!strings.HasPrefix(said, c.notes) || c.notes == "" && said != "" {
			t.Errorf("%s: have %q with notes %q, want %q with %q", c.name, &out, &notes, c.want, c.notes)
		}
		if c.fails == "" && err != nil || c.fails != "" && (err == nil || err.Error() != c.fails) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.fails)
		}
	}
}

// TestFetchedTogether asks a store once for the records of all runs that a piece of a log names, and for none twice.
func TestFetchedTogether(t *testing.T) {
	_, path, id, _ := recordtest.Shop(t)
	parsed, err := ctxid.Parse(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	text := "begins\n"
	for _, more := range []uint64{0, 3, 3, 1, 2, 0, 1} {
		text += string(ctxid.Append(nil, ctxid.ID{Hi: parsed.Hi, Lo: parsed.Lo, Run: parsed.Run + more})) + "\n"
	}
	set, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	var asked [][]uint64
	set.Fetch = func(runs ...uint64) ([]string, error) {
		asked = append(asked, runs)
		return []string{path}, nil
	}
	var out, notes strings.Builder
	if err := set.Translate(&out, &notes, strings.NewReader(text), FormatLine); err != nil {
		t.Error(err)
	}
	want := []uint64{parsed.Run, parsed.Run + 3, parsed.Run + 1, parsed.Run + 2}
	if len(asked) != 1 || !slices.Equal(asked[0], want) {
		t.Errorf("asked for %x, want %x", asked, want)
	}
	if n := strings.Count(out.String(), recordtest.ShopLine); n != 2 {
		t.Errorf("%d IDs were decoded, want 2: %s", n, &out)
	}
}

// TestFetchedGrows decodes IDs of a program that runs, whose record comes from a store: the error of those that are
// younger than what is there tells that, and they are decoded when a later one has come.
func TestFetchedGrows(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	p := recordtest.NewProgram(1, 9)
	act := func(name string) (path string, last ctxid.ID) {
		for range 100 {
			p.Act()
			c := p.Capture()
			last = ctxid.ID{Hi: c.Hi, Lo: c.Lo, Run: recordtest.Run}
		}
		rec, err := record.Open(p.D.FS())
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(dir, "store", name)
		if err := safefile.Write(path, 0o600, rec.Write); err != nil {
			t.Fatal(err)
		}
		return path, last
	}
	if err := os.Mkdir("store", 0o777); err != nil {
		t.Fatal(err)
	}
	first, old := act("growing.0000000000000001.stemma")
	second, young := act("growing.0000000000000002.stemma")
	set, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	there := []string{first}
	set.Fetch = func(...uint64) ([]string, error) { return there, nil }
	if _, err := set.Decode(old); err != nil {
		t.Error(err)
	}
	const want = ": the record in the store may be older than this ID; 'stemma collect' uploads it again while it grows"
	if _, err := set.Decode(young); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
	there = []string{second}
	clear(set.fetched) // a minute later
	if _, err := set.Decode(young); err != nil {
		t.Error(err)
	}
	if records, roots := len(set.byRun[recordtest.Run]), len(set.roots); records != 1 || roots != 3 {
		t.Errorf("%d records are kept, and %d places are looked at, want one and three", records, roots)
	}
}
