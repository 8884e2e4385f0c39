// Command logs logs by zap, for a test.
package main

import (
	"errors"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/stemma-go/stemma"
	"github.com/stemma-go/stemma/stemmazap"
)

var logger = zap.New(stemmazap.Core(zapcore.NewTee(
	zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), os.Stdout, zap.InfoLevel),
	zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), os.Stdout, zap.ErrorLevel))))

func main() {
	done := make(chan bool)
	go func() { serve(2); serve(0); close(done) }()
	<-done
}

//go:noinline
func serve(items int) {
	if err := pay(items); err != nil {
		logger.With(zap.Int("items", items)).Warn("not paid", zap.Error(err))
		return
	}
	logger.Sugar().Infow("paid", "items", items)
}

//go:noinline
func pay(items int) error {
	if items == 0 {
		return stemma.WrapError(errors.New("no items"))
	}
	return nil
}
