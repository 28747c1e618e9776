// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"time"
)

// Limits of the report interval, for the flag and for the controller's command.
const (
	intervalMin = 100 * time.Millisecond
	intervalMax = 60 * time.Second
)

// bssOptions say which BSS to look at.
type bssOptions struct {
	interfaceName  string
	hostapdControl string
	runDirectory   string
}

func (o *bssOptions) register(flags *flag.FlagSet) {
	flags.StringVar(&o.interfaceName, "interface", "", "wireless `INTERFACE` of the BSS (required)")
	flags.StringVar(&o.hostapdControl, "hostapd-control", "",
		"`PATH` of hostapd's control socket for the interface (default /run/hostapd/INTERFACE)")
	flags.StringVar(&o.runDirectory, "run-dir", "",
		"`DIR` for the agent's own socket, which hostapd must be able to reach (default the directory for temporary files)")
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

	controller string
	interval   time.Duration
	logLevel   slog.Level
	logFormat  string
}

func parseRunOptions(arguments []string, stdout io.Writer) (runOptions, error) {
	var options runOptions
	flags := newFlags("run")
	options.register(flags)
	flags.StringVar(&options.controller, "controller", "", "`ADDR:PORT` of the controller (required)")
	flags.DurationVar(&options.interval, "interval", time.Second, "time between two reports, 100ms to 60s; the controller may change it")
	flags.TextVar(&options.logLevel, "log-level", slog.LevelInfo, "debug, info, warn or error")
	flags.StringVar(&options.logFormat, "log-format", "text", "`FORMAT` of the log on standard error: text or json")
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
	if o.interval < intervalMin || o.interval > intervalMax {
		return fmt.Errorf("--interval %v is not within %v to %v", o.interval, intervalMin, intervalMax)
	}
	if o.logFormat != "text" && o.logFormat != "json" {
		return fmt.Errorf("--log-format %q is neither text nor json", o.logFormat)
	}
	return o.bssOptions.check()
}

func (o *runOptions) logger(stderr io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: o.logLevel}
	if o.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(stderr, options))
	}
	return slog.New(slog.NewTextHandler(stderr, options))
}

// onceOptions are the flags of `once`.
type onceOptions struct {
	bssOptions

	json bool
}

func parseOnceOptions(arguments []string, stdout io.Writer) (onceOptions, error) {
	var options onceOptions
	flags := newFlags("once")
	options.register(flags)
	flags.BoolVar(&options.json, "json", false, "print the report as the controller would get it, in protobuf's JSON form")
	if err := parse(flags, arguments, stdout); err != nil {
		return options, err
	}
	return options, options.check()
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
		fmt.Fprintf(stdout, "Usage: airbound-ap %s [FLAGS]\n", flags.Name())
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		fmt.Fprint(stdout, examplesOf(flags.Name()))
		return err
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err != nil {
		return fmt.Errorf("%w; see airbound-ap %s --help", err, flags.Name())
	}
	return nil
}

// examplesOf returns the examples of the help that are of the command.
func examplesOf(command string) string {
	var examples strings.Builder
	examples.WriteString("Examples:\n")
	for line := range strings.Lines(help) {
		if strings.HasPrefix(line, "  airbound-ap "+command) {
			examples.WriteString(line)
		}
	}
	return examples.String()
}
