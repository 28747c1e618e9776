// SPDX-License-Identifier: Apache-2.0

// Package hostiletest is a controller that means harm: its first connections answer an agent with octets that are no
// HTTP/2, frames that are wrong, messages that are none, commands without end, or end at any octet of a good answer.
// The connections after them belong to a real server. What each does follows from a seed and its number.
package hostiletest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// patience ends a connection whose agent neither reads nor writes.
const patience = 20 * time.Second

// Config is what the hostile connections do.
type Config struct {
	// Seed is that of all that is drawn.
	Seed uint64
	// Connections is how many are hostile.
	Connections int
	// Command draws a response, serialised.
	Command func(dice *rand.Rand) []byte
	// Commands is how many responses one connection sends at most.
	Commands int
	// OnlyCommands has every connection speak HTTP/2 as it should.
	OnlyCommands bool
}

// Listener gives a server the connections after the hostile ones.
type Listener struct {
	net.Listener

	config Config
	taken  atomic.Uint64
	busy   sync.WaitGroup
}

// Listen begins to listen on a TCP address of this machine.
func Listen(address string, config Config) (*Listener, error) {
	listener, err := net.Listen("tcp", address) //nolint:noctx // it does not wait
	if err != nil {
		return nil, fmt.Errorf("listen as a hostile controller: %w", err)
	}
	return &Listener{Listener: listener, config: config}, nil
}

// Accept returns the next connection that is not hostile.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err //nolint:wrapcheck // a server looks at it
		}
		number := l.taken.Add(1) - 1
		if number >= uint64(l.config.Connections) { //nolint:gosec // above 0
			return conn, nil
		}
		l.busy.Go(func() { l.config.answer(conn, number) })
	}
}

// Taken is how many connections there were.
func (l *Listener) Taken() uint64 { return l.taken.Load() }

// Wait waits for the end of the hostile connections.
func (l *Listener) Wait() { l.busy.Wait() }

// answer is one hostile connection.
func (c Config) answer(conn net.Conn, number uint64) {
	defer conn.Close() //nolint:errcheck // it may be reset
	if conn.SetDeadline(time.Now().Add(patience)) != nil {
		return
	}
	dice := rand.New(rand.NewPCG(c.Seed, number)) //nolint:gosec // repeatable, no secret
	// The answer of a server waits for the call.
	call := make([]byte, len(preface))
	if _, err := io.ReadFull(conn, call); err != nil {
		return
	}
	var read sync.WaitGroup
	read.Go(func() { _, _ = io.Copy(io.Discard, conn) })
	for octets := range c.octets(dice) {
		if _, err := conn.Write(octets); err != nil {
			break
		}
	}
	if tcp, isTCP := conn.(*net.TCPConn); isTCP {
		if dice.IntN(2) == 0 {
			_ = tcp.SetLinger(0) // a reset, which may overtake what was written
		} else {
			_ = tcp.CloseWrite()
			_ = tcp.SetReadDeadline(time.Now().Add(time.Second))
			read.Wait()
		}
	}
	_ = conn.Close()
	read.Wait()
}
