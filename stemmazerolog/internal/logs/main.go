// Command logs logs by zerolog, for a test.
package main

import (
	"errors"
	"os"

	"github.com/rs/zerolog"

	"github.com/stemma-go/stemma"
	"github.com/stemma-go/stemma/stemmazerolog"
)

var logger = zerolog.New(os.Stdout).Hook(stemmazerolog.Hook{})

func init() { zerolog.ErrorStackMarshaler = stemmazerolog.ErrorStack }

func main() {
	done := make(chan bool)
	go func() { serve(2); serve(0); close(done) }()
	<-done
}

//go:noinline
func serve(items int) {
	if err := pay(items); err != nil {
		logger.Warn().Stack().Err(err).Send()
		return
	}
	logger.Info().Int("items", items).Msg("paid")
}

//go:noinline
func pay(items int) error {
	if items == 0 {
		return stemma.WrapError(errors.New("no items"))
	}
	return nil
}
