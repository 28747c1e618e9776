// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"
)

// places are what every command needs to find.
type places struct {
	procRoot string
	stateDir string
}

func (p *places) register(flags *flag.FlagSet) {
	flags.StringVar(&p.procRoot, "proc-root", "/proc", "`DIR` where the proc file system is")
	flags.StringVar(&p.stateDir, "state-dir", "/run/airbound-phone", "`DIR` of the running agent's lock and state; one agent per directory")
}

// runOptions are the flags of `run`.
type runOptions struct {
	places
	controller     string
	interfaceName  string
	mac            string
	interval       time.Duration
	sampleInterval time.Duration
	logLevel       slog.Level
}

// Limits of the two intervals: shorter costs the battery, longer leaves the controller blind.
const (
	intervalMin       = 100 * time.Millisecond
	intervalMax       = 60 * time.Second
	sampleIntervalMin = 50 * time.Millisecond
)

func parseRunOptions(arguments []string, stdout io.Writer) (runOptions, error) {
	var options runOptions
	flags := newFlags("run")
	options.register(flags)
	flags.StringVar(&options.controller, "controller", "", "`ADDR:PORT` of the controller (required)")
	flags.StringVar(&options.interfaceName, "interface", "", "Wi-Fi `INTERFACE` whose MAC address names this terminal (required unless --mac is given)")
	flags.StringVar(&options.mac, "mac", "", "`MAC` address to report instead of the interface's own")
	flags.DurationVar(&options.interval, "interval", time.Second, "longest time between two reports, and between two looks at an idle kernel")
	flags.DurationVar(&options.sampleInterval, "sample-interval", 250*time.Millisecond, "time between two looks at the kernel while anything is sent")
	flags.TextVar(&options.logLevel, "log-level", slog.LevelInfo, "debug, info, warn or error")
	if err := parse(flags, arguments, stdout); err != nil {
		return options, err
	}
	return options, options.check()
}

func (o *runOptions) check() error {
	if o.controller == "" {
		return errors.New("--controller is missing")
	}
	if _, port, err := net.SplitHostPort(o.controller); err != nil || port == "" {
		return fmt.Errorf("--controller %q is not ADDR:PORT", o.controller)
	}
	if o.interfaceName == "" && o.mac == "" {
		return errors.New("--interface is missing")
	}
	if o.mac != "" {
		hardware, err := net.ParseMAC(o.mac)
		if err != nil || len(hardware) != 6 {
			return fmt.Errorf("--mac %q is not a MAC address of six octets", o.mac)
		}
		o.mac = hardware.String()
	}
	if o.interval < intervalMin || o.interval > intervalMax {
		return fmt.Errorf("--interval %v is not within %v to %v", o.interval, intervalMin, intervalMax)
	}
	if o.sampleInterval < sampleIntervalMin || o.sampleInterval > o.interval {
		return fmt.Errorf("--sample-interval %v is not within %v and --interval %v", o.sampleInterval, sampleIntervalMin, o.interval)
	}
	return nil
}

// newFlags makes a flag set that prints nothing by itself; parse says what there is to say.
func newFlags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

func parse(flags *flag.FlagSet, arguments []string, stdout io.Writer) error {
	err := flags.Parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(stdout, "Usage: airbound-phone %s [FLAGS]\n", flags.Name())
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return err
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err != nil {
		return fmt.Errorf("%w; see airbound-phone %s --help", err, flags.Name())
	}
	return nil
}
