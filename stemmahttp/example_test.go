package stemmahttp_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/stemma-go/stemma/stemmahttp"
)

// The samples are served beside the pages of the program. A program that stemma has not built answers with an error.
func ExampleSamples() {
	mux := http.NewServeMux()
	mux.Handle("/debug/stemma/samples", stemmahttp.Samples())
	server := httptest.NewServer(mux) // in a program: http.ListenAndServe("localhost:6060", mux)
	defer server.Close()

	// go tool pprof 'http://localhost:6060/debug/stemma/samples?seconds=10'
	answer, err := http.Get(server.URL + "/debug/stemma/samples?seconds=0&metric=wait&format=folded")
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status)
	// Output: 500 Internal Server Error
}
