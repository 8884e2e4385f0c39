package sqltest

import (
	"database/sql"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/parquet"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// A node is a context of a record with a number of a metric, as the tree has it.
type node struct {
	run, context, parent, fingerprint, function, metric string
	day, hour                                           string
	path                                                []string
	value                                               int64
}

// tenants is a record with labels.
const tenants = `stemma profile 2
record 0 run 00000000000000a9
process 0 args "prog" run 00000000000000a9 pid 9 go "go1.26.8" engine "cct"
func 0 kind root name "root" cells 10 counters 1
func 1 name "main.main" file "main.go" line 3 cells 2 counters 1
	site 0 kind call callee "main.f" file "main.go" line 5 cell 0
	site 1 kind call callee "main.g" file "main.go" line 6 cell 1
func 2 name "main.f" file "main.go" line 20 counters 1
func 3 kind labels name "labels" cells 1 counters 1
	frame 0 func "tenant" file "acme"
func 4 kind labels name "labels" cells 1 counters 1
	frame 0 func "tenant" file "globex"
value 0 name "calls" unit "count" about "the calls" flags perCounter
node 0 calls 0
node 1 func 1 parent 0 calls 1
node 2 func 3 parent 1 calls 0
node 3 func 2 parent 2 calls 5
node 4 func 4 parent 1 calls 0
node 5 func 2 parent 4 calls 8
`

// write writes records of two days to the tables in dir, and returns what they have.
func write(t *testing.T, dir string) (nodes []node) {
	t.Helper()
	texts := []string{tenants}
	for _, name := range []string{"shapes", "allocs", "values"} {
		text, err := os.ReadFile("../../../../profile/testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	w := parquet.NewWriter(dir)
	for i := range 5 {
		for k, text := range texts[(i+1)%3:] { // not each record is there on both days
			p, err := profile.ParseText(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			p.Processes = p.Processes[:1]
			p.Processes[0].Run = uint64(100*i + k + 1)
			p.Processes[0].Start = time.Date(2026, 11, 25, 22, 50+40*i, 0, 0, time.UTC)
			_, err = w.Add(p, parquet.Origin{Service: "prog", Labels: map[string]string{"region": "eu"}})
			if err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, nodesOf(t, p)...)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return nodes
}

// nodesOf returns the nodes of a record that have numbers.
func nodesOf(t *testing.T, p *profile.Profile) (nodes []node) {
	t.Helper()
	for _, c := range p.Columns {
		tree, err := cct.Of(p, c.Name)
		if err != nil {
			t.Fatal(err)
		}
		prints := tree.Fingerprints()
		for i := 1; i < len(tree.Nodes); i++ {
			n := tree.Nodes[i]
			if n.Count == 0 {
				continue
			}
			of, start := prints.Of(uint32(i)), p.Processes[0].Start
			one := node{run: fmt.Sprintf("%016x", p.Processes[0].Run), context: of.Lines.String(),
				parent: prints.Of(n.Parent).Functions.String(), fingerprint: of.Functions.String(),
				function: tree.Funcs[n.Func].Name, metric: c.Name, day: start.Format(time.DateOnly),
				hour: start.Format("02 15"), value: int64(n.Count)}
			for k := uint32(i); k != 0; k = tree.Nodes[k].Parent {
				one.path = append(one.path, tree.Funcs[tree.Nodes[k].Func].Name)
			}
			nodes = append(nodes, one)
		}
	}
	return nodes
}

// answers are what the questions of the page add up, in their order: the keys that a node counts for, and how often.
var answers = []func(n node, yesterday map[string]bool, called string) (keys []string, times int64){
	func(n node, _ map[string]bool, _ string) ([]string, int64) { return []string{n.context}, 1 },
	func(n node, _ map[string]bool, _ string) ([]string, int64) { return []string{n.function}, 1 },
	func(n node, _ map[string]bool, _ string) ([]string, int64) { return distinct(n.path), 1 },
	func(n node, _ map[string]bool, _ string) ([]string, int64) {
		if n.day == "2026-11-26" {
			return []string{n.context}, 1
		}
		return []string{n.context}, -1
	},
	func(n node, yesterday map[string]bool, _ string) ([]string, int64) {
		if n.day == "2026-11-26" && !yesterday[n.context] {
			return []string{n.context}, 1
		}
		return nil, 0
	},
	func(n node, _ map[string]bool, _ string) ([]string, int64) {
		return slices.DeleteFunc(distinct(n.path), func(f string) bool { return !strings.HasPrefix(f, "[tenant=") }), 1
	},
	func(n node, _ map[string]bool, called string) ([]string, int64) {
		if n.parent == called {
			return []string{n.function}, 1
		}
		return nil, 0
	},
	func(n node, _ map[string]bool, _ string) ([]string, int64) { return []string{n.run}, 1 },
	func(n node, _ map[string]bool, _ string) ([]string, int64) { return []string{n.hour}, 1 },
	func(n node, _ map[string]bool, _ string) ([]string, int64) { return []string{n.metric + " eu"}, 1 },
}

func distinct(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// TestQuestions asks DuckDB the questions of docs/guide/fleet-sql.md about tables of records of two days. The answers
// are what the trees of the records add up to, to the unit.
func TestQuestions(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/guide/fleet-sql.md")
	if err != nil {
		t.Fatal(err)
	}
	var queries []string
	for _, m := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		queries = append(queries, m[1])
	}
	if len(queries) != 1+len(answers) {
		t.Fatalf("the page has %d questions behind the views, want %d", len(queries)-1, len(answers))
	}
	dir := t.TempDir() + "/day"
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	nodes := write(t, dir)
	t.Chdir(dir + "/..")
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(queries[0]); err != nil {
		t.Fatal(err)
	}
	yesterday, called := make(map[string]bool), ""
	for _, n := range nodes {
		yesterday[n.context] = yesterday[n.context] || n.metric == "calls" && n.day == "2026-11-25"
		if n.function == "main.main" {
			called = n.fingerprint
		}
	}
	for i, answer := range answers {
		want := make(map[string]int64)
		for _, n := range nodes {
			keys, times := answer(n, yesterday, called)
			if n.metric == "calls" || i == len(answers)-1 {
				for _, key := range keys {
					want[key] += times * n.value
				}
			}
		}
		for key, v := range want {
			if v == 0 {
				delete(want, key)
			}
		}
		have := ask(t, db, strings.ReplaceAll(queries[i+1], "FINGERPRINT", called))
		if fmt.Sprint(have) != fmt.Sprint(want) || len(want) == 0 || len(want) >= 50 {
			t.Errorf("question %d: have\n%v\nwant\n%v", i+1, have, want)
		}
	}
}

// ask returns the last column of an answer by the first.
func ask(t *testing.T, db *sql.DB, query string) map[string]int64 {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	have := make(map[string]int64)
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		key, sum := fmt.Sprint(*values[0].(*any)), fmt.Sprint(*values[len(values)-1].(*any))
		var n int64
		if _, err := fmt.Sscan(sum, &n); err != nil {
			t.Fatalf("%s: %q: %v", query, sum, err)
		}
		have[key] = n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return have
}
