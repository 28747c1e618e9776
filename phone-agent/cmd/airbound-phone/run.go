// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/airbound/airbound/phone-agent/agent"
	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/status"
	"github.com/airbound/airbound/uplink/lossy"
)

const (
	// The agent lives in less than 20 MB. The limit is the Go heap's and stacks'; the program's text comes on top.
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
	// There is never more than a sliver of work; more threads would only cost memory and wake-ups.
	runtime.GOMAXPROCS(1)
	// Whoever read the log may end before the agent, which must live to free the phone.
	signal.Ignore(syscall.SIGPIPE)
	log := lossy.New(stderr, logLinesMax)
	defer log.Close(logPatience)
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: options.logLevel}))
	if err := run(ctx, options, logger); err != nil {
		return exitError, err
	}
	return exitOK, nil
}

// run is the agent's life. Whatever ends it, the kernel's defaults are back when it returns.
func run(ctx context.Context, options runOptions, logger *slog.Logger) (err error) {
	directory := status.NewDirectory(options.stateDir)
	unlock, err := directory.Lock()
	if errors.Is(err, status.ErrRunning) {
		return err
	}
	if err == nil {
		defer func() { err = errors.Join(err, unlock()) }()
	}
	// Before anything else can fail: an agent that cannot start must not leave what an earlier life left.
	backEnd := apply.NewProcfs(apply.NewProcFile(options.procRoot))
	if err := errors.Join(err, backEnd.CleanUp()); err != nil {
		return err
	}
	link := agent.Link{}
	if link.MAC, err = macOf(options); err != nil {
		return err
	}
	phone, err := agent.Start(agent.Config{
		Version: version, PID: os.Getpid(), Controller: options.controller, Interface: options.interfaceName,
		Interval: options.interval, SampleInterval: options.sampleInterval,
		ReadMonitor: newMonitorFile(options.procRoot).read,
		BackEnd:     backEnd,
		SaveState:   directory.Save, Logger: logger,
	}, link, bootTimeUS())
	if err != nil {
		return err
	}
	logger.Info("started", "version", version, "mac", link.MAC, "controller", options.controller)
	connection := startUplink(ctx, options, phone, link, logger)
	defer connection.wait()
	// Before the connection is waited for: the phone's own good comes first.
	defer func() {
		if stopErr := stop(phone); stopErr != nil {
			err = errors.Join(err, fmt.Errorf("stop: %w", stopErr))
			return
		}
		logger.Info("stopped, the kernel's defaults hold")
	}()
	return loop(ctx, phone, connection)
}

// loop is the only goroutine that touches the agent. It sleeps until something is due or something happens.
func loop(ctx context.Context, phone *agent.Agent, connection *connection) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-connection.ended:
			return connection.err
		case happen := <-connection.events:
			happen(bootTimeUS())
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
