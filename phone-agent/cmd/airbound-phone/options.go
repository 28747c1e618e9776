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
	backEnd  backEndOptions
}

func (p *places) register(flags *flag.FlagSet) {
	flags.StringVar(&p.procRoot, "proc-root", "/proc", "`DIR` where the proc file system is")
	flags.StringVar(&p.stateDir, "state-dir", defaultStateDir,
		"`DIR` of the running agent's lock and state; one agent per directory")
	p.backEnd.register(flags)
}

// Where an agent's files are unless a flag says otherwise. A package for a system that has other places sets them by
// the linker, as version. Without defaultConfigFile no configuration is read unless --config names one.
var (
	defaultStateDir       = "/run/airbound-phone"
	defaultCredentialsDir = "/var/lib/airbound-phone" //nolint:gosec // a directory
	defaultConfigFile     = ""
)

// configFile is --config. Its keys are the flags of `run`, for every command that has it.
func configFile() *command.ConfigFile {
	return &command.ConfigFile{Path: defaultConfigFile, Keys: func(flags *flag.FlagSet) {
		var ignored runOptions
		ignored.register(flags)
	}}
}

// runOptions are the flags of `run`.
type runOptions struct {
	places
	controller     command.Controller
	security       command.Security
	names          command.Names
	interfaceName  string
	macText        string
	mac            net.HardwareAddr
	interval       time.Duration
	heartbeat      time.Duration
	sampleInterval time.Duration
	monitor        string
	tracefs        string
	noTracing      bool
	noRetransmit   bool
	asksServers    bool
	noFlows        bool
	events         eventOptions
	applications   applicationOptions
	logging        command.Logging
}

// sampleIntervalMin limits what the agent costs of the battery.
const sampleIntervalMin = 50 * time.Millisecond

func (o *runOptions) register(flags *flag.FlagSet) {
	o.places.register(flags)
	flags.StringVar(&o.monitor, "monitor", auto,
		"`KIND` of kernel interface for connections: procfs (patched kernel), sockdiag (any kernel), or auto")
	o.controller.Flags(flags)
	o.security.Flags(flags, defaultCredentialsDir)
	o.names.Flags(flags)
	flags.StringVar(&o.interfaceName, "interface", "",
		"Wi-Fi `INTERFACE` whose MAC address is reported (default: the one in station mode, connected ones first)")
	flags.StringVar(&o.macText, "mac", "", "`MAC` address to report instead of the interface's own")
	flags.DurationVar(
		&o.interval,
		"interval",
		time.Second,
		"time between two reports while sending or with bounds or flows, and two samples of an idle kernel, "+
			"100ms to 60s",
	)
	flags.DurationVar(&o.heartbeat, "heartbeat", 10*time.Second, "time between two reports otherwise, 1s to 10m")
	flags.DurationVar(&o.sampleInterval, "sample-interval", 250*time.Millisecond,
		"time between two samples of the kernel while anything is sent, 50ms to --interval")
	registerTracefs(flags, &o.tracefs)
	flags.BoolVar(&o.noTracing, "no-tracing", false,
		"make no instance of tracing: the start of sending is seen at the next sample only")
	flags.BoolVar(&o.noRetransmit, "no-retransmit", false,
		"leave TCP to its timers when the phone arrives at an access point: do not make it retransmit at once")
	flags.BoolVar(&o.asksServers, "ask-servers", false,
		"send messages to the servers of downloads as well when the phone arrives, so that they retransmit at once")
	flags.BoolVar(&o.noFlows, "no-flows", false,
		"leave packets as they are: give no app's packets another access category, nor UDP a rate")
	o.events.register(flags)
	o.applications.register(flags)
	o.logging.Flags(flags)
}

func (o *runOptions) check() error {
	return cmp.Or(
		o.controller.Check(),
		o.security.Check(o.controller.Addresses),
		o.names.Check(),
		o.checkMAC(),
		o.backEnd.check(),
		checkOneOf("monitor", o.monitor, auto, patched, anyKernel),
		command.CheckWithin("interval", o.interval, agent.IntervalMin, agent.IntervalMax),
		command.CheckWithin("heartbeat", o.heartbeat, agent.HeartbeatMin, agent.HeartbeatMax),
		command.CheckWithin("sample-interval", o.sampleInterval, sampleIntervalMin, o.interval),
		o.checkRetransmission(),
		o.events.check(),
		o.logging.Check(),
	)
}

func (o *runOptions) checkRetransmission() error {
	if o.noRetransmit && o.asksServers {
		return errors.New("--no-retransmit and --ask-servers exclude each other")
	}
	return nil
}

func (o *runOptions) checkMAC() error {
	if o.macText == "" {
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
