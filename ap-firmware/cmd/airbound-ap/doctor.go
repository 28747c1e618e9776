// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/doctor"
	flowsbpf "github.com/airbound/airbound/ap-firmware/stationflows/tcbpf"
	"github.com/airbound/airbound/ap-firmware/status"
	"github.com/airbound/airbound/ap-firmware/windows/tcbpf"
	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/internal/diagnosis"
	"github.com/airbound/airbound/internal/guard"
	"github.com/airbound/airbound/internal/identity"
)

const doctorNotes = `It looks at the configuration, the agent and its last report, permissions, directories, the clock,
the certificate, the way to each controller, the radios, hostapd, and what the kernel lacks to limit windows. It takes
the flags of run; on OpenWrt those that are not given come from /etc/config/airbound. Each finding is ok, a warning or
failed; below it stands the next step. It changes nothing, and may be used beside an agent. Exit code 0: nothing has
failed; 1: something has.`

var thisAccessPoint = diagnosis.Device{Program: "airbound-ap", Role: identity.RoleAccessPoint}

func doctorCommand(kernel sockets) command.Command {
	var options runOptions
	var asJSON bool
	var parsed *flag.FlagSet
	return command.Command{
		Name: "doctor", Summary: "find out what the agent lacks on this access point, and what to do about it",
		Notes: doctorNotes,
		Examples: []string{
			"airbound-ap doctor",
			"airbound-ap doctor --controller 192.0.2.1:50051 --json",
		},
		Flags: func(flags *flag.FlagSet) {
			parsed = flags
			options.register(flags)
			flags.BoolVar(&asJSON, "json", false, "print JSON")
		},
		Run: func(ctx context.Context, stdout, _ io.Writer) (int, error) {
			findings := examine(ctx, &options, parsed, kernel)
			if ctx.Err() != nil {
				return command.ExitError, errors.New("interrupted")
			}
			return diagnosis.Print(stdout, findings, asJSON)
		},
	}
}

// examine goes on after an error in the configuration with what could be read of it.
func examine(ctx context.Context, options *runOptions, flags *flag.FlagSet, kernel sockets) []diagnosis.Finding {
	findings := configure(options, flags)
	views, err := readStatus(statusOptions{state: options.state})
	if err != nil {
		findings = append(findings, thisAccessPoint.Unreadable(err))
	}
	if err == nil || len(views) > 0 {
		findings = append(findings, thisAccessPoint.Agent(stateOf(views)))
	}
	nowUS := monotonicUS()
	for _, view := range views {
		if view.Running {
			findings = append(findings, doctor.Report(view.Interface, view.State, nowUS))
		}
	}
	findings = append(findings, doctor.Permissions(diagnosis.Capabilities("/proc")))
	findings = append(findings, diagnosis.Directories(options.state.parent, options.security.Directory)...)
	now := time.Now()
	enrolment := diagnosis.Enrolment{
		Device: thisAccessPoint, PlainText: options.security.PlainText, Directory: options.security.Directory,
		Token: options.security.Token, TokenFile: options.security.TokenFile,
	}
	certificate, leaf, device := diagnosis.Certificate(enrolment, now)
	var boot unix.Timespec
	findings = append(findings, diagnosis.Clock(now, leaf, unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot))...)
	findings = append(findings, certificate...)
	findings = append(findings, diagnosis.Connections(ctx, options.controller.Addresses, options.security.Enrolment,
		enrolment, device, now)...)
	return append(findings, examineBSSs(ctx, options, kernel, views)...)
}

// configure completes the flags by OpenWrt's configuration, where there is one.
func configure(options *runOptions, flags *flag.FlagSet) (findings []diagnosis.Finding) {
	given := map[string]bool{}
	flags.Visit(func(each *flag.Flag) { given[each.Name] = true })
	where, disabled, err := "", false, error(nil)
	if _, missing := os.Stat(uciProgram); missing == nil && !given["controller"] {
		where = uciFile
		disabled, err = takeUCI(flags, given)
	}
	if checked := options.check(); err == nil {
		err = checked // The check completes the values as well.
	}
	findings = append(findings, thisAccessPoint.Configuration(where, err))
	if disabled {
		findings = append(findings, doctor.Disabled())
	}
	return findings
}

func takeUCI(flags *flag.FlagSet, given map[string]bool) (disabled bool, err error) {
	options, err := showUCI()
	if err != nil {
		return false, err
	}
	if err := flags.Parse(options.arguments(func(flag string) bool { return given[flag] })); err != nil {
		return false, fmt.Errorf("%s: %w", uciFile, err)
	}
	return !options.isOn("enabled", false), nil
}

// stateOf puts the BSSs of an agent together: it is connected if all are.
func stateOf(views []status.View) diagnosis.State {
	var state diagnosis.State
	for _, view := range views {
		if state.Certificate == nil || view.Running {
			state.Certificate = view.Credentials
		}
		if !view.Running {
			continue
		}
		if view.State != nil {
			state.Connected = view.State.Connected && (state.Connected || !state.Known)
			state.Known = true
			if view.State.LastError != "" {
				state.Error = view.State.LastError
			}
		}
		state.Running = true
	}
	return state
}

// examineBSSs looks at each BSS: the radio, hostapd, and what a controller may set there.
func examineBSSs(ctx context.Context, options *runOptions, kernel sockets, views []status.View) []diagnosis.Finding {
	shared := kernel.shared()
	defer func() { _ = shared.Close() }()
	names, err := options.interfaces, error(nil)
	if len(names) == 0 {
		found, listErr := shared.AccessPoints(func(error) {})
		for _, each := range found {
			names = append(names, each.Name)
		}
		err = listErr
	}
	const perBSS = 6 // of the radio two, hostapd, and three that a controller may set
	findings := make([]diagnosis.Finding, 0, 1+perBSS*len(names))
	findings = append(findings, doctor.Wireless(names, err))
	for _, name := range names {
		snapshot, err := shared.Kernel(name, func(error) {}).Snapshot()
		findings = append(findings, doctor.BSS(name, snapshot, err)...)
		socket := options.controlOf(name)
		associations, err := queryHostapd(ctx, socket, name, func(error) {})
		findings = append(findings, doctor.Hostapd(name, socket, &associations, err))
		state, served := running(views, name)
		if !served {
			state = tried(ctx, options, kernel, name)
		}
		if state != nil {
			findings = append(findings, parts(options, name, state, served)...)
		}
	}
	return findings
}

// running is whether an agent serves a BSS, and its state, nil if it has not written one yet.
func running(views []status.View, name string) (state *status.State, served bool) {
	for _, view := range views {
		if view.Running && view.Interface == name {
			return view.State, true
		}
	}
	return nil, false
}

// tried is what an agent would find out when it starts; nil after an interrupt. The programs are at the interface for a
// moment, and change no packet. They have a guard as an agent's have, since doctor may be killed.
func tried(ctx context.Context, options *runOptions, kernel sockets, name string) *status.State {
	if ctx.Err() != nil {
		return nil
	}
	state := &status.State{}
	if options.windowClamp {
		state.Windows = &status.Windows{Leased: status.Leased{Refusal: refusalOf(tryWindows(kernel, name))}}
	}
	if !options.noStationFlows {
		agentName := rand.Text()
		flows := kernel.flows(flowsbpf.Options{
			AgentName: agentName, Trial: true, Guard: guard.New(detachName, "--agent", agentName),
		})
		err := errors.Join(flows.Try(name), flows.Close())
		state.StationFlows = &status.StationFlows{Leased: status.Leased{Refusal: refusalOf(err)}}
	}
	return state
}

func tryWindows(kernel sockets, name string) error {
	agentName := rand.Text()
	loaded, err := kernel.windows(tcbpf.Options{
		AgentName: agentName, Trial: true, Guard: guard.New(detachName, "--agent", agentName),
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	return errors.Join(loaded.Attach(name, nil), loaded.Close())
}

func refusalOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// parts are what a controller may set, by the agent that serves the BSS or by a trial. EDCA parameters are not tried:
// that would change them.
func parts(options *runOptions, name string, state *status.State, served bool) []diagnosis.Finding {
	windows, flows := doctor.Part{Permitted: options.windowClamp}, doctor.Part{Permitted: !options.noStationFlows}
	if set := state.Windows; set != nil {
		windows = leased(&set.Leased)
	}
	if set := state.StationFlows; set != nil {
		flows = leased(&set.Leased)
	}
	return []diagnosis.Finding{
		doctor.Windows(name, windows),
		doctor.EDCA(name, doctor.Part{
			Permitted: !options.noEDCA, Untried: !served, Refusal: state.Refusal,
			Generation: state.Generation, Reason: state.Reason, ReasonCode: state.ReasonCode,
		}),
		doctor.Flows(name, flows),
	}
}

func leased(set *status.Leased) doctor.Part {
	return doctor.Part{
		Permitted: true, Refusal: set.Refusal, Generation: set.Generation, Reason: set.Reason,
		ReasonCode: set.ReasonCode,
	}
}
