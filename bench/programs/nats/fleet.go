package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"
)

const (
	channels = 40  // client i listens to channel i%channels
	senders  = 250 // clients that send in a round
	pings    = 2   // requests of each sender in a round
)

// fleet is the clients of one server, and the sums over all their messages.
type fleet struct {
	server   *server.Server
	conns    []*nats.Conn
	heard    atomic.Uint64 // over messages published
	answered atomic.Uint64 // over answers to requests
	messages atomic.Int64  // published messages that arrived
	expected int64         // published messages that must arrive
}

func newFleet(s *server.Server) *fleet { return &fleet{server: s} }

// digest makes a number of a message that depends on all of it.
func digest(data []byte) uint64 {
	sum := sha256.Sum256(data)
	return binary.BigEndian.Uint64(sum[:])
}

func (f *fleet) connect(clients int) error {
	f.conns = make([]*nats.Conn, clients)
	var g errgroup.Group
	g.SetLimit(50)
	for i := range f.conns {
		g.Go(func() (err error) {
			f.conns[i], err = f.client(i)
			return err
		})
	}
	return g.Wait()
}

// client connects client i, which listens to its channel and is one of those
// that answer requests.
func (f *fleet) client(i int) (*nats.Conn, error) {
	nc, err := nats.Connect("", nats.InProcessServer(f.server), nats.Timeout(patience), nats.PingInterval(time.Hour))
	if err != nil {
		return nil, err
	}
	listen := func(m *nats.Msg) {
		f.heard.Add(digest(m.Data) * uint64(i+1))
		f.messages.Add(1)
	}
	if _, err := nc.Subscribe(fmt.Sprintf("news.%d.*", i%channels), listen); err != nil {
		return nil, err
	}
	answer := func(m *nats.Msg) {
		// A lost answer shows as a request that times out.
		_ = m.Respond(binary.BigEndian.AppendUint64(nil, digest(m.Data)))
	}
	if _, err := nc.QueueSubscribe("digest", "answering", answer); err != nil {
		return nil, err
	}
	return nc, nc.FlushTimeout(patience)
}

// round lets some clients publish to one channel each and send requests.
func (f *fleet) round(r int) error {
	var g errgroup.Group
	for s := range senders {
		channel := (s*11 + r) % channels
		f.expected += int64((len(f.conns) + channels - 1 - channel) / channels)
		nc := f.conns[(s*7+r*31)%len(f.conns)]
		g.Go(func() error {
			data := fmt.Appendf(nil, "round %d sender %d", r, s)
			if err := nc.Publish(fmt.Sprintf("news.%d.item%d", channel, s), data); err != nil {
				return err
			}
			return f.request(nc, data)
		})
	}
	return g.Wait()
}

func (f *fleet) request(nc *nats.Conn, data []byte) error {
	for k := range pings {
		m, err := nc.Request("digest", append(data, byte(k)), patience)
		if err != nil {
			return err
		}
		f.answered.Add(binary.BigEndian.Uint64(m.Data))
	}
	return nil
}

// drain waits until all messages have come and closes the clients.
func (f *fleet) drain() error {
	deadline := time.Now().Add(patience)
	for f.messages.Load() < f.expected {
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d messages arrived", f.messages.Load(), f.expected)
		}
		time.Sleep(time.Millisecond)
	}
	for _, nc := range f.conns {
		nc.Close()
	}
	return nil
}
