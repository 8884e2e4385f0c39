package stemma_test

import (
	"fmt"
	"time"

	"github.com/stemma-go/stemma"
)

// A program can sample just a part of what it does.
func ExampleStartSampling() {
	if err := stemma.StartSampling(stemma.SamplingOptions{Every: time.Millisecond}); err != nil {
		fmt.Println(err)
	}
	defer stemma.StopSampling()
	// Output: stemma: the program is not built with -engine=sample or -metrics=calls,cpu
}
