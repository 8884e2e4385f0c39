// Package serve is the service that README.md and docs have for an example.
package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/stemma-go/stemma"
)

// Main serves some orders. BUSY_TIME is how long it computes then.
func Main() {
	slog.SetDefault(slog.New(stemma.SlogHandler(slog.NewTextHandler(os.Stderr, nil))))
	var wg sync.WaitGroup
	for order := range 3 {
		wg.Go(func() { serve(order) })
	}
	wg.Wait()
	busy, _ := time.ParseDuration(os.Getenv("BUSY_TIME")) // none if it is not set
	for begun, n := time.Now(), 0; time.Since(begun) < min(busy, 100*time.Millisecond); n++ {
		step(n)
	}
	fmt.Println("ok")
}

func serve(order int) {
	if err := pay(order); err != nil {
		slog.Error("not paid", "order", order, "err", err)
		return
	}
	slog.Info("paid", "order", order)
}

var errFunds = errors.New("no funds")

func pay(order int) error {
	if order == 1 {
		return stemma.WrapError(errFunds)
	}
	return nil
}

//go:noinline
func step(n int) int { return n*n + len(built) }
