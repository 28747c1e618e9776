// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/report"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
	"github.com/airbound/airbound/uplink"
	"github.com/airbound/airbound/uplink/lossy"
)

// Access points have little memory. The limit is that of heap and stacks.
const (
	memoryLimitBytes = 12 << 20
	gcPercent        = 50
)

// What waits for a reader of the log, and how long the agent's end does.
const (
	logLinesMax = 256
	logPatience = time.Second
)

func runCommand(ctx context.Context, arguments []string, stdout, stderr io.Writer) (int, error) {
	options, err := parseRunOptions(arguments, stdout)
	if err != nil {
		return exitUsage, err
	}
	debug.SetMemoryLimit(memoryLimitBytes)
	debug.SetGCPercent(gcPercent)
	runtime.GOMAXPROCS(1)          // A sliver of work a second needs no second thread.
	signal.Ignore(syscall.SIGPIPE) // Whoever read the log may end before the agent.
	log := lossy.New(stderr, logLinesMax)
	defer log.Close(logPatience)
	if err := run(ctx, options, dialKernel, options.logger(log)); err != nil {
		return exitError, err
	}
	return exitOK, nil
}

func dialKernel(malformed func(error)) (*nl80211.Client, error) { return nl80211.Dial(malformed) }

// run is the agent's life. It returns when ctx ends and nothing is left behind.
func run(
	ctx context.Context, options runOptions, dial func(malformed func(error)) (*nl80211.Client, error), logger *slog.Logger,
) (err error) {
	malformed := &malformedInputs{logger: logger, now: time.Now}
	bss := &kernel{
		interfaceName: options.interfaceName,
		dial:          func() (*nl80211.Client, error) { return dial(malformed.add) },
	}
	defer func() { err = errors.Join(err, bss.close()) }()
	watcher := hostapd.NewWatcher(options.hostapdControl, options.interfaceName, options.runDirectory, malformed.add, logger)
	connected := make(chan bool)
	commands := make(chan *airboundv1.AccessPointCommand)
	outgoing := make(chan *request)
	worker := &agent{
		look: bss.look, updates: watcher.Updates(), refreshHostapd: watcher.Refresh,
		connected: connected, commands: commands, outgoing: outgoing,
		reporter: report.Reporter{AgentVersion: version}, malformed: malformed, monotonicUS: monotonicUS,
		interval: options.interval, logger: logger,
	}
	logger.Info("started", "version", version, "interface", options.interfaceName, "controller", options.controller)

	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { watcher.Run(ctx) })
	group.Go(func() { worker.run(ctx) })
	err = uplink.Run(ctx, uplink.Config{Address: options.controller, Logger: logger}, openStream, outgoing,
		func(message *response) { pass(ctx, commands, message.GetCommand()) },
		func(isConnected bool) { pass(ctx, connected, isConnected) })
	cancel()
	group.Wait()
	logger.Info("stopped")
	return err
}

func openStream(ctx context.Context, conn *grpc.ClientConn) (grpc.BidiStreamingClient[request, response], error) {
	return airboundv1.NewAccessPointServiceClient(conn).Connect(ctx)
}

func pass[T any](ctx context.Context, to chan<- T, value T) {
	select {
	case to <- value:
	case <-ctx.Done():
	}
}
