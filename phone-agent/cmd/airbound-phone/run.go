// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/phone-agent/agent"
	"github.com/airbound/airbound/phone-agent/statedir"
)

const (
	// The agent needs less than 20 MB. The limit is that of the Go heap and stacks; the program's text is not in it.
	memoryLimitBytes = 12 << 20
	gcPercent        = 50
)

func runCommand() command.Command {
	var options runOptions
	return command.Command{
		Name: "run", Summary: "run the agent until it is stopped (SIGTERM, SIGINT or SIGHUP)",
		Examples: []string{
			"airbound-phone run --controller 192.0.2.1:50051 --interface wlan0 --token-file /etc/airbound/token",
			"airbound-phone run --controller c1.example:50051 --controller c2.example:50051 --interface wlan0",
			"airbound-phone run --config /etc/airbound/phone.conf",
		},
		Notes: configNotes,
		Flags: options.register, Config: configFile(), Check: options.check,
		Run: func(ctx context.Context, _, stderr io.Writer) (int, error) {
			debug.SetMemoryLimit(memoryLimitBytes)
			debug.SetGCPercent(gcPercent)
			// More threads would only cost memory and wake-ups.
			runtime.GOMAXPROCS(1)
			logger, end := options.logging.Open(stderr)
			defer end()
			if err := run(ctx, options, logger); err != nil {
				return command.ExitError, err
			}
			return command.ExitOK, nil
		},
	}
}

const configNotes = `A configuration file has a line for each flag, for example:

  # where the controller is; may be given several times
  controller = c1.example:50051
  controller = c2.example:50051
  interface = wlan0
  token-file = /etc/airbound/token
  no-tracing = true

A value may contain spaces, and is written without quotation marks. Keys that do not exist, and values that the flag
would not take, are errors.`

// run runs the agent until ctx ends. Whatever ends it, the kernel's defaults are restored when it returns.
func run(ctx context.Context, options runOptions, logger *slog.Logger) (err error) {
	directory := statedir.New(options.stateDir)
	unlock, err := directory.Lock()
	if errors.Is(err, statedir.ErrRunning) {
		return err
	}
	if err == nil {
		defer func() { err = errors.Join(err, unlock()) }()
	}
	// Before anything else can fail: an agent that cannot start must not leave the rules of an earlier one in force.
	backEnd, errBackEnd := options.openBackEnd(logger)
	if backEnd != nil {
		errBackEnd = backEnd.CleanUp()
	}
	if err := errors.Join(err, errBackEnd); err != nil {
		return err
	}
	cleanUpFlows(logger)
	source, marks, err := options.openMonitor(options.monitor)
	if err != nil {
		return err
	}
	link, err := options.currentLink()
	if err != nil {
		return err
	}
	options.names.Use()
	if name := options.names.Unresolvable(options.controller.Addresses); name != "" {
		logger.Warn("cannot resolve the controller's name", "name", name, "error", command.UnresolvableAdvice)
	}
	connection := newConnection(ctx)
	defer connection.cancel()
	device, err := openDevice(options, directory, connection.dialed, logger)
	if err != nil {
		return err
	}
	watch := watchStarts(options, logger)
	defer watch.close(logger)
	phone, err := agent.Start(agent.Config{
		Version: version, PID: os.Getpid(), Controller: options.controller.String(),
		Interval: options.interval, Heartbeat: options.heartbeat, SampleInterval: options.sampleInterval,
		HeartbeatPhase: rand.Float64,
		Starts:         watch.Starts,
		Monitor:        source, Marks: marks, BackEnd: backEnd, Flows: options.openFlows(link.Interface, logger),
		SaveState: directory.Save, Logger: logger,
	}, link, bootTimeUS())
	if err != nil {
		return err
	}
	logger.Info("started", "version", version, "interface", link.Interface, "mac", link.MAC.String(),
		"bssid", link.BSSID, "controller", options.controller.String())
	connection.start(options, device, phone, link, logger)
	defer connection.wait()
	// Before the connection is closed, which may take time.
	defer func() {
		if stopErr := stop(phone); stopErr != nil {
			err = errors.Join(err, fmt.Errorf("stop: %w", stopErr))
			return
		}
		logger.Info("stopped, the kernel's defaults are in force")
	}()
	return loop(ctx, phone, connection, watch)
}

// loop is the only goroutine that uses the agent. It sleeps until something is due or something happens.
func loop(ctx context.Context, phone *agent.Agent, connection *connection, watch startsWatch) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-connection.ended:
			return connection.err
		case call := <-connection.events:
			call(bootTimeUS())
		case <-watch.seen:
			phone.StartSeen(bootTimeUS())
		case err := <-watch.failed:
			phone.StartsUnseen(bootTimeUS(), err)
		case <-timer.C:
		}
		if report := phone.Wake(bootTimeUS()); report != nil {
			report.MonotonicUs = monotonicUS()
			connection.send(report)
		}
		nowUS := bootTimeUS()
		timer.Reset(time.Duration(phone.NextWakeUS(nowUS)-nowUS) * time.Microsecond)
	}
}

// A kernel that is short of memory may have some a moment later.
const (
	stopTries      = 10
	stopTriesApart = 100 * time.Millisecond
)

// stop restores the kernel's defaults, and tries again for a while if that fails.
func stop(phone *agent.Agent) error {
	for try := 1; ; try++ {
		err := phone.Stop(bootTimeUS())
		if err == nil || try == stopTries || errors.Is(err, fs.ErrPermission) {
			return err
		}
		time.Sleep(stopTriesApart)
	}
}
