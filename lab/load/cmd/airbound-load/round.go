// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/airbound/airbound/lab/load/fleet"
	"github.com/airbound/airbound/lab/load/measure"
	"github.com/airbound/airbound/lab/load/server"
)

// errNoReply is a controller that does not answer.
var errNoReply = errors.New("no controller answers")

// round is one measurement of one server.
type round struct {
	o         *options
	result    measure.Round
	progress  *progress
	process   *server.Process // nil if the server is not ours
	pids      []int
	address   netip.AddrPort
	operators []*server.Operators // of each replica
	fleet     *fleet.Fleet
	fleetDone chan error
	// reportsBase is what the server had handled before the fleet.
	reportsBase int64
}

// moment is the state of everything at one point in time.
type moment struct {
	at                                   time.Time
	handled                              int64
	offered, terminal, sent              int64
	commands, setBounds, refused, broken int64
	opened                               int64
	server, generator                    server.Usage
}

func runRound(
	ctx context.Context, o *options, name string, answersPerReport float64, p *progress,
) (_ measure.Round, err error) {
	r := &round{o: o, progress: p}
	r.result = measure.Round{
		Server: name, Saturate: o.saturate,
		AccessPoints: o.cells.Cells, Terminals: o.cells.Cells * o.cells.TerminalsPerCell,
	}
	if err := r.startServer(ctx, answersPerReport); err != nil {
		return r.result, err
	}
	if r.process != nil {
		defer r.process.Stop()
	}
	defer r.closeOperators()
	ctx, cancel := context.WithCancel(ctx)
	before, err := r.usage()
	if err == nil {
		err = r.startFleet(ctx)
	}
	if err != nil {
		cancel()
		return r.result, err
	}
	defer func() {
		cancel()
		err = errors.Join(err, <-r.fleetDone)
	}()
	r.result.RSSBeforeKiB = r.known(before.RSSKiB)
	return r.result, r.measure(ctx)
}

func (r *round) startServer(ctx context.Context, answersPerReport float64) error {
	operators := r.o.operatorsList
	if r.result.Server == measure.Controller && r.o.controller != "" {
		r.address, r.pids = r.o.address, r.o.pids
	} else {
		command := slices.Clone(r.o.command)
		if r.result.Server == measure.Raw {
			command = slices.Clone(r.o.rawCommand)
		}
		for i := range command {
			command[i] = strings.ReplaceAll(command[i], "{answers}", strconv.FormatFloat(answersPerReport, 'f', 4, 64))
		}
		process, err := server.Start(ctx, command, r.o.serverCores, r.o.tlsDirectory)
		if err != nil {
			return fmt.Errorf("%w: start %q: %w", errNoReply, strings.Join(command, " "), err)
		}
		r.process, r.pids, operators = process, []int{process.PID()}, []string{process.Operators}
		if r.address, err = netip.ParseAddrPort(process.Listen); err != nil {
			return fmt.Errorf("parse the server's address: %w", err)
		}
	}
	if err := r.dialOperators(ctx, operators); err != nil {
		r.closeOperators()
		if r.process != nil {
			r.process.Stop()
		}
		return fmt.Errorf("%w at %s for operators: %w", errNoReply, strings.Join(operators, ","), err)
	}
	return nil
}

func (r *round) dialOperators(ctx context.Context, addresses []string) error {
	for _, address := range addresses {
		var config *tls.Config
		if identities := r.o.identities; identities != nil {
			config = identities.Client(&identities.Operator)
		}
		operators, err := server.DialOperators(address, config)
		if err != nil {
			return err
		}
		r.operators = append(r.operators, operators)
	}
	var err error
	r.reportsBase, err = r.reports(ctx)
	return err
}

func (r *round) closeOperators() {
	for _, operators := range r.operators {
		operators.Close()
	}
}

// reports is how many all replicas have handled since they started.
func (r *round) reports(ctx context.Context) (int64, error) {
	var sum int64
	for _, operators := range r.operators {
		reports, err := operators.Reports(ctx)
		if err != nil {
			return 0, err
		}
		sum += reports
	}
	return sum, nil
}

func (r *round) startFleet(ctx context.Context) error {
	var err error
	r.fleet, err = fleet.New(fleet.Config{
		Address: r.address, Cells: r.o.cells, ConnectPerSecond: r.o.connectPerSecond, Saturate: r.o.saturate,
		Outstanding: int64(r.o.outstanding), ExpectBounds: r.result.Server == measure.Controller,
		AwayMaxUS: int64(r.o.awayMaxS * 1e6), Identities: r.o.identities,
	})
	if err != nil {
		return err
	}
	r.fleetDone = make(chan error, 1)
	go func() { r.fleetDone <- r.fleet.Run(ctx) }()
	return nil
}

// known is a pointer to a figure of the server's process, or nil if the process is not known.
func (r *round) known(value int64) *int64 {
	if len(r.pids) == 0 {
		return nil
	}
	return &value
}

// usage is that of all replicas together.
func (r *round) usage() (server.Usage, error) {
	var sum server.Usage
	for _, pid := range r.pids {
		usage, err := server.UsageOf(pid)
		if err != nil {
			return server.Usage{}, err
		}
		sum.CPUUS += usage.CPUUS
		sum.WaitedUS += usage.WaitedUS
		sum.RSSKiB += usage.RSSKiB
	}
	return sum, nil
}

// measure runs from the first connection to the last expected set.
func (r *round) measure(ctx context.Context) error {
	own, err := server.UsageOf(os.Getpid())
	if err != nil {
		return err
	}
	if err := r.connectAll(ctx); err != nil {
		return err
	}
	r.fleet.Do(ctx, r.fleet.StartChanges)
	if err := r.watch(ctx, "warm-up", time.Duration(r.o.warmupSeconds)*time.Second); err != nil {
		return err
	}
	r.fleet.Do(ctx, func() { r.fleet.SetCounted(true) })
	begin, err := r.moment(ctx)
	if err != nil {
		return err
	}
	beginUS := fleet.NowUS()
	if err := r.watch(ctx, "counted", time.Duration(r.o.seconds)*time.Second); err != nil {
		return err
	}
	end, err := r.moment(ctx)
	if err != nil {
		return err
	}
	endUS := fleet.NowUS()
	r.fleet.Do(ctx, func() { r.fleet.SetCounted(false) })
	if err := r.drain(ctx); err != nil {
		return err
	}
	r.fill(ctx, begin, end, beginUS, endUS, own)
	return ctx.Err()
}

// connectAll waits until every agent has a stream.
func (r *round) connectAll(ctx context.Context) error {
	ramp := time.Duration(r.fleet.Agents()) * time.Second / time.Duration(r.o.connectPerSecond)
	const grace = 30 * time.Second
	deadline := time.Now().Add(ramp*2 + grace)
	for r.fleet.Counts().Open.Load() < int64(r.fleet.Agents()) {
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d streams are open after %v; %s",
				r.fleet.Counts().Open.Load(), r.fleet.Agents(), ramp*2+grace, r.causes(ctx))
		}
		if err := r.watch(ctx, "connecting", 200*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// watch lets time pass, shows progress, and keeps the fleet informed about what was handled.
func (r *round) watch(ctx context.Context, phase string, duration time.Duration) error {
	end := time.Now().Add(duration)
	poll := time.Second
	if r.o.saturate {
		poll = 50 * time.Millisecond
	}
	for {
		left := time.Until(end)
		if left <= 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-r.fleetDone:
			r.fleetDone <- nil
			return fmt.Errorf("the generator ended: %w", err)
		case <-time.After(min(poll, left)):
		}
		if r.process != nil {
			if err := r.process.Ended(); err != nil {
				return err
			}
		}
		if r.o.saturate || r.progress.due() {
			handled, err := r.handled(ctx)
			if err != nil {
				return err
			}
			r.show(ctx, phase, time.Until(end), handled)
		}
	}
}

// handled asks the server how many of the fleet's reports it has handled, and lets the fleet know.
func (r *round) handled(ctx context.Context) (int64, error) {
	total, err := r.reports(ctx)
	if err != nil {
		return 0, err
	}
	handled := total - r.reportsBase
	r.fleet.SetHandled(handled)
	return handled, nil
}

func (r *round) show(ctx context.Context, phase string, left time.Duration, handled int64) {
	if !r.progress.due() {
		return
	}
	counts := r.fleet.Counts()
	var bounded, missing int
	var latency *measure.Percentiles
	r.fleet.Do(ctx, func() {
		bounded, missing = r.fleet.InForce(), r.fleet.Latencies().Missing
		latency = measure.PercentilesOf(measure.Latencies(r.fleet.Latencies().Samples))
	})
	r.progress.show(line{
		server: r.result.Server, phase: phase, left: left, open: counts.Open.Load(), agents: r.fleet.Agents(),
		offered: counts.Offered.Load(), handled: handled, commands: counts.Commands.Load(), bounded: bounded,
		latency: latency, missing: missing,
	})
}

func (r *round) moment(ctx context.Context) (moment, error) {
	handled, err := r.handled(ctx)
	if err != nil {
		return moment{}, err
	}
	counts := r.fleet.Counts()
	m := moment{
		at: time.Now(), handled: handled,
		offered: counts.Offered.Load(), terminal: counts.TerminalReports.Load(), sent: counts.Sent(),
		commands: counts.Commands.Load(), setBounds: counts.SetBounds.Load(),
		refused: counts.Refused.Load(), broken: counts.Broken.Load(), opened: counts.Opened.Load(),
	}
	if m.server, err = r.usage(); err != nil {
		return m, err
	}
	m.generator, err = server.UsageOf(os.Getpid())
	return m, err
}

// drain waits for what is expected still.
func (r *round) drain(ctx context.Context) error {
	const step = 100 * time.Millisecond
	deadline := time.Now().Add(measure.WaitUS*time.Microsecond + time.Second)
	for time.Now().Before(deadline) {
		pending := 0
		r.fleet.Do(ctx, func() { pending = r.fleet.Latencies().Pending() })
		if pending == 0 {
			return ctx.Err()
		}
		if err := r.watch(ctx, "last sets", step); err != nil {
			return err
		}
	}
	return nil
}

func (r *round) fill(ctx context.Context, begin, end moment, beginUS, endUS int64, own server.Usage) {
	result := &r.result
	result.Seconds = end.at.Sub(begin.at).Seconds()
	result.OfferedReports = end.offered - begin.offered
	result.TerminalReports = end.terminal - begin.terminal
	result.HandledReports = end.handled - begin.handled
	result.Commands = end.commands - begin.commands
	result.SetBounds = end.setBounds - begin.setBounds
	result.RefusedCommands = end.refused - begin.refused
	result.BrokenStreams = end.broken - begin.broken
	result.OpenedStreams = end.opened - begin.opened
	result.RSSAfterKiB = r.known(end.server.RSSKiB)
	if len(r.pids) > 0 {
		cpuUS := end.server.CPUUS - begin.server.CPUUS
		result.CPUUS = &cpuUS
		waited := (end.server.WaitedUS - begin.server.WaitedUS) / 1e6 / result.Seconds
		result.WaitedRatio = &waited
	}
	generatorUS := end.generator.CPUUS - begin.generator.CPUUS
	if messages := end.sent - begin.sent + result.Commands; messages > 0 {
		result.Generator.CPUUSPerMessage = generatorUS / float64(messages)
	}
	result.Generator.Cores = generatorUS / 1e6 / result.Seconds
	result.Generator.KiBPerConnection = float64(end.generator.RSSKiB-own.RSSKiB) / float64(r.fleet.Agents())
	r.fleet.Do(ctx, func() {
		latencies := r.fleet.Latencies()
		result.Samples = slices.Clone(latencies.Samples)
		result.Missing, result.Void = latencies.Missing, latencies.Void
		result.Generator.Lag = measure.PercentilesOf(r.fleet.LagUS())
	})
	result.Latency = measure.PercentilesOf(measure.Latencies(result.Samples))
	result.Grows = measure.Grows(result.Samples, beginUS, endUS)
	if result.BrokenStreams > 0 {
		r.progress.note(fmt.Sprintf("%d streams broke: %s", result.BrokenStreams, r.causes(ctx)))
	}
}

// causes lists why streams broke, the most frequent cause first.
func (r *round) causes(ctx context.Context) string {
	causes := map[string]int{}
	r.fleet.Do(ctx, func() {
		maps.Copy(causes, r.fleet.Causes())
	})
	parts := make([]string, 0, len(causes))
	for cause, count := range causes {
		parts = append(parts, fmt.Sprintf("%d times %q", count, cause))
	}
	slices.SortFunc(parts, func(a, b string) int {
		var x, y int
		_, _ = fmt.Sscan(a, &x)
		_, _ = fmt.Sscan(b, &y)
		return y - x
	})
	if len(parts) == 0 {
		return "no error was seen"
	}
	const shown = 3
	return strings.Join(parts[:min(shown, len(parts))], "; ")
}
