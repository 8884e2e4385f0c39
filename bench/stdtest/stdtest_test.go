package main

import (
	"testing"

	"github.com/stemma-go/stemma/bench/internal/suite"
)

func TestExceptionsFile(t *testing.T) {
	if _, err := suite.ParseExceptions(exceptionsText); err != nil {
		t.Error(err)
	}
}
