// Fleet runs many processes beside real servers: an agent collects what they record into a bucket of MinIO, Pyroscope
// and a collector of OpenTelemetry, and agent and servers are killed meanwhile. It fails unless all that was counted is
// everywhere, once, and each context ID of each log decodes from the bucket.
//
// All servers listen on the loopback interface, and keep what they have in the directory of the run.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/machine"
)

// options are the flags.
type options struct {
	processes, clients int
	loggers            int
	time, rotate       time.Duration
	servers            string // where they are built
	keep               string
	classic            bool
	otlp               string // the protocol by which the collector is reached, "" for no collector
}

func main() {
	var o options
	flag.IntVar(&o.processes, "processes", 50, "start `N` processes, and each again when it ends")
	flag.IntVar(&o.loggers, "loggers", 10, "`N` of them log context IDs (-engine=dacce), and count nothing")
	flag.DurationVar(&o.time, "time", 10*time.Minute, "let them run for `TIME`")
	flag.DurationVar(&o.rotate, "rotate", 10*time.Second, "end segments after `TIME`")
	flag.IntVar(&o.clients, "clients", 3, "`N` clients ask one process for its counts once a second, and push them")
	flag.StringVar(&o.keep, "work", "", "work in `DIR`, which is new and stays; by default in one that is removed")
	flag.BoolVar(&o.classic, "classic", false, "let Pyroscope have the storage that it has by default, which loses "+
		"what it has acknowledged when it is killed: how much is reported, and no failure")
	flag.StringVar(&o.otlp, "otlp", "grpc", "push to a collector of OpenTelemetry as well, by `PROTOCOL`: grpc or "+
		"http/protobuf; empty for no collector")
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	flag.StringVar(&o.servers, "servers", filepath.Join(cache, "stemma-bench", "servers"),
		"keep the servers, which are built when they are not there, in `DIR`")
	only := flag.Bool("build", false, "build the servers, and no more")
	losing := flag.Bool("lost", false, "show what Pyroscope alone loses of what it has acknowledged, and no more")
	flag.Parse()
	if o.otlp != "" && o.otlp != "grpc" && o.otlp != "http/protobuf" {
		fmt.Fprintf(os.Stderr, "fleet: -otlp=%s: want grpc, http/protobuf, or nothing\n", o.otlp)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err = buildServers(ctx, o)
	switch {
	case err != nil || *only:
	case *losing:
		err = lost(ctx, o)
	default:
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

// run runs the fleet, and compares.
func run(ctx context.Context, o options) error {
	if o.keep == "" {
		work, err := os.MkdirTemp("", "fleet-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(work)
		o.keep = work
	} else if err := os.Mkdir(o.keep, 0o777); err != nil {
		return err
	}
	l, err := lab.In(o.keep, "")
	if err != nil {
		return err
	}
	machine.Describe(l.Tree).Print()
	f, err := newFleet(ctx, l, o)
	if err != nil {
		return err
	}
	defer f.close()
	return f.run(ctx)
}
