package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/collect"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/sink"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/store"
)

// collectFlags are those of collect.
type collectFlags struct {
	collect.Options
	store, listen string
	to            []string
	once          bool
}

func (o *collectFlags) declare(fs *flag.FlagSet) {
	host, _ := os.Hostname()
	o.Labels = map[string]string{}
	fs.StringVar(&o.store, "store", "", "upload to the bucket at `URL`: "+bucket.URLs)
	fs.Func("to", "push what was counted to `SINK`: "+sink.Kinds+"; may be given several times", func(s string) error {
		o.to = append(o.to, s) // an error here would print the text, with its password
		return nil
	})
	fs.BoolVar(&o.once, "once", false, "end when all that is there is in the store")
	fs.DurationVar(&o.Every, "every", 10*time.Second, "look for records after this `TIME`")
	fs.StringVar(&o.listen, "listen", "", "serve numbers for Prometheus at `ADDR`, on /metrics, for example "+
		"127.0.0.1:9464")
	fs.StringVar(&o.Service, "service", "", "call the programs `NAME`; by default each is what its file is called")
	fs.StringVar(&o.Host, "host", host, "call this machine `NAME`")
	fs.Func("label", "add `KEY=VALUE` to each record; may be given several times", func(s string) error {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return errors.New("want KEY=VALUE")
		}
		o.Labels[key] = value
		return nil
	})
	fs.BoolVar(&o.Delete, "delete", false, "remove records here that the store has given back unchanged, those of "+
		"programs that run excepted")
}

// runCollect runs the agent until it gets SIGTERM or SIGINT, once until all is done.
func runCollect(fs *flag.FlagSet, args []string) error {
	var o collectFlags
	o.declare(fs)
	dirs, err := parse(fs, args)
	switch {
	case err != nil:
		return err
	case o.store == "" && len(o.to) == 0:
		return wrong(fs, "no -store given, and no -to; want the URL of a bucket, or %s", sink.Kinds)
	case o.Delete && o.store == "":
		return wrong(fs, "-delete without -store: what a sink has cannot replace a record")
	case o.Every <= 0:
		return wrong(fs, "-every=%v: want a time above 0", o.Every)
	}
	var sinks []*sink.Sink
	for _, text := range o.to {
		s, err := sink.Open(text)
		if err != nil {
			return wrong(fs, "%v", err)
		}
		sinks = append(sinks, s)
	}
	if o.Dirs = dirs; len(dirs) == 0 {
		o.Dirs = []string{store.Out()}
	}
	o.Log = os.Stderr
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	var b *bucket.Bucket
	if o.store != "" {
		if b, err = bucket.Open(ctx, o.store); err != nil {
			return err
		}
		defer b.Close()
		tidy(ctx, b, &o.Options)
	}
	a := collect.New(b, sinks, o.Options)
	if o.listen != "" {
		if err := serve(o.listen, &a.Numbers); err != nil {
			return err
		}
	}
	if o.once {
		return a.Once(ctx)
	}
	a.Run(ctx)
	return nil
}

// tidy removes what agents of this host that were killed have left in the store. If it cannot, that is no failure: what
// is left is never read.
func tidy(ctx context.Context, b *bucket.Bucket, o *collect.Options) {
	switch n, err := b.Tidy(ctx, o.Host); {
	case err != nil:
		fmt.Fprintf(o.Log, "stemma-fleet: %v; what uploads have left unfinished there stays\n", err)
	case n > 0:
		fmt.Fprintf(o.Log, "stemma-fleet: removed %s from %s, of uploads that did not end\n",
			humanize.Plural(n, "unfinished file"), b.URL)
	}
}

// serve serves the numbers, as long as this process is there.
func serve(addr string, numbers http.Handler) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("-listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", numbers)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(l) }() // it ends with the process
	fmt.Fprintf(os.Stderr, "stemma-fleet: numbers at http://%s/metrics\n", l.Addr())
	return nil
}
