package main

import (
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m) }

// TestScript runs the scripts in testdata/script.
func TestScript(t *testing.T) { e2e.Scripts(t, "") }
