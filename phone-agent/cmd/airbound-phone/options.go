// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net"
	"time"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/phone-agent/agent"
)

// places are the directories that most commands use.
type places struct {
	procRoot string
	stateDir string
}

func (p *places) register(flags *flag.FlagSet) {
	flags.StringVar(&p.procRoot, "proc-root", "/proc", "`DIR` where the proc file system is")
	flags.StringVar(&p.stateDir, "state-dir", "/run/airbound-phone",
		"`DIR` of the running agent's lock and state; one agent per directory")
}

// runOptions are the flags of `run`.
type runOptions struct {
	places
	controller     command.Controller
	security       command.Security
	interfaceName  string
	macText        string
	mac            net.HardwareAddr
	interval       time.Duration
	heartbeat      time.Duration
	sampleInterval time.Duration
	tracefs        string
	noTracing      bool
	logging        command.Logging
}

// sampleIntervalMin limits what the agent costs of the battery.
const sampleIntervalMin = 50 * time.Millisecond

func (o *runOptions) register(flags *flag.FlagSet) {
	o.places.register(flags)
	o.controller.Flags(flags)
	o.security.Flags(flags, "/var/lib/airbound-phone")
	flags.StringVar(&o.interfaceName, "interface", "",
		"Wi-Fi `INTERFACE` whose MAC address is reported (required unless --mac is given)")
	flags.StringVar(&o.macText, "mac", "", "`MAC` address to report instead of the interface's own")
	flags.DurationVar(
		&o.interval,
		"interval",
		time.Second,
		"time between two reports while sending or with bounds, and two samples of an idle kernel, 100ms to 60s",
	)
	flags.DurationVar(&o.heartbeat, "heartbeat", 10*time.Second, "time between two reports otherwise, 1s to 10m")
	flags.DurationVar(&o.sampleInterval, "sample-interval", 250*time.Millisecond,
		"time between two samples of the kernel while anything is sent, 50ms to --interval")
	registerTracefs(flags, &o.tracefs)
	flags.BoolVar(&o.noTracing, "no-tracing", false,
		"make no instance of tracing: the start of sending is seen at the next sample only")
	o.logging.Flags(flags)
}

func (o *runOptions) check() error {
	return cmp.Or(
		o.controller.Check(),
		o.security.Check(o.controller.Addresses),
		o.checkMAC(),
		command.CheckWithin("interval", o.interval, agent.IntervalMin, agent.IntervalMax),
		command.CheckWithin("heartbeat", o.heartbeat, agent.HeartbeatMin, agent.HeartbeatMax),
		command.CheckWithin("sample-interval", o.sampleInterval, sampleIntervalMin, o.interval),
		o.logging.Check(),
	)
}

func (o *runOptions) checkMAC() error {
	if o.macText == "" {
		if o.interfaceName == "" {
			return errors.New("--interface is missing")
		}
		return nil
	}
	var err error
	if o.mac, err = net.ParseMAC(o.macText); err != nil || len(o.mac) != macOctets {
		return fmt.Errorf("--mac %q is not a MAC address of six octets", o.macText)
	}
	return nil
}

// macOctets is the length of a Wi-Fi interface's address.
const macOctets = 6

// currentMAC returns the terminal's MAC address.
func (o *runOptions) currentMAC() (net.HardwareAddr, error) {
	if o.mac != nil {
		return o.mac, nil
	}
	found, err := net.InterfaceByName(o.interfaceName)
	if err != nil {
		return nil, fmt.Errorf("find interface %s: %w", o.interfaceName, err)
	}
	if len(found.HardwareAddr) != macOctets {
		return nil, fmt.Errorf("interface %s has no MAC address", o.interfaceName)
	}
	return found.HardwareAddr, nil
}
