// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"

	"google.golang.org/grpc"

	"github.com/airbound/airbound/phone-agent/agent"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
	"github.com/airbound/airbound/uplink"
)

// connection is the uplink's goroutine seen from the agent's.
type connection struct {
	// What happened, as a call for the agent's goroutine to make.
	events chan func(nowUS int64)
	// Closed when the uplink has ended; err then says why.
	ended chan struct{}
	err   error

	ctx      context.Context //nolint:containedctx // the connection's own life, ended by wait
	cancel   context.CancelFunc
	outgoing chan *airboundv1.TerminalServiceConnectRequest

	mutex   sync.Mutex
	remotes []netip.AddrPort
}

// remotesMax is how many addresses of the controller are remembered: connections to earlier ones linger for a while.
const remotesMax = 8

func (c *connection) dialed(remote netip.AddrPort) {
	remote = netip.AddrPortFrom(remote.Addr().Unmap(), remote.Port())
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.remotes = slices.DeleteFunc(c.remotes, func(known netip.AddrPort) bool { return known == remote })
	c.remotes = append(c.remotes, remote)
	if len(c.remotes) > remotesMax {
		c.remotes = slices.Delete(c.remotes, 0, 1)
	}
}

// controllers are where the agent's own connections go.
func (c *connection) controllers() []netip.AddrPort {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Clone(c.remotes)
}

func startUplink(
	ctx context.Context, options runOptions, phone *agent.Agent, link agent.Link, logger *slog.Logger,
) *connection {
	c := &connection{
		events:   make(chan func(int64)),
		ended:    make(chan struct{}),
		outgoing: make(chan *airboundv1.TerminalServiceConnectRequest),
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	onState := func(connected bool) {
		if !connected {
			c.tell(phone.Disconnected)
			return
		}
		if mac, err := macOf(options); err != nil {
			logger.Warn("cannot tell who this terminal is now", "error", err, "mac", link.MAC)
		} else {
			link.MAC = mac
		}
		link.Controllers = c.controllers()
		now := link
		c.tell(func(nowUS int64) { phone.Connected(nowUS, now) })
	}
	handle := func(message *airboundv1.TerminalServiceConnectResponse) {
		c.tell(func(nowUS int64) { phone.Command(nowUS, message.GetCommand()) })
	}
	go func() {
		defer close(c.ended)
		config := uplink.Config{Address: options.controller, Logger: logger, Dialed: c.dialed}
		c.err = uplink.Run(c.ctx, config, openStream, c.outgoing, handle, onState)
	}()
	return c
}

func openStream(ctx context.Context, client *grpc.ClientConn) (
	grpc.BidiStreamingClient[airboundv1.TerminalServiceConnectRequest, airboundv1.TerminalServiceConnectResponse], error,
) {
	return airboundv1.NewTerminalServiceClient(client).Connect(ctx)
}

func (c *connection) tell(what func(nowUS int64)) {
	select {
	case c.events <- what:
	case <-c.ctx.Done():
	}
}

// send never blocks for long: the uplink takes a report at all times.
func (c *connection) send(report *airboundv1.TerminalReport) {
	select {
	case c.outgoing <- &airboundv1.TerminalServiceConnectRequest{Report: report}:
	case <-c.ended:
	case <-c.ctx.Done():
	}
}

func (c *connection) wait() {
	c.cancel()
	<-c.ended
}
