package recordtest

import (
	"path/filepath"
	"testing"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// What the first ID of Shop is decoded to, in one line and in two for each frame.
const (
	ShopLine  = "main.pay pay.go:12 ← main.serve serve.go:40 ←go main.main main.go:9 ← [main]"
	ShopStack = "\tmain.pay\n\t\t/src/pay.go:12\n\tmain.serve\n\t\t/src/serve.go:40\n\tstarted " +
		"by\n\tmain.main\n\t\t/src/main.go:9\n\t[main]\n"
)

// Shop is the directory of main.main → main.serve → main.pay in a goroutine of its
// own, and the texts of two IDs: in main.pay, before and after a re-encoding.
func Shop(t testing.TB) (d *Contexts, path string, before, after string) {
	return ShopOf(t, "main.pay", "/src/pay.go")
}

// ShopOf is Shop with another name, in another file, for main.pay.
func ShopOf(t testing.TB, name, file string) (d *Contexts, path string, before, after string) {
	d = NewContexts("shop", "-v")
	site := func(line int, kind byte) Site { return Site{Kind: kind, Line: line, Cell: 1} }
	mainF := d.Func(Func{Name: "main.main", Files: []string{"/src/main.go"}, Sites: []Site{site(9, layout.SiteGo)}})
	serve := d.Func(Func{Name: "main.serve", Files: []string{"/src/serve.go"}, Sites: []Site{site(40,
		layout.SiteCall)}})
	pay := d.Func(Func{Name: name, Files: []string{file}, Sites: []Site{site(12, layout.SiteCall)}})
	root := d.Intern(Interned{Kind: layout.InternRoot, Place: layout.RootMain, Target: mainF})
	start := d.Intern(Interned{Parent: root, Kind: layout.InternGo, Place: d.Return(mainF, 0), Target: serve})
	call := d.Intern(Interned{Parent: start, Place: d.Return(serve, 0), Target: pay})
	d.Epoch(1, []EpochFunc{{Func: serve, NumCC: 1}, {Func: pay, NumCC: 1}}, []EpochSite{{Func: serve, Target: pay}})
	hi, lo := d.ID(call, 0, 0, d.Return(pay, 0))
	hi2, lo2 := d.ID(start, 0, 1, d.Return(pay, 0))
	d.AddEvent(Event{Kind: layout.EventAlloc, Value: 100, Time: 1, Hi: hi, Lo: lo})
	d.AddEvent(Event{P: 1, Kind: layout.EventAlloc, Value: 20, Time: 2, Hi: hi2, Lo: lo2})
	d.AddEvent(Event{P: 1, Kind: layout.EventGo, Value: 7, Time: 3, Hi: hi2, Lo: lo2})
	hi3, lo3 := d.ID(root, 0, 0, d.Return(mainF, 0))
	d.AddEvent(Event{P: 1, Kind: layout.EventBlock, Value: 4000, Time: 4, Hi: hi3, Lo: lo3})
	d.AddContextCheck(hi, lo, hi3, lo3, 3, Frame{Func: "main.pay", File: "/src/pay.go", Line: 12},
		Frame{Func: "main.serve", File: "/src/serve.go", Line: 40},
		Frame{Func: "runtime.goexit", File: "asm.s", Line: 1})
	d.AddContextCheck(hi3, lo3, 0, 0, 1, Frame{Func: "main.main", File: "/src/main.go", Line: 9},
		Frame{Func: "runtime.main", File: "proc.go", Line: 1})
	path = filepath.Join(t.TempDir(), "shop.42")
	d.WriteTo(t, path)
	return d, path, string(ctxid.Append(nil, ctxid.ID{Hi: hi, Lo: lo, Run: Run})),
		string(ctxid.Append(nil, ctxid.ID{Hi: hi2, Lo: lo2, Run: Run}))
}
