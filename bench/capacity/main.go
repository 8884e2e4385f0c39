// Capacity measures what one process of a fleet leaves behind, and reckons what many processes do: what they cost in a
// store, how long questions take, and what is too small first.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/machine"
)

// options are the flags.
type options struct {
	programs []string
	every    time.Duration // of the segments that are measured
	rotate   time.Duration // of those that are reckoned with
	metrics  string
}

func main() {
	o := options{metrics: "calls,alloc"}
	names := flag.String("program", "nats,site,gopherlua", "measure these programs `A,B,C`")
	flag.DurationVar(&o.every, "every", 500*time.Millisecond, "end the segments that are measured after `TIME`")
	flag.DurationVar(&o.rotate, "rotate", 10*time.Minute, "reckon with segments that end after `TIME`")
	flag.Parse()
	o.programs = lab.Names(*names)
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "capacity:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	l, err := lab.Open("capacity")
	if err != nil {
		return err
	}
	defer l.Close()
	programs, err := l.Programs("", o.programs)
	if err != nil {
		return err
	}
	m, err := newMeasurer(l, o)
	if err != nil {
		return err
	}
	defer m.close()
	machine.Describe(l.Tree).Print()
	for _, p := range programs {
		fmt.Fprintln(os.Stderr, "capacity:", p.Name)
		c, err := m.measure(p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		m.costs = append(m.costs, c)
	}
	return show(os.Stdout, m.costs, o.rotate)
}
