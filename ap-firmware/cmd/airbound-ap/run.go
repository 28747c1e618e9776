// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/airbound/airbound/ap-firmware/agent"
	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/neighbours"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/internal/controllerclient"
	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/sparselog"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

type (
	request  = airboundv1.AccessPointServiceConnectRequest
	response = airboundv1.AccessPointServiceConnectResponse
)

// Access points have little memory. The limit is that of heap and stacks.
const (
	memoryLimitBytes = 12 << 20
	gcPercent        = 50
)

func runCommand(kernel sockets) command.Command {
	var options runOptions
	return command.Command{
		Name:    "run",
		Summary: "report, and set EDCA parameters, until stopped (SIGTERM, SIGINT or SIGHUP); may be left out",
		Examples: []string{
			"airbound-ap --controller 192.0.2.1:50051 --interface wlan0 --token-file /etc/airbound/token",
			"airbound-ap --controller c1.example:50051 --controller c2.example:50051 --interface wlan0",
			"airbound-ap run --controller 192.0.2.1:50051 --interface wlan0 --hostapd-control /tmp/hostapd/wlan0",
			"airbound-ap --controller 192.0.2.1:50051 --interface wlan0 --hostapd-config /etc/hostapd/hostapd.conf",
		},
		Flags: options.register, Check: options.check,
		Run: func(ctx context.Context, _, stderr io.Writer) (int, error) {
			debug.SetMemoryLimit(memoryLimitBytes)
			debug.SetGCPercent(gcPercent)
			runtime.GOMAXPROCS(1) // A report a second needs no second thread.
			logger, end := options.logging.Open(stderr)
			defer end()
			if err := run(ctx, options, kernel, logger); err != nil {
				return command.ExitError, err
			}
			return command.ExitOK, nil
		},
	}
}

// sockets are the ways into the kernel; tests have others.
type sockets struct {
	wireless func(malformed func(error)) (*nl80211.Client, error)
	routing  func(malformed func(error)) (*neighbours.Client, error)
	events   func() (nl80211.EventSource, error)
}

func realKernel() sockets {
	return sockets{wireless: nl80211.Dial, routing: neighbours.Dial, events: nl80211.DialEvents}
}

func (s sockets) sampler(interfaceName string, malformed func(error)) *agent.Kernel {
	return agent.NewKernel(interfaceName,
		func() (*nl80211.Client, error) { return s.wireless(malformed) },
		func() (*neighbours.Client, error) { return s.routing(malformed) })
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

// run runs the agent until ctx ends. Whatever ends it, the access point's own EDCA parameters are in force when it
// returns.
func run(ctx context.Context, options runOptions, kernel sockets, logger *slog.Logger) (err error) {
	malformed, refuse := malformedInputs(logger)
	sampler := kernel.sampler(options.interfaceName, refuse)
	defer func() { err = errors.Join(err, sampler.Close()) }()
	state, err := openState(options, refuse, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.unlock()) }()
	watcher := hostapd.NewWatcher(options.hostapdControl, options.interfaceName, refuse, logger)
	worker := agent.New(agent.Config{
		Version: version, Interval: options.interval, Sampler: sampler, RefreshAssociations: watcher.Refresh,
		Malformed: malformed, EDCA: state.edca(options, sampler.SetQueues, refuse), Logger: logger,
	}, monotonicUS())
	logger.Info("started", "version", version, "interface", options.interfaceName,
		"controller", options.controller.String())
	// After New, which has written back what an earlier agent left.
	device, err := openDevice(options, state, logger)
	if err != nil {
		return errors.Join(err, stop(worker, logger))
	}

	ctx, cancel := context.WithCancel(ctx)
	in := inputs{
		updates: watcher.Updates(), stations: make(chan nl80211.StationEvent), connected: make(chan bool),
		commands: make(chan *airboundv1.AccessPointCommand),
	}
	outgoing := make(chan *request)
	var group sync.WaitGroup
	group.Go(func() { watcher.Run(ctx) })
	group.Go(func() {
		nl80211.Follow(ctx, kernel.events, func(event nl80211.StationEvent) { send(ctx, in.stations, event) },
			refuse, logger)
	})
	stopped := make(chan error, 1)
	group.Go(func() {
		loop(ctx, worker, in, outgoing)
		stopped <- stop(worker, logger) // Before the connection is closed, which may take time.
	})
	config := controllerclient.Config{Addresses: options.controller.Addresses, Logger: logger}
	err = credentials.RunStream(ctx, device, config, controllerclient.Stream[request, response]{
		Open: openStream, Outgoing: outgoing,
		IsAnswer: func(message *response) bool { return message.GetCommand() == nil },
		Handle:   func(message *response) { send(ctx, in.commands, message.GetCommand()) },
		OnState:  func(isConnected bool) { send(ctx, in.connected, isConnected) },
	})
	cancel()
	group.Wait()
	return errors.Join(err, <-stopped)
}

// inputs are what the loop waits for.
type inputs struct {
	updates   <-chan hostapd.Update
	stations  chan nl80211.StationEvent
	connected chan bool
	commands  chan *airboundv1.AccessPointCommand
}

// loop is the only goroutine that uses the agent.
func loop(ctx context.Context, worker *agent.Agent, in inputs, outgoing chan<- *request) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case isConnected := <-in.connected:
			if isConnected {
				worker.Connected(monotonicUS())
			} else {
				worker.Disconnected(monotonicUS())
			}
		case command := <-in.commands:
			worker.Command(monotonicUS(), command)
		case update := <-in.updates:
			worker.Update(monotonicUS(), update)
			drain(worker, in.updates)
		case event := <-in.stations:
			worker.StationEvent(monotonicUS(), event)
		case <-timer.C:
		}
		if report := worker.Wake(monotonicUS()); report != nil {
			send(ctx, outgoing, &request{Report: report})
		}
		if next := worker.NextWakeUS(); next != math.MaxInt64 {
			timer.Reset(time.Duration(next-monotonicUS()) * time.Microsecond)
		} else {
			timer.Stop()
		}
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

func monotonicUS() int64 {
	var now unix.Timespec
	// Fails only for a clock that the kernel does not have.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	const nsPerUS = 1000
	return now.Nano() / nsPerUS
}
