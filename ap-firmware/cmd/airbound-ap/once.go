// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/airbound/airbound/ap-firmware/agent"
	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/report"
	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/internal/sparselog"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

func onceCommand(kernel sockets) command.Command {
	var options onceOptions
	return command.Command{
		Name: "once", Summary: "print one report of each BSS and exit, without a controller",
		Examples: []string{"airbound-ap once", "airbound-ap once --interface wlan0 --json"},
		Flags:    options.register, Check: options.check,
		Run: func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
			if err := once(ctx, options, kernel, slog.New(slog.NewTextHandler(stderr, nil)), stdout); err != nil {
				return command.ExitError, err
			}
			return command.ExitOK, nil
		},
	}
}

// onceOptions are the flags of `once`.
type onceOptions struct {
	bssOptions

	json bool
}

func (o *onceOptions) register(flags *flag.FlagSet) {
	o.bssOptions.register(flags)
	flags.BoolVar(&o.json, "json", false,
		"print each report in protobuf's JSON form, with addresses as base64, as the controller would receive it")
}

// once prints what the agent would report now of each BSS. Without hostapd, the kernel alone decides which stations are
// associated.
func once(ctx context.Context, options onceOptions, kernel sockets, logger *slog.Logger, stdout io.Writer) (err error) {
	malformed, refuse := malformedInputs(logger)
	shared := kernel.shared()
	defer func() { err = errors.Join(err, shared.Close()) }()
	names := options.interfaces
	if len(names) == 0 {
		found, err := shared.AccessPoints(refuse)
		if err != nil {
			return err
		}
		for _, each := range found {
			names = append(names, each.Name)
		}
		if len(names) == 0 {
			return errors.New("no interface of this network namespace is an access point")
		}
	}
	var errs []error
	for i, name := range names {
		if i > 0 && !options.json {
			fmt.Fprintln(stdout)
		}
		message, err := sampleOnce(ctx, options.bssOptions, name, shared.Kernel(name, refuse), malformed, logger)
		switch {
		case err != nil: // The others are worth printing.
		case options.json:
			err = printJSON(stdout, message)
		default:
			err = printTable(stdout, message)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func sampleOnce(
	ctx context.Context, options bssOptions, name string, sampler agent.Sampler, malformed *sparselog.Counter,
	logger *slog.Logger,
) (*airboundv1.AccessPointReport, error) {
	control := options.controlOf(name)
	associations, err := queryHostapd(ctx, control, name, func(error) { malformed.Add() })
	if err != nil {
		logger.Warn("no associations from hostapd", "interface", name, "socket", control, "error", err)
	}
	snapshot, err := sampler.Snapshot()
	if err != nil {
		return nil, err
	}
	indexes := snapshot.Indexes()
	addresses, err := sampler.Addresses(indexes[0], indexes[1:]...)
	if err != nil {
		logger.Warn("cannot read the stations' IP addresses", "interface", name, "error", err)
	}
	sample := report.Sample{
		MonotonicUS: uint64(max(monotonicUS(), 0)), Kernel: snapshot, Addresses: addresses,
		MalformedInputsTotal: malformed.Total(),
		Trigger:              airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_INTERVAL,
	}
	if associations.Known() {
		sample.IsAuthorized = func(station *nl80211.Station) bool { return associations.Has(station.MAC) }
	}
	reporter := report.Reporter{AgentVersion: version}
	return reporter.Next(sample), nil
}

func queryHostapd(
	ctx context.Context, control, name string, malformed func(error),
) (_ hostapd.Associations, err error) {
	var associations hostapd.Associations
	client, err := hostapd.Dial(control, malformed)
	if err != nil {
		return associations, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	status, err := client.Status(ctx)
	if err != nil {
		return associations, err
	}
	if !slices.Contains(status.Interfaces, name) {
		return associations, fmt.Errorf("socket serves %q, not %s", status.Interfaces, name)
	}
	stations, err := client.Stations(ctx)
	if errors.Is(err, hostapd.ErrNoList) {
		return associations, nil // The kernel's flags are as good.
	}
	if err != nil {
		return associations, err
	}
	associations.Replace(stations)
	return associations, nil
}

// printJSON indents by itself: protojson deliberately varies its white space from build to build.
func printJSON(stdout io.Writer, message *airboundv1.AccessPointReport) error {
	options := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}
	compact, err := options.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, compact, "", "  "); err != nil {
		return fmt.Errorf("indent report: %w", err)
	}
	indented.WriteByte('\n')
	if _, err := indented.WriteTo(stdout); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}
