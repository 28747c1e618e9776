// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/airbound/airbound/internal/command"
)

// Limits of the report interval.
const (
	intervalMin = 100 * time.Millisecond
	intervalMax = 60 * time.Second
	// lookIntervalMin is what rates are taken over at least.
	lookIntervalMin = 150 * time.Millisecond
)

// bssOptions are the flags that name BSSs.
type bssOptions struct {
	// interfaces are empty for all BSSs that the kernel has.
	interfaces     []string
	hostapdControl string
}

// hostapdDirectory is OpenWrt's; on other systems /var/run is a link to /run.
const hostapdDirectory = "/var/run/hostapd"

func (o *bssOptions) register(flags *flag.FlagSet) {
	flags.Func("interface", "wireless `INTERFACE` of a BSS; may be given several times (default: every interface that "+
		"is an access point)", func(name string) error {
		o.interfaces = append(o.interfaces, name)
		return nil
	})
	flags.StringVar(&o.hostapdControl, "hostapd-control", hostapdDirectory,
		"`PATH` of the directory of hostapd's control sockets, or of the socket if one --interface is given")
}

func (o *bssOptions) check() error {
	for i, name := range o.interfaces {
		if err := checkInterface(name); err != nil {
			return err
		}
		if slices.Contains(o.interfaces[:i], name) {
			return fmt.Errorf("--interface %s is given twice", name)
		}
	}
	return nil
}

func checkInterface(name string) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("--interface %w", err)
	}
	return nil
}

// checkName refuses what the kernel does not take either: the name is part of paths.
func checkName(name string) error {
	const bytesMax = 15
	if name == "" || name == "." || name == ".." || len(name) > bytesMax || strings.ContainsAny(name, "/ \t\n") {
		return fmt.Errorf("%q is not the name of an interface", name)
	}
	return nil
}

// controlOf returns the path of hostapd's control socket for an interface. Before hostapd has started there may be
// neither the socket nor its directory; hostapd names sockets after their interfaces.
func (o *bssOptions) controlOf(name string) string {
	info, err := os.Stat(o.hostapdControl)
	if isSocket := err == nil && !info.IsDir(); isSocket || filepath.Base(o.hostapdControl) == name {
		return o.hostapdControl
	}
	return filepath.Join(o.hostapdControl, name)
}

// runOptions are the flags of `run`.
type runOptions struct {
	bssOptions

	controller    command.Controller
	security      command.Security
	interval      time.Duration
	lookInterval  time.Duration
	hostapdConfig []string
	noEDCA        bool
	// estimateAirtime is for drivers whose durations are worse than an estimate.
	estimateAirtime bool
	// windowClamp permits to follow stations' connections and to rewrite the windows of their packets.
	windowClamp bool
	// noStationFlows forbids to give packets to stations another access category.
	noStationFlows bool
	// bridge is the switch that the BSSs are ports of; empty if none is named.
	bridge  string
	state   stateOptions
	logging command.Logging
	// discovery has the times of looking for BSSs; its zero value stands for the usual ones.
	discovery discoveryTimes
}

// stateOptions are the flags that name the place of the running agents' files.
type stateOptions struct{ parent string }

func (o *stateOptions) register(flags *flag.FlagSet) {
	flags.StringVar(&o.parent, "state-dir", "/run/airbound-ap",
		"`DIR` of the running agents' locks and states, one directory for each interface below it")
}

// check makes the path absolute: the guard has another working directory.
func (o *stateOptions) check() error {
	absolute, err := filepath.Abs(o.parent)
	if err != nil {
		return fmt.Errorf("--state-dir: %w", err)
	}
	o.parent = absolute
	return nil
}

func (o *runOptions) register(flags *flag.FlagSet) {
	o.bssOptions.register(flags)
	o.controller.Flags(flags)
	o.security.Flags(flags, "/var/lib/airbound-ap")
	flags.DurationVar(&o.interval, "interval", time.Second, "time between two reports, 100ms to 60s")
	flags.DurationVar(&o.lookInterval, "look-interval", 200*time.Millisecond,
		"time between two looks at the stations' counters between reports: a station that began to send or stopped "+
			"is reported at once; 150ms to 60s; 0: none")
	flags.Func("hostapd-config", "`PATH` of hostapd's configuration, which has the access point's own EDCA "+
		"parameters; may be given several times, for several radios (default: what hostapd has without one)",
		func(path string) error {
			o.hostapdConfig = append(o.hostapdConfig, path)
			return nil
		})
	flags.BoolVar(&o.noEDCA, "no-edca", false, "set no EDCA parameters, whatever the controller sends")
	flags.BoolVar(&o.estimateAirtime, "estimate-airtime", false,
		"estimate all airtime, and do not use what the driver has (default: only where it has none)")
	flags.BoolVar(&o.windowClamp, "window-clamp", false,
		"follow the TCP connections of stations, and lower the receive windows that they are offered if the "+
			"controller says so; needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN (default: look at no packet)")
	flags.BoolVar(&o.noStationFlows, "no-station-flows", false,
		"give no packets to stations another access category, whatever the controller sends (default: do so; needs "+
			"CAP_BPF and CAP_NET_ADMIN)")
	flags.StringVar(&o.bridge, "bridge", "", "`INTERFACE` of the Open vSwitch bridge that the BSSs are ports of: its "+
		"MAC address is reported as the switch's datapath identifier")
	o.state.register(flags)
	o.logging.Flags(flags)
}

func (o *runOptions) check() error {
	return cmp.Or(o.controller.Check(), o.security.Check(o.controller.Addresses),
		command.CheckWithin("interval", o.interval, intervalMin, intervalMax), o.checkLookInterval(),
		o.logging.Check(), o.bssOptions.check(), o.checkBridge(), o.state.check())
}

func (o *runOptions) checkLookInterval() error {
	if o.lookInterval == 0 {
		return nil
	}
	return command.CheckWithin("look-interval", o.lookInterval, lookIntervalMin, intervalMax)
}

func (o *runOptions) checkBridge() error {
	if o.bridge == "" {
		return nil
	}
	if err := checkName(o.bridge); err != nil {
		return fmt.Errorf("--bridge %w", err)
	}
	return nil
}
