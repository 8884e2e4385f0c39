// Command stemma builds, runs and tests Go programs with their calling
// contexts recorded, and reports what they recorded.
package main

import (
	"os"

	"github.com/stemma-go/stemma/internal/command"
)

func main() {
	os.Exit(command.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
