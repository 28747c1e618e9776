// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/airbound/airbound/lab/load/cell"
	"github.com/airbound/airbound/lab/load/measure"
	"github.com/airbound/airbound/lab/load/secure"
)

const usage = `airbound-load: simulated access points and terminals load a controller over gRPC.

It starts a controller pinned to one core (or takes the one that --controller names), connects one stream for each
agent, lets cells change, and prints CPU time per report, memory per terminal, and how long bounds take from the access
point's report to the phone.

examples:
  airbound-load --cells 500 --terminals 10 --seconds 60 --json out.json
  airbound-load --cells 100 --terminals 10 --compare-raw --rounds 3     and grpc.aio alone, in turns
  airbound-load --cells 100 --terminals 10 --saturate                   as many reports as the controller takes
  airbound-load --cells 200 --roam-every 60 --reconnect-every 120 --seed 7
  airbound-load --controller 127.0.0.1:50051 --operators 127.0.0.1:50052 --pid 4711
  airbound-load --cells 100 --tls-dir DIR                               mutual TLS; airbound-lab certificates DIR

exit codes: 0 done; 1 failed; 2 wrong usage; 3 no controller answers

options:
`

const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitNoReply = 3
)

// options are the command line.
type options struct {
	cells                                                  cell.Parameters
	seconds, warmupSeconds                                 int
	connectPerSecond                                       int
	rounds                                                 int
	saturate                                               bool
	outstanding                                            int
	controller, operators                                  string
	address                                                netip.AddrPort // of controller
	operatorsList                                          []string       // operators, each
	pids                                                   []int
	tlsDirectory                                           string
	identities                                             *secure.Identities // nil: plain text
	allowRemote                                            bool
	command, rawCommand                                    []string
	raw, compareRaw                                        bool
	answersPerReport                                       float64
	serverCores                                            []int
	json                                                   string
	rateHz, changeEveryS, roamEveryS, reconnectS, awayMaxS float64
	help                                                   bool
	// given is every option with the value in use, for the results.
	given map[string]any
}

func parse(arguments []string, errorOutput io.Writer) (*options, error) {
	o := &options{}
	var command, rawCommand, cores, pids string
	flags := flag.NewFlagSet("airbound-load", flag.ContinueOnError)
	flags.SetOutput(errorOutput)
	flags.Usage = func() {
		fmt.Fprint(errorOutput, usage)
		flags.PrintDefaults()
	}
	flags.IntVar(&o.cells.Cells, "cells", 50, "access points, each with one `cell`")
	flags.IntVar(&o.cells.TerminalsPerCell, "terminals", 10, "terminals in each cell at the start")
	flags.IntVar(&o.cells.FirstCell, "first-cell", 0,
		"number of the first cell, so that generators can share a controller")
	flags.Float64Var(&o.cells.Sending, "sending", 1, "largest `share` of a cell's terminals that send at the same time")
	flags.Float64Var(&o.rateHz, "rate", 1, "reports per second of a terminal that sends or has bounds")
	flags.IntVar(&o.cells.Destinations, "destinations", 16,
		"addresses that all terminals send to; 0: each cell has its own")
	flags.IntVar(&o.cells.Flows, "flows", 1, "such `addresses` that each terminal sends to at the same time")
	flags.BoolVar(&o.cells.Classes, "classes", false,
		"have the flows be of classes: live, burst, bulk, background in turn")
	flags.Float64Var(&o.changeEveryS, "change-every", 10,
		"`seconds` between two changes of a cell's senders, from all to half of them and back; 0: never")
	flags.Float64Var(&o.roamEveryS, "roam-every", 0,
		"`seconds` between two moves of a station to the cell beside; mean; 0: never")
	flags.Float64Var(&o.reconnectS, "reconnect-every", 0,
		"`seconds` between two reconnects of an agent; mean; 0: never")
	flags.Float64Var(&o.awayMaxS, "away-max", 1,
		"`seconds` that an agent that reconnects is away, at most; at least 0.1")
	flags.BoolVar(&o.cells.NewMACs, "new-macs", false,
		"terminals that reconnect have another MAC address, as phones that randomise theirs")
	flags.Uint64Var(&o.cells.Seed, "seed", 1, "same seed, same cells and changes")
	flags.IntVar(&o.seconds, "seconds", 30, "length of the counted window")
	flags.IntVar(&o.warmupSeconds, "warmup", 10, "`seconds` before it, after all have connected")
	flags.IntVar(&o.connectPerSecond, "connect-rate", 500, "`connections` per second at the start")
	flags.IntVar(&o.rounds, "rounds", 1, "how often to measure, each with a new server")
	flags.BoolVar(&o.saturate, "saturate", false,
		"terminals report whenever fewer than --outstanding reports are not handled")
	flags.IntVar(&o.outstanding, "outstanding", 0,
		"`reports` sent and not handled with --saturate; 0: 16 per terminal, at least 4000")
	flags.StringVar(&o.controller, "controller", "", "`address:port` of a controller that runs; default: start one")
	flags.StringVar(&o.operators, "operators", "127.0.0.1:50052",
		"`address:port` for operators of --controller, where reports_total is read; a list for several replicas")
	flags.StringVar(&pids, "pid", "", "`process` of --controller, for its CPU time and memory; a list for several")
	flags.StringVar(&o.tlsDirectory, "tls-dir", "",
		"`directory` of the agents' certificates, which airbound-lab certificates makes; default: plain text")
	flags.BoolVar(&o.allowRemote, "allow-remote", false,
		"let --controller be an address that is not of this machine's loopback")
	flags.BoolVar(&o.cells.SharedAddress, "shared-address", false,
		"connect all agents from one address instead of one each in 127.0.0.0/8")
	flags.StringVar(&command, "command", "airbound controller {plain-text} --config {config}",
		"`words` that start a controller; {config}, {listen}, {operators}, {tls-dir} are replaced, {plain-text} by "+
			"--plain-text or, with --tls-dir, nothing")
	flags.StringVar(&rawCommand, "raw-command", "python3 -m airbound_lab.load.rawserver --listen {listen} "+
		"--operators {operators} --answers-per-report {answers} --tls-dir={tls-dir}",
		"`words` that start the yardstick")
	flags.BoolVar(&o.raw, "raw", false, "load the yardstick, a bare grpc.aio server, instead of a controller")
	flags.BoolVar(&o.compareRaw, "compare-raw", false, "load controller and yardstick in turns")
	flags.Float64Var(&o.answersPerReport, "answers-per-report", 0.5,
		"commands per terminal report of the yardstick; --compare-raw takes the controller's")
	flags.StringVar(&cores, "server-cores", "",
		"`cores` for the server, such as 1 or 2,3; default: the last; the generator has the others")
	flags.StringVar(&o.json, "json", "", "write the results to this `file`")
	if err := flags.Parse(arguments); err != nil {
		o.help = errors.Is(err, flag.ErrHelp)
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o.given = map[string]any{}
	flags.VisitAll(func(f *flag.Flag) {
		if getter, ok := f.Value.(flag.Getter); ok && f.Name != "json" {
			o.given[strings.ReplaceAll(f.Name, "-", "_")] = getter.Get()
		}
	})
	o.command, o.rawCommand = strings.Fields(command), strings.Fields(rawCommand)
	return o, o.check(cores, pids)
}

func (o *options) check(cores, pids string) error {
	const day, secondUS = 86_400, 1_000_000
	agents := o.cells.Cells * o.cells.TerminalsPerCell
	agentsEnd := (o.cells.FirstCell + o.cells.Cells) * o.cells.TerminalsPerCell
	limits := []struct {
		name            string
		value           float64
		lowest, highest float64
	}{
		{"cells", float64(o.cells.Cells), 1, 100_000},
		{"terminals", float64(o.cells.TerminalsPerCell), 1, 2_000},
		{"cells times terminals", float64(agents), 1, 200_000},
		{"first-cell", float64(o.cells.FirstCell), 0, 1_000_000},
		{"first-cell plus cells, times terminals", float64(agentsEnd), 1, cell.AgentsMax},
		{"sending", o.cells.Sending, 0, 1},
		{"rate", o.rateHz, 0.01, 100},
		{"destinations", float64(o.cells.Destinations), 0, 100_000},
		{"flows", float64(o.cells.Flows), 1, cell.FlowsMax},
		{"roam-every", o.roamEveryS, 0, day},
		{"reconnect-every", o.reconnectS, 0, day},
		{"change-every", o.changeEveryS, 0, day},
		{"away-max", o.awayMaxS, 0.1, day},
		{"seconds", float64(o.seconds), 1, 3600},
		{"warmup", float64(o.warmupSeconds), 0, 600},
		{"connect-rate", float64(o.connectPerSecond), 1, 100_000},
		{"rounds", float64(o.rounds), 1, 100},
		{"outstanding", float64(o.outstanding), 0, 10_000_000},
		{"answers-per-report", o.answersPerReport, 0, 1},
	}
	for _, l := range limits {
		if !(l.value >= l.lowest && l.value <= l.highest) { // also refuses NaN
			return fmt.Errorf("%s: %v is not between %v and %v", l.name, l.value, l.lowest, l.highest)
		}
	}
	// An expected set may take measure.WaitUS, and a change shows in a report only a second later.
	if shortest := float64(measure.WaitUS)/secondUS + 1; o.changeEveryS > 0 && o.changeEveryS < shortest {
		return fmt.Errorf("change-every: %v is neither 0 nor at least %v", o.changeEveryS, shortest)
	}
	for name, value := range map[string]float64{"roam-every": o.roamEveryS, "reconnect-every": o.reconnectS} {
		if value > 0 && value < 1 {
			return fmt.Errorf("%s: %v is neither 0 nor at least 1", name, value)
		}
	}
	if o.raw && (o.compareRaw || o.controller != "") {
		return errors.New("raw: excludes compare-raw and controller")
	}
	if len(o.command) == 0 || len(o.rawCommand) == 0 {
		return errors.New("command, raw-command: no words")
	}
	o.cells.IntervalUS = int64(secondUS / o.rateHz)
	o.cells.ChangeEveryUS = int64(o.changeEveryS * secondUS)
	o.cells.RoamEveryUS = int64(o.roamEveryS * secondUS)
	o.cells.ReconnectEveryUS = int64(o.reconnectS * secondUS)
	if o.outstanding == 0 {
		const perTerminal, least = 16, 4000
		o.outstanding = max(least, perTerminal*agents)
	}
	if err := o.checkController(pids); err != nil {
		return err
	}
	return o.checkCores(cores)
}

func (o *options) checkController(pids string) error {
	o.operatorsList = strings.Split(o.operators, ",")
	if o.controller == "" {
		return nil
	}
	var err error
	if o.address, err = netip.ParseAddrPort(o.controller); err != nil {
		return fmt.Errorf("controller: %q is no address:port, such as 127.0.0.1:50051", o.controller)
	}
	for _, operators := range o.operatorsList {
		if _, err := netip.ParseAddrPort(operators); err != nil {
			return fmt.Errorf("operators: %q is no address:port, such as 127.0.0.1:50052", operators)
		}
	}
	if !o.address.Addr().IsLoopback() && !o.allowRemote {
		return fmt.Errorf("controller: %v is not a loopback address; --allow-remote if that is meant", o.address)
	}
	if (!o.address.Addr().IsLoopback() || !o.address.Addr().Is4()) && !o.cells.SharedAddress {
		return fmt.Errorf("controller: agents with addresses of their own need one in 127.0.0.0/8, not %v; "+
			"or --shared-address", o.address)
	}
	if pids == "" {
		return nil
	}
	for part := range strings.SplitSeq(pids, ",") {
		pid, err := strconv.Atoi(part)
		if err != nil || pid <= 0 {
			return fmt.Errorf("pid: %q is no process", part)
		}
		o.pids = append(o.pids, pid)
	}
	return nil
}

func (o *options) checkCores(text string) error {
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		core, err := strconv.Atoi(part)
		if err != nil || core < 0 || core >= 1024 || slices.Contains(o.serverCores, core) {
			return fmt.Errorf("server-cores: %q is no list of cores", text)
		}
		o.serverCores = append(o.serverCores, core)
	}
	return nil
}

// servers is what is loaded, in order.
func (o *options) servers() []string {
	var servers []string
	for range o.rounds {
		if !o.raw {
			servers = append(servers, measure.Controller)
		}
		if o.raw || o.compareRaw {
			servers = append(servers, measure.Raw)
		}
	}
	return servers
}

// files is how many the generator and the server each may have open: a socket per agent, and some.
func (o *options) files() uint64 {
	const others = 1000
	return uint64(o.cells.Cells*(o.cells.TerminalsPerCell+1) + others) //nolint:gosec // checked
}

// loadIdentities reads the agents' certificates, if they are to have some.
func (o *options) loadIdentities() error {
	if o.tlsDirectory == "" {
		return nil
	}
	c := &o.cells
	var err error
	o.identities, err = secure.Load(
		o.tlsDirectory, c.FirstCell, c.Cells, c.FirstCell*c.TerminalsPerCell, c.Cells*c.TerminalsPerCell)
	if err != nil {
		return fmt.Errorf("tls-dir: %w; airbound-lab certificates %s --cells %d --terminals %d makes them", err,
			o.tlsDirectory, c.FirstCell+c.Cells, c.TerminalsPerCell)
	}
	return nil
}
