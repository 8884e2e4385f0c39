//go:build nethttp

package main

import (
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/stemma-go/stemma/stemmahttp"
)

// handler asks the program's own HTTP handler for one of the samples.
func handler() {
	for id, code := range map[uint64]int{1: 200, 1 << 60: 404} {
		w := httptest.NewRecorder()
		stemmahttp.Samples().ServeHTTP(w, httptest.NewRequest("GET", fmt.Sprintf("/?format=folded&request=%d", id), nil))
		body, _ := io.ReadAll(w.Body)
		if w.Code != code || code == 200 && !strings.Contains(string(body), "main.ask 1\n") {
			fmt.Println("handler:", w.Code, string(body))
			os.Exit(3)
		}
	}
}
