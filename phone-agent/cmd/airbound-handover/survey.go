// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/phone-agent/events"
	"github.com/airbound/airbound/phone-agent/survey"
)

type surveyOptions struct {
	options

	listen, to, table  string
	duration, interval time.Duration
}

func surveyCommand() command.Command {
	var o surveyOptions
	return command.Command{
		Name:    "survey",
		Summary: "measure the delays and silences of one's own way, with handovers; --listen is the server's end",
		Examples: []string{
			"airbound-handover survey --listen '[::]:7001' --tls-certificate cert.pem --tls-key key.pem",
			"airbound-handover survey --to server.example:7001 --duration 2h --csv ride.csv --events DIR/events.sock",
			"airbound-handover survey --to '[2001:db8::7]:7001' --plain-text --duration 10m --csv ride.csv --json",
		},
		Notes: "The phone sends 1000 bytes each --interval by TCP and by UDP, the server 50 bytes by UDP. The table\n" +
			"has every packet and every arrival; `airbound-lab survey` draws it. It is written each 10 minutes and\n" +
			"at the end, which is SIGINT or SIGTERM as well. A connection that breaks ends the survey.",
		Flags: func(flags *flag.FlagSet) {
			o.tlsFlags(flags)
			o.agentFlags(flags)
			flags.StringVar(&o.listen, "listen", "", "`ADDR:PORT` to listen at, for TCP and UDP: the server's end")
			flags.StringVar(&o.to, "to", "", "`ADDR:PORT` of `survey --listen`: the phone's end")
			flags.StringVar(&o.table, "csv", "", "`FILE` for the table (required with --to)")
			flags.DurationVar(&o.duration, "duration", time.Hour, "`TIME` that the survey takes, at most 24h")
			flags.DurationVar(&o.interval, "interval", survey.DefaultInterval, "`TIME` between two packets")
			flags.BoolVar(&o.json, "json", false, "write the summary as JSON")
		},
		Check: o.check,
		Run: func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
			run := o.phone
			if o.listen != "" {
				run = o.server
			}
			if err := run(ctx, stdout, stderr); err != nil {
				return command.ExitError, err
			}
			return command.ExitOK, nil
		},
	}
}

func (o *surveyOptions) check() error {
	const shortest, longest = 20 * time.Millisecond, 24 * time.Hour
	switch {
	case (o.listen == "") == (o.to == ""):
		return errors.New("--to (the phone's end) or --listen (the server's) is missing, or both are there")
	case o.listen != "" && (o.table != "" || o.events != "" || o.credentials != ""):
		return errors.New("--listen excludes --csv, --events and --credentials-dir, which are the phone's")
	case o.listen != "" && !o.plainText && o.certificate == "":
		return errors.New("--tls-certificate and --tls-key, or --plain-text, are missing")
	case o.to != "" && o.table == "":
		return errors.New("--csv is missing")
	}
	for name, address := range map[string]string{"to": o.to, "listen": o.listen} {
		if _, _, err := net.SplitHostPort(address); address != "" && err != nil {
			return fmt.Errorf("--%s %q is not ADDR:PORT", name, address)
		}
	}
	if err := command.CheckWithin("duration", o.duration, time.Second, longest); err != nil {
		return err
	}
	if err := command.CheckWithin("interval", o.interval, shortest, time.Minute); err != nil {
		return err
	}
	if o.to != "" && o.duration/o.interval > survey.PacketsMax {
		return fmt.Errorf("--duration %v with --interval %v is more than %d packets: the table has no more",
			o.duration, o.interval, survey.PacketsMax)
	}
	return o.options.check()
}

// server serves surveys until the context ends.
func (o *surveyOptions) server(ctx context.Context, _, stderr io.Writer) error {
	secure, err := o.serverTLS()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listen for surveys: %w", err)
	}
	datagrams, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", listener.Addr().String())
	if err != nil {
		return errors.Join(fmt.Errorf("listen for datagrams: %w", err), listener.Close())
	}
	fmt.Fprintf(stderr, "listening at %s\n", listener.Addr())
	server := &survey.Server{TLS: secure, Interval: o.interval}
	server.Ended = func(name string) {
		stats := server.Stats()
		fmt.Fprintf(stderr, "survey %s has ended; since the start %d connections and %d datagrams were refused, "+
			"and %d receipts left out\n", name, stats.Connections, stats.Datagrams, stats.Receipts)
	}
	return server.Serve(ctx, listener, datagrams)
}

// phone surveys, and writes the table also if a connection has broken.
func (o *surveyOptions) phone(ctx context.Context, stdout, stderr io.Writer) error {
	if err := o.writable(); err != nil {
		return err
	}
	secure, err := o.clientTLS()
	if err != nil {
		return err
	}
	const waiting = 64
	noted := make(chan string, waiting)
	if o.events != "" {
		made := &arrivals{heard: func(event events.Event) {
			select {
			case noted <- arrivalText(event):
			default: // More arrivals than anybody has.
			}
		}}
		stop, err := made.follow(ctx, o.events, o.eventsToken, stderr)
		if err != nil {
			return err
		}
		defer stop()
	}
	result, err := survey.Run(ctx, o.to, survey.Config{
		TLS: secure, Interval: o.interval, Duration: o.duration, Events: noted,
		Saved: func(log *survey.Log) {
			if err := o.write(log); err != nil {
				fmt.Fprintln(stderr, err)
			}
		},
	})
	if result == nil {
		return err
	}
	if writeErr := o.write(result.Log); writeErr != nil {
		err = errors.Join(err, writeErr)
	} else if err != nil {
		err = fmt.Errorf("%w; %s has what came until then", err, o.table)
	}
	o.report(result, stdout)
	return err
}

func arrivalText(event events.Event) string {
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s %s by %s", event.Kind, event.Interface, event.Place,
		event.Source)), " ")
}

// writable is an error if there will be no table: that is better found before the survey than after it.
func (o *surveyOptions) writable() error {
	if info, err := os.Stat(o.table); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("write the table: %s is not a file", o.table)
	}
	file, err := o.create()
	if err != nil {
		return err
	}
	if err := errors.Join(file.Close(), os.Remove(file.Name())); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

// create makes the file that becomes the table.
func (o *surveyOptions) create() (*os.File, error) {
	file, err := os.CreateTemp(filepath.Dir(o.table), filepath.Base(o.table)+".*")
	if err != nil {
		return nil, fmt.Errorf("write the table: %w", err)
	}
	return file, nil
}

// write replaces the table.
func (o *surveyOptions) write(log *survey.Log) error {
	file, err := o.create()
	if err != nil {
		return err
	}
	err = errors.Join(log.WriteCSV(file), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), o.table)
	}
	if err != nil {
		return fmt.Errorf("write the table: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}

func (o *surveyOptions) report(result *survey.Result, stdout io.Writer) {
	summary := result.Log.Summary()
	if o.json {
		writeJSON(stdout, map[string]any{"summary": summary, "refused_datagrams": result.RefusedDatagrams})
		return
	}
	fmt.Fprintf(stdout, "%-9s %9s %9s %17s %15s %16s\n",
		"series", "sent", "received", "longest silence", "median delay", "longest delay")
	for _, each := range summary.Series {
		fmt.Fprintf(stdout, "%-9s %9d %9d %15.3f s %15s %16s\n", each.Name, each.Sent, each.Received,
			float64(each.SilenceUS)/1e6, seconds(each.DelayUS), seconds(each.DelayMaxUS))
	}
	if summary.ClockOffsetUS != nil {
		fmt.Fprintf(stdout, "the server's clock shows %s more than the phone's, +- %s\n",
			seconds(summary.ClockOffsetUS), seconds(summary.ClockUncertaintyUS))
	} else {
		fmt.Fprintln(stdout, "no datagram of the server's came: neither the clocks' difference nor delays are known")
	}
	fmt.Fprintf(stdout,
		"%d arrivals; %d packets came twice; %d receipts or datagrams cannot be, %d datagrams refused\n",
		summary.Events, summary.Duplicates, summary.Refused, result.RefusedDatagrams)
	if summary.LeftOut > 0 {
		fmt.Fprintf(stdout, "%d packets or arrivals are not in the table: it has at most %d of each series\n",
			summary.LeftOut, survey.PacketsMax)
	}
}

func seconds(us *int64) string {
	if us == nil {
		return "not known"
	}
	return fmt.Sprintf("%.3f s", float64(*us)/1e6)
}
