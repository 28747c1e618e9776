// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/agent"
	"github.com/airbound/airbound/ap-firmware/neighbours"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	flowsbpf "github.com/airbound/airbound/ap-firmware/stationflows/tcbpf"
	"github.com/airbound/airbound/ap-firmware/windows/tcbpf"
	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/internal/wireless"
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
		Name: "run",
		Summary: "report, set EDCA parameters, limit windows and give packets a category, until stopped (SIGTERM, " +
			"SIGINT or SIGHUP); may be left out",
		Examples: []string{
			"airbound-ap --controller 192.0.2.1:50051 --token-file /etc/airbound/token",
			"airbound-ap --controller 192.0.2.1:50051 --interface phy0-ap0 --interface phy1-ap0",
			"airbound-ap --controller c1.example:50051 --controller c2.example:50051",
			"airbound-ap run --controller 192.0.2.1:50051 --interface wlan0 --hostapd-control /tmp/hostapd",
			"airbound-ap --controller 192.0.2.1:50051 --interface wlan0 --hostapd-config /etc/hostapd/hostapd.conf",
			"airbound-ap --controller 192.0.2.1:50051 --window-clamp --bridge br-lan",
		},
		Flags: options.register, Check: options.check,
		Run: func(ctx context.Context, _, stderr io.Writer) (int, error) {
			limitMemory()
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
	events   func() (wireless.EventSource, error)
	windows  func(options tcbpf.Options) (windowsKernel, error)
	flows    func(options flowsbpf.Options) stationFlowsKernel
}

func realKernel() sockets {
	return sockets{
		wireless: nl80211.Dial, routing: neighbours.Dial, events: wireless.DialEvents, windows: loadWindows,
		flows: newStationFlows,
	}
}

// shared are the sockets that all BSSs of a process share.
func (s sockets) shared() *agent.Sockets { return agent.NewSockets(s.wireless, s.routing) }

func monotonicUS() int64 {
	var now unix.Timespec
	// Fails only for a clock that the kernel does not have.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	const nsPerUS = 1000
	return now.Nano() / nsPerUS
}
