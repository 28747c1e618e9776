// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/report"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

func onceCommand(ctx context.Context, arguments []string, stdout, stderr io.Writer) (int, error) {
	options, err := parseOnceOptions(arguments, stdout)
	if err != nil {
		return exitUsage, err
	}
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	if err := once(ctx, options, dialKernel, logger, stdout); err != nil {
		return exitError, err
	}
	return exitOK, nil
}

// once prints what the agent would report now. Without hostapd it prints the kernel's word alone.
func once(
	ctx context.Context, options onceOptions, dial func(malformed func(error)) (*nl80211.Client, error),
	logger *slog.Logger, stdout io.Writer,
) (err error) {
	malformed := &malformedInputs{logger: logger, now: time.Now}
	associations, err := askHostapd(ctx, options.bssOptions, malformed)
	if err != nil {
		logger.Warn("hostapd does not tell who is associated", "socket", options.hostapdControl, "error", err)
	}
	bss := &kernel{
		interfaceName: options.interfaceName,
		dial:          func() (*nl80211.Client, error) { return dial(malformed.add) },
	}
	defer func() { err = errors.Join(err, bss.close()) }()
	snapshot, err := bss.look()
	if err != nil {
		return err
	}
	sample := report.Sample{
		MonotonicUS: monotonicUS(), Kernel: snapshot, MalformedInputsTotal: malformed.count(),
		Trigger: airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_INTERVAL,
	}
	if associations.Known() {
		sample.IsAuthorized = associations.Has
	}
	reporter := report.Reporter{AgentVersion: version}
	message := reporter.Next(sample)
	if options.json {
		return printJSON(stdout, message)
	}
	return printTable(stdout, message)
}

func askHostapd(ctx context.Context, options bssOptions, malformed *malformedInputs) (_ hostapd.Associations, err error) {
	var associations hostapd.Associations
	client, err := hostapd.Dial(options.hostapdControl, options.runDirectory, malformed.add)
	if err != nil {
		return associations, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	status, err := client.Status(ctx)
	if err != nil {
		return associations, err
	}
	if !slices.Contains(status.Interfaces, options.interfaceName) {
		return associations, fmt.Errorf("socket serves %q, not %s", status.Interfaces, options.interfaceName)
	}
	stations, err := client.Stations(ctx)
	if err != nil {
		return associations, err
	}
	associations.Replace(stations)
	return associations, nil
}

// printJSON indents by itself: protojson's own white space differs from build to build, on purpose.
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
