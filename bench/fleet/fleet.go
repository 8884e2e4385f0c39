package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
)

// Programs of the fleet, and how they are built.
const (
	counting, logging = "counting", "logging"
	metrics           = "calls,alloc"
)

// A fleet is the processes, the servers, and what the processes say that they have counted.
type fleet struct {
	options
	*lab.Lab
	records, store                      string
	pyroscope, bucket, collector, agent *service
	server                              *server // what pyroscope answers
	began                               time.Time

	mu   sync.Mutex
	sums map[string]int64 // of calls and objects
	logs []string
	runs int

	asked askedProcess
}

// newFleet builds the programs, and says how the servers are started.
func newFleet(ctx context.Context, l *lab.Lab, o options) (*fleet, error) {
	f := &fleet{options: o, Lab: l, records: filepath.Join(l.Work, "records"), sums: make(map[string]int64)}
	for _, dir := range []string{"records", "logs", "minio/records", "pyroscope", "bin"} {
		if err := os.MkdirAll(filepath.Join(l.Work, dir), 0o777); err != nil {
			return nil, err
		}
	}
	top := filepath.Dir(l.Tree.Bench)
	for _, step := range []struct {
		dir  string
		args []string
	}{
		{filepath.Join(top, "cmd", "stemma-fleet"), []string{"go", "build", "-o", f.bin("stemma-fleet"), "."}},
		{l.Tree.Bench, []string{l.Stemma, "build", "-metrics=" + metrics, "-o", f.bin(counting), "./fleet/worker"}},
		{l.Tree.Bench, []string{l.Stemma, "build", "-engine=dacce", "-o", f.bin(logging), "./fleet/worker"}},
	} {
		if o.loggers == 0 && slices.Contains(step.args, f.bin(logging)) {
			continue
		}
		cmd := exec.CommandContext(ctx, step.args[0], step.args[1:]...)
		cmd.Dir = step.dir
		if text, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%q: %w\n%s", step.args, err, text)
		}
	}
	return f, f.describeServers()
}

// bin returns where a program is.
func (f *fleet) bin(name string) string { return filepath.Join(f.Work, "bin", name) }

// describeServers gives each server addresses of this machine, and tells them to the agent.
func (f *fleet) describeServers() error {
	var a [7]string
	for i := range a {
		var err error
		if a[i], err = free(); err != nil {
			return err
		}
	}
	var err error
	f.server = &server{url: "http://" + a[0]}
	f.pyroscope = f.describePyroscope(a[0], a[1], a[2], a[6])
	f.bucket = &service{name: "minio", dir: f.Work, live: "http://" + a[3] + "/minio/health/live",
		args: []string{filepath.Join(f.servers, "minio"), "server", "--quiet", "--address=" + a[3],
			"--console-address=" + a[4], filepath.Join(f.Work, "minio")},
		env: []string{"MINIO_ROOT_USER=" + key, "MINIO_ROOT_PASSWORD=" + secret, "MINIO_BROWSER=off",
			"MINIO_UPDATE=off", "MINIO_CI_CD=1"}}
	if f.collector, err = f.describeCollector(a[5]); err != nil {
		return err
	}
	f.store = "s3://records/stemma?region=us-east-1&use_path_style=true&endpoint=http://" + a[3]
	f.agent = &service{name: "agent", dir: f.Work, args: []string{f.bin("stemma-fleet"), "collect", "-every=1s",
		"-store", f.store, "-to=pyroscope=" + f.server.url}, env: credentials}
	if f.otlp != "" {
		f.agent.env = append(slices.Clone(credentials), "OTEL_EXPORTER_OTLP_PROTOCOL="+f.otlp)
		f.agent.args = append(f.agent.args, "-to=otlp=http://"+a[5])
	}
	f.agent.args = append(f.agent.args, f.records)
	return nil
}

// Credentials of the bucket.
const key, secret = "fleet-bench", "fleet-bench-secret"

var credentials = []string{"AWS_ACCESS_KEY_ID=" + key, "AWS_SECRET_ACCESS_KEY=" + secret}

// describePyroscope has one process with all of Pyroscope, which keeps its blocks in directories.
func (f *fleet) describePyroscope(http, grpc, gossip, raft string) *service {
	port := func(addr string) string { return strings.TrimPrefix(addr, "127.0.0.1:") }
	dir := filepath.Join(f.Work, "pyroscope")
	s := &service{name: "pyroscope", dir: f.Work, live: "http://" + http + "/ready", args: []string{
		filepath.Join(f.servers, "pyroscope"), "-target=all",
		"-server.http-listen-address=127.0.0.1", "-server.http-listen-port=" + port(http),
		"-server.grpc-listen-address=127.0.0.1", "-server.grpc-listen-port=" + port(grpc),
		"-memberlist.bind-addr=127.0.0.1", "-memberlist.bind-port=" + port(gossip),
		"-memberlist.advertise-addr=127.0.0.1", "-ingester.min-ready-duration=0s",
		"-storage.backend=filesystem", "-storage.filesystem.dir=" + filepath.Join(dir, "shared"),
		"-pyroscopedb.data-path=" + filepath.Join(dir, "blocks"),
		"-compactor.data-dir=" + filepath.Join(dir, "compactor"),
		"-blocks-storage.bucket-store.sync-dir=" + filepath.Join(dir, "sync"),
		"-usage-stats.enabled=false", "-self-profiling.disable-push",
		"-ingester.max-global-series-per-tenant=0", "-distributor.ingestion-rate-limit-mb=1024",
		"-distributor.ingestion-burst-size-mb=1024",
	}}
	for _, addr := range []string{"compactor.ring.instance-addr", "distributor.ring.instance-addr",
		"ingester.lifecycler.addr", "overrides-exporter.ring.instance-addr", "query-frontend.instance-addr",
		"query-scheduler.ring.instance-addr", "store-gateway.sharding-ring.instance-addr"} {
		s.args = append(s.args, "-"+addr+"=127.0.0.1")
	}
	if f.classic {
		return s
	}
	// Its second storage, an experiment in this version, acknowledges what is in its bucket, and noted in a log.
	s.env = []string{"PYROSCOPE_V2_EXPERIMENT=1"}
	s.args = append(s.args, "-write-path=segment-writer", "-enable-query-backend=true",
		"-metastore.address="+grpc, "-query-backend.address="+grpc,
		"-metastore.data-dir="+filepath.Join(dir, "metastore"), "-metastore.raft.dir="+filepath.Join(dir, "raft"),
		"-metastore.raft.bind-address="+raft, "-metastore.raft.advertise-address="+raft,
		"-metastore.raft.server-id="+raft, "-metastore.min-ready-duration=0s",
		"-metastore.dlq-recovery-check-interval=1s", "-segment-writer.segment-duration=100ms",
		"-segment-writer.min-ready-duration=0s", "-segment-writer.lifecycler.addr=127.0.0.1",
		"-compaction-worker.temp-dir="+filepath.Join(dir, "compaction"))
	return s
}

// describeCollector has one that writes what comes to a file.
func (f *fleet) describeCollector(addr string) (*service, error) {
	const config = `receivers: {otlp: {protocols: {%s: {endpoint: %q}}}}
exporters: {file: {path: %q, append: true}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [file]}}
`
	file := filepath.Join(f.Work, "collector.yaml")
	protocol, _, _ := strings.Cut(f.otlp, "/")
	err := os.WriteFile(file, fmt.Appendf(nil, config, protocol, addr, f.exported()), 0o666)
	return &service{name: "otelcol", dir: f.Work, args: []string{filepath.Join(f.servers, "otelcol"),
		"--config", file, "--feature-gates=service.profilesSupport"}}, err
}

// exported is what the collector writes.
func (f *fleet) exported() string { return filepath.Join(f.Work, "exported.json") }

// services are in the order in which they start.
func (f *fleet) all() []*service {
	if f.otlp == "" {
		return []*service{f.bucket, f.pyroscope, f.agent}
	}
	return []*service{f.bucket, f.pyroscope, f.collector, f.agent}
}

// close ends what runs.
func (f *fleet) close() {
	for _, s := range f.all() {
		s.end(syscall.SIGKILL)
	}
}

// run lets the fleet run for its time, while things are killed, and compares what has come where.
func (f *fleet) run(ctx context.Context) error {
	for _, s := range f.all() {
		if err := s.start(ctx); err != nil {
			return err
		}
	}
	f.began = time.Now()
	fmt.Fprintf(os.Stderr, "fleet: %d processes for %v\n", f.processes, f.time)
	ends := time.Now().Add(f.time)
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, f.processes+2)
	var all sync.WaitGroup
	part := func(do func(ctx context.Context) error) {
		all.Go(func() {
			if err := do(work); err != nil {
				failed <- err
				cancel()
			}
		})
	}
	part(func(ctx context.Context) error { return f.ask(ctx, ends) })
	for i := 1; i < f.processes; i++ {
		kind := counting
		if i <= f.loggers {
			kind = logging
		}
		part(func(ctx context.Context) error { return f.again(ctx, kind, ends) })
	}
	part(func(ctx context.Context) error { return f.disturb(ctx, ends) })
	all.Wait()
	close(failed)
	var errs []error
	for err := range failed {
		errs = append(errs, err)
	}
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return err
	}
	if err := f.collectRest(ctx); err != nil {
		return err
	}
	return f.compare(ctx)
}

// sleep waits until a time, or until ctx is done.
func sleep(ctx context.Context, until time.Time) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(until)):
	}
}

// start starts a program.
func (f *fleet) start(kind string) (*worker, error) {
	f.mu.Lock()
	f.runs++
	log := filepath.Join(f.Work, "logs", fmt.Sprint(kind, f.runs))
	if kind == logging {
		f.logs = append(f.logs, log)
	}
	f.mu.Unlock()
	return startWorker(f.bin(kind), log, "STEMMA_OUT="+f.records, "STEMMA_ROTATE="+f.rotate.String())
}

// stop lets a program stop its work, and notes what it says.
func (f *fleet) stop(w *worker, kind string) error {
	sums := f.sums
	if kind == logging {
		sums = make(map[string]int64) // it records no counts
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return w.stop(sums)
}

// again runs a program, and again when it has ended, each time for some of the whole time.
func (f *fleet) again(ctx context.Context, kind string, ends time.Time) error {
	for ctx.Err() == nil && time.Now().Before(ends) {
		w, err := f.start(kind)
		if err != nil {
			return err
		}
		until := time.Now().Add(f.time/4 + rand.N(f.time))
		if until.After(ends) {
			until = ends
		}
		if sleep(ctx, until); ctx.Err() != nil {
			w.kill()
			return nil
		}
		if err := errors.Join(f.stop(w, kind), w.end()); err != nil {
			return err
		}
	}
	return nil
}

// disturb kills the agent five times, and Pyroscope and the bucket twice each, and starts them again.
func (f *fleet) disturb(ctx context.Context, ends time.Time) error {
	victims := []*service{f.agent, f.agent, f.agent, f.agent, f.agent, f.pyroscope, f.pyroscope, f.bucket, f.bucket}
	rand.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	step := time.Until(ends) / time.Duration(len(victims)+1)
	for _, s := range victims {
		if sleep(ctx, time.Now().Add(step)); ctx.Err() != nil {
			return nil
		}
		fmt.Fprintf(os.Stderr, "fleet: %s is killed\n", s.name)
		s.end(syscall.SIGKILL)
		if s != f.agent {
			sleep(ctx, time.Now().Add(2*time.Second)) // it is away
		}
		if err := s.start(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// collectRest ends the agent, and lets others collect what is left, until one says that there is no more.
func (f *fleet) collectRest(ctx context.Context) error {
	f.agent.end(syscall.SIGTERM)
	args := append([]string{"collect", "-once"}, f.agent.args[2:]...)
	for try := 1; ; try++ {
		cmd := exec.CommandContext(ctx, f.agent.args[0], args...)
		cmd.Env = append(os.Environ(), f.agent.env...)
		text, err := cmd.CombinedOutput()
		if err == nil {
			if f.otlp != "" {
				f.collector.end(syscall.SIGTERM) // it writes what it has
			}
			return nil
		}
		if try == 5 || ctx.Err() != nil {
			return fmt.Errorf("collect what is left: %w\n%s", err, text)
		}
	}
}
