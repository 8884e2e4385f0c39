// Nats runs a NATS server and thousands of clients in one process: more than
// ten thousand goroutines that pass messages over pipes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// patience is how long anything may take before the program gives up.
const patience = 3 * time.Minute

func main() {
	n := flag.Int("n", 5, "rounds of messages")
	clients := flag.Int("clients", 2200, "clients, each with several goroutines")
	flag.Parse()
	line, err := run(*n, *clients)
	if err != nil {
		fmt.Fprintln(os.Stderr, "nats:", err)
		os.Exit(1)
	}
	fmt.Println("checksum nats", line)
}

// run returns what all messages add up to. Sums do not depend on the order in
// which the messages come.
func run(rounds, clients int) (string, error) {
	s, err := startServer()
	if err != nil {
		return "", err
	}
	f := newFleet(s)
	if err := f.connect(clients); err != nil {
		return "", err
	}
	for r := range rounds {
		if err := f.round(r); err != nil {
			return "", fmt.Errorf("round %d: %w", r, err)
		}
	}
	if err := f.drain(); err != nil {
		return "", err
	}
	s.Shutdown()
	s.WaitForShutdown()
	return fmt.Sprintf("%016x %016x %d", f.heard.Load(), f.answered.Load(), f.messages.Load()), nil
}

func startServer() (*server.Server, error) {
	s, err := server.NewServer(&server.Options{
		DontListen: true, NoSigs: true, NoLog: true, MaxConn: 1 << 16,
		PingInterval: time.Hour, DisableShortFirstPing: true, WriteDeadline: patience, // it may be stopped for long
	})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		return nil, errors.New("the server does not become ready")
	}
	return s, nil
}
