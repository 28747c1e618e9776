// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"flag"
	"path/filepath"
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
		"`PATH` of hostapd's control socket for the interface (default /run/hostapd/INTERFACE)")
}

func (o *bssOptions) check() error {
	if o.interfaceName == "" {
		return errors.New("--interface is missing")
	}
	if o.hostapdControl == "" {
		o.hostapdControl = filepath.Join("/run/hostapd", o.interfaceName)
	}
	return nil
}

// runOptions are the flags of `run`.
type runOptions struct {
	bssOptions

	controller command.Controller
	interval   time.Duration
	logging    command.Logging
}

func (o *runOptions) register(flags *flag.FlagSet) {
	o.bssOptions.register(flags)
	o.controller.Flags(flags)
	flags.DurationVar(&o.interval, "interval", time.Second, "time between two reports, 100ms to 60s")
	o.logging.Flags(flags)
}

func (o *runOptions) check() error {
	return cmp.Or(o.controller.Check(), command.CheckWithin("interval", o.interval, intervalMin, intervalMax),
		o.logging.Check(), o.bssOptions.check())
}
