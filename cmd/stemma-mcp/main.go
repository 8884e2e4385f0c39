// Command stemma-mcp serves editors and agents.
//
// It speaks the Model Context Protocol. It is a module of its own, which runs the stemma command: so stemma requires
// nothing for it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "usage: stemma-mcp, without arguments; it speaks the Model Context Protocol on "+
			"standard input and output, see https://github.com/stemma-go/stemma/blob/main/docs/guide/mcp.md")
		os.Exit(2)
	}
	tool, err := findStemma()
	if err == nil {
		err = newServer(tool).Run(context.Background(), &mcp.StdioTransport{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stemma-mcp:", err)
		os.Exit(1)
	}
}

// findStemma returns the stemma command in PATH.
func findStemma() (string, error) {
	tool, err := exec.LookPath("stemma")
	if err != nil {
		return "", fmt.Errorf("no stemma in $PATH; go install github.com/stemma-go/stemma/cmd/stemma@latest")
	}
	return tool, nil
}
