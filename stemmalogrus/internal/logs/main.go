// Command logs logs by logrus, for a test.
package main

import (
	"errors"
	"os"

	"github.com/sirupsen/logrus"

	"github.com/stemma-go/stemma"
	"github.com/stemma-go/stemma/stemmalogrus"
)

var logger = &logrus.Logger{Out: os.Stdout, Formatter: new(logrus.JSONFormatter), Level: logrus.InfoLevel,
	Hooks: make(logrus.LevelHooks)}

func init() { logger.AddHook(stemmalogrus.Hook{}) }

func main() {
	done := make(chan bool)
	go func() { serve(2); serve(0); close(done) }()
	<-done
}

//go:noinline
func serve(items int) {
	if err := pay(items); err != nil {
		logger.WithError(err).Warn("not paid")
		return
	}
	logger.WithField("items", items).Infof("paid")
}

//go:noinline
func pay(items int) error {
	if items == 0 {
		return stemma.WrapError(errors.New("no items"))
	}
	return nil
}
