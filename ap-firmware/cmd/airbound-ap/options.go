// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/airbound/airbound/internal/command"
)

// Limits of the report interval.
const (
	intervalMin = 100 * time.Millisecond
	intervalMax = 60 * time.Second
)

// bssOptions are the flags that name a BSS.
type bssOptions struct {
	interfaceName  string
	hostapdControl string
}

func (o *bssOptions) register(flags *flag.FlagSet) {
	flags.StringVar(&o.interfaceName, "interface", "", "wireless `INTERFACE` of the BSS (required)")
	flags.StringVar(&o.hostapdControl, "hostapd-control", "",
		"`PATH` of hostapd's control socket for the interface (default /var/run/hostapd/INTERFACE)")
}

func (o *bssOptions) check() error {
	if o.interfaceName == "" {
		return errors.New("--interface is missing")
	}
	// The name is part of paths; the kernel takes neither of these.
	if o.interfaceName == "." || o.interfaceName == ".." || strings.Contains(o.interfaceName, "/") {
		return fmt.Errorf("--interface %q is not the name of an interface", o.interfaceName)
	}
	if o.hostapdControl == "" {
		// OpenWrt's place; on other systems /var/run is a link to /run.
		o.hostapdControl = filepath.Join("/var/run/hostapd", o.interfaceName)
	}
	return nil
}

// runOptions are the flags of `run`.
type runOptions struct {
	bssOptions

	controller    command.Controller
	security      command.Security
	interval      time.Duration
	hostapdConfig string
	noEDCA        bool
	state         stateOptions
	logging       command.Logging
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
	flags.StringVar(&o.hostapdConfig, "hostapd-config", "",
		"`PATH` of hostapd's configuration, which has the access point's own EDCA parameters (default: those that "+
			"hostapd has without one)")
	flags.BoolVar(&o.noEDCA, "no-edca", false, "set no EDCA parameters, whatever the controller sends")
	o.state.register(flags)
	o.logging.Flags(flags)
}

func (o *runOptions) check() error {
	return cmp.Or(o.controller.Check(), o.security.Check(o.controller.Addresses),
		command.CheckWithin("interval", o.interval, intervalMin, intervalMax),
		o.logging.Check(), o.bssOptions.check(), o.state.check())
}
