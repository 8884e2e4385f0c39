// Orders handles three orders, and logs with the context ID of each line: which stack led to it.
//
//	stemma build -engine=dacce -o orders ./examples/orders
//	./orders 2>orders.log
//	stemma decode <orders.log
package main

import (
	"log/slog"
	"os"

	"github.com/stemma-go/stemma"
)

func main() {
	slog.SetDefault(slog.New(stemma.SlogHandler(slog.NewTextHandler(os.Stderr, nil))))
	for order := range 3 {
		if order%2 == 0 {
			fromShop(order)
		} else {
			fromPhone(order)
		}
	}
}

func fromShop(order int)  { pay(order) }
func fromPhone(order int) { pay(order) }

// pay is called from two places. The line alone does not tell from which.
func pay(order int) {
	slog.Info("paid", "order", order)
}
