package stemma_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/stemma-go/stemma"
)

// The examples print what they print in a normal build, where there are no IDs.

func Example() {
	logger := slog.New(stemma.SlogHandler(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: noTime})))
	logger.Info("paid", "order", 7) // built with stemma: ... ctx=stm2…
	// Output: level=INFO msg=paid order=7
}

// An ID is comparable, and so the key of a map.
func ExampleHere() {
	hits := make(map[stemma.ID]int)
	lookup := func() { hits[stemma.Here()]++ }
	for range 3 {
		lookup()
	}
	for id, n := range hits {
		fmt.Println(id.IsZero(), n)
	}
	// Output: true 3
}

func ExampleParse() {
	id, err := stemma.Parse("stm2ASNFZ4mrze8AAABQAAABwAAAAMAASNJz5")
	fmt.Println(id, err)
	_, err = stemma.Parse("stm2ASNF")
	fmt.Println(err)
	// Output:
	// stm2ASNFZ4mrze8AAABQAAABwAAAAMAASNJz5 <nil>
	// context ID of 8 characters, want 37
}

func ExampleSlogHandler() {
	h := slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: noTime})
	logger := slog.New(stemma.SlogHandler(h, stemma.SlogKey("where")))
	logger.WithGroup("order").Info("paid", "number", 7) // built with stemma: "where" is beside "order", not in it
	// Output: {"level":"INFO","msg":"paid","order":{"number":7}}
}

func ExampleWrapError() {
	_, err := os.Open("/no/such/file")
	err = fmt.Errorf("load: %w", stemma.WrapError(err))
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	if id, ok := stemma.ContextOf(err); ok {
		fmt.Println("it arose in", id) // built with stemma
	}
	// Output: true
}

// noTime drops the time, which differs from run to run.
func noTime(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 {
		return slog.Attr{}
	}
	return a
}
