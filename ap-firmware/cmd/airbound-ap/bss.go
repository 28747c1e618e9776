// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/airbound/airbound/ap-firmware/agent"
	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/status"
	"github.com/airbound/airbound/internal/controllerclient"
	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/sparselog"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// bss is one BSS that is served: an agent, a watcher of hostapd, a stream to the controller and a state directory.
type bss struct {
	name      string
	state     agentState
	worker    *agent.Agent
	watcher   *hostapd.Watcher
	refuse    func(error)
	logger    *slog.Logger
	in        inputs
	outgoing  chan *request
	addresses []string
	// indexes are those of the BSS's interfaces by its last report.
	indexes atomic.Pointer[[]uint32]

	ctx     context.Context //nolint:containedctx // of what runs from start to end
	cancel  context.CancelFunc
	group   sync.WaitGroup
	stopped error
	// missing is since when the kernel has no such access point; zero while it has.
	missing time.Time
	ending  bool
}

// inputs are what the loop waits for.
type inputs struct {
	stations  chan nl80211.StationEvent
	connected chan connection
	responses chan *response
}

// connection is that a stream has begun, or ended, or why it could not begin.
type connection struct {
	isConnected bool
	failure     error
}

// eventsWaiting is how many events of the kernel wait for a BSS that is busy. What is lost, the next report has.
const eventsWaiting = 256

// openBSS locks the BSS's state directory and writes back what an earlier agent left.
func (ap *accessPoint) openBSS(name string) (*bss, error) {
	logger := ap.logger.With("interface", name)
	malformed, refuse := malformedInputs(logger)
	state, err := openState(ap.options, name, refuse, logger)
	if err != nil {
		return nil, err
	}
	sampler := ap.sockets.Kernel(name, refuse)
	b := &bss{
		name: name, state: state, refuse: refuse, logger: logger,
		watcher: hostapd.NewWatcher(ap.options.controlOf(name), name, refuse, logger),
		in: inputs{
			stations: make(chan nl80211.StationEvent, eventsWaiting), connected: make(chan connection),
			responses: make(chan *response),
		},
		outgoing: make(chan *request), addresses: ap.options.controller.Addresses,
	}
	b.indexes.Store(&[]uint32{})
	b.worker = agent.New(agent.Config{
		Version: version, Interval: ap.options.interval, LookInterval: ap.options.lookInterval,
		Sampler:             sampler,
		EstimateAirtime:     ap.options.estimateAirtime,
		RefreshAssociations: b.watcher.Refresh, Malformed: malformed,
		EDCA:    state.edca(ap.options, name, sampler.SetQueues, ap.radios, refuse),
		Windows: ap.windows, StationFlows: ap.flows, DatapathID: ap.datapathID, CheckAsked: b.checkAsked,
		Logger: logger,
	}, monotonicUS())
	logger.Info("started", "version", version, "controller", ap.options.controller.String())
	return b, nil
}

func (ap *accessPoint) datapathID() uint64 {
	if ap.options.bridge == "" {
		return 0
	}
	return datapathID(ap.options.bridge)
}

// start begins to follow hostapd and to do what is due. It needs no controller.
func (b *bss) start(ctx context.Context) {
	b.ctx, b.cancel = context.WithCancel(ctx)
	b.group.Go(func() { b.watcher.Run(b.ctx) })
	b.group.Go(func() {
		b.loop()
		b.stopped = stop(b.worker, b.logger) // Before the connection is closed, which may take time.
	})
}

// connect keeps a stream to the controller open until end is called.
func (b *bss) connect(device *credentials.Device) error {
	config := controllerclient.Config{
		Addresses: b.addresses, Logger: b.logger,
		Failed: func(err error) { send(b.ctx, b.in.connected, connection{failure: err}) },
	}
	return credentials.ConnectStream(b.ctx, device, config, controllerclient.Stream[request, response]{
		Open: openStream, Outgoing: b.outgoing,
		IsAnswer: func(message *response) bool { return message.GetCommand() == nil },
		Handle:   func(message *response) { send(b.ctx, b.in.responses, message) },
		Answered: func(message *response) { send(b.ctx, b.in.responses, message) },
		OnState:  func(isConnected bool) { send(b.ctx, b.in.connected, connection{isConnected: isConnected}) },
	})
}

// end stops what start and connect began, and writes own values back. The caller of connect has waited for it, or does.
func (b *bss) end() error {
	if b.cancel == nil { // It was never started.
		return errors.Join(stop(b.worker, b.logger), b.state.unlock())
	}
	b.cancel()
	b.group.Wait()
	return errors.Join(b.stopped, b.state.unlock())
}

// loop is the only goroutine that uses the agent.
func (b *bss) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-b.ctx.Done():
			return
		case now := <-b.in.connected:
			b.connection(now)
		case message := <-b.in.responses:
			b.response(message)
		case update := <-b.watcher.Updates():
			b.worker.Update(monotonicUS(), update)
			drain(b.worker, b.watcher.Updates())
		case event := <-b.in.stations:
			b.worker.StationEvent(monotonicUS(), event)
		case <-timer.C:
		}
		if report := b.worker.Wake(monotonicUS()); report != nil {
			indexes := b.worker.Interfaces()
			b.indexes.Store(&indexes)
			send(b.ctx, b.outgoing, &request{Report: report})
		}
		if next := b.worker.NextWakeUS(); next != math.MaxInt64 {
			timer.Reset(time.Duration(next-monotonicUS()) * time.Microsecond)
		} else {
			timer.Stop()
		}
	}
}

func (b *bss) response(message *response) {
	b.worker.Mode(monotonicUS(), message.GetMode())
	b.worker.Check(monotonicUS(), message.GetCheck())
	if command := message.GetCommand(); command != nil {
		b.worker.Command(monotonicUS(), command)
	}
}

// checkAsked takes a request that `airbound-ap check` has left.
func (b *bss) checkAsked() *status.CheckRequest {
	request, err := b.state.directory.TakeCheckRequest()
	if err != nil {
		b.logger.Warn("cannot take the request of a check", "error", err)
		return nil // It may come back: one that cannot be removed is none.
	}
	return request
}

func (b *bss) connection(now connection) {
	switch {
	case now.failure != nil:
		b.worker.ConnectionFailed(monotonicUS(), now.failure)
	case now.isConnected:
		b.worker.Connected(monotonicUS())
	default:
		b.worker.Disconnected(monotonicUS())
	}
}

// drain takes every update that waits, so that many stations that join at once cost one report.
func drain(worker *agent.Agent, updates <-chan hostapd.Update) {
	for {
		select {
		case update := <-updates:
			worker.Update(monotonicUS(), update)
		default:
			return
		}
	}
}

// A kernel that is short of memory may have some a moment later.
const (
	stopTries      = 10
	stopTriesApart = 100 * time.Millisecond
)

// stop restores the access point's own EDCA parameters, and tries again for a while if that fails.
func stop(worker *agent.Agent, logger *slog.Logger) error {
	for try := 1; ; try++ {
		err := worker.Stop(monotonicUS())
		if err == nil {
			logger.Info("stopped, the access point's own EDCA parameters are in force")
			return nil
		}
		if try == stopTries {
			return err
		}
		time.Sleep(stopTriesApart)
	}
}

func openStream(ctx context.Context, conn *grpc.ClientConn) (grpc.BidiStreamingClient[request, response], error) {
	return airboundv1.NewAccessPointServiceClient(conn).Connect(ctx)
}

func send[T any](ctx context.Context, to chan<- T, value T) {
	select {
	case to <- value:
	case <-ctx.Done():
	}
}

// malformedInputs counts input that was refused, and logs some of it.
func malformedInputs(logger *slog.Logger) (count *sparselog.Counter, add func(error)) {
	count = &sparselog.Counter{}
	return count, func(err error) {
		if total, due := count.Add(); due {
			logger.Warn("refused malformed input", "error", err, "total", total)
		}
	}
}
