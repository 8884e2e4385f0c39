package view

import (
	"encoding/json"
	"testing"

	"github.com/stemma-go/stemma/internal/page"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// A record of context IDs shows its events as values: what was recorded, in the contexts of the
// IDs. A pasted ID leads to its box.
func TestEventsAreValues(t *testing.T) {
	_, path, before, after := recordtest.Shop(t)
	v, _, err := Open([]string{path}, "")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(question string, args page.Args) (a struct {
		Boxes []struct {
			Total uint64
			Fn    int
		}
		Funcs  []struct{ Name string }
		Values []struct{ Name, Unit string }
		Frames []struct{ Func string }
		Node   string
		Depth  int
	}) {
		t.Helper()
		got, err := v.Answer(question, args)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(got)
		if err == nil {
			err = json.Unmarshal(b, &a)
		}
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	want := map[string]uint64{"alloc": 2, "alloc bytes": 120, "go": 1, "block": 1, "block nanoseconds": 4000}
	for _, value := range ask("info", nil).Values {
		a := ask("flame", page.Args{"metric": {value.Name}})
		if a.Boxes[0].Total != want[value.Name] || a.Boxes[0].Total == 0 {
			t.Errorf("%s: %d, want %d", value.Name, a.Boxes[0].Total, want[value.Name])
		}
		delete(want, value.Name)
	}
	if len(want) > 0 {
		t.Errorf("no values %v", want)
	}
	for _, id := range []string{before, after} { // of one context
		c := ask("context", page.Args{"id": {id}, "metric": {"alloc"}})
		if len(c.Frames) != 4 || c.Node == "" || c.Depth != 4 {
			t.Fatalf("%s: %+v", id, c)
		}
		a := ask("flame", page.Args{"metric": {"alloc"}, "root": {c.Node}})
		if name := a.Funcs[a.Boxes[0].Fn].Name; name != "main.pay" || a.Boxes[0].Total != 2 {
			t.Errorf("the box of %s is %s with %d", id, name, a.Boxes[0].Total)
		}
	}
	if _, err := v.Answer("context", page.Args{"id": {before[:len(before)-1] + "x"}}); err == nil {
		t.Error("a mangled ID stands for something")
	}
}
