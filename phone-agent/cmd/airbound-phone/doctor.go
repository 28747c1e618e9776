// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/internal/diagnosis"
	"github.com/airbound/airbound/internal/identity"
	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/apply/ebpf"
	"github.com/airbound/airbound/phone-agent/doctor"
	"github.com/airbound/airbound/phone-agent/statedir"
)

const doctorNotes = `It looks at the configuration, the kernel, the back ends, permissions, the clock, the Wi-Fi
interface, the certificate, and the connection to each controller, by the flags or the configuration that run has. Each
finding is ok, a warning or failed; below it stands what to do. It changes nothing, and may be used beside an agent.
Exit code 0: nothing has failed; 1: something has.`

const selinuxRoot = "/sys/fs/selinux"

var thisPhone = diagnosis.Device{Program: "airbound-phone", Role: identity.RoleTerminal}

func doctorCommand() command.Command {
	var options runOptions
	var asJSON bool
	var parsed *flag.FlagSet
	config := configFile()
	return command.Command{
		Name: "doctor", Summary: "find out what the agent lacks on this phone, and what to do about it",
		Notes: doctorNotes,
		Examples: []string{
			"airbound-phone doctor --config /etc/airbound/phone.conf",
			"airbound-phone doctor --controller 192.0.2.1:50051 --json",
		},
		Flags: func(flags *flag.FlagSet) {
			parsed = flags
			options.register(flags)
			config.Flags(flags)
			flags.BoolVar(&asJSON, "json", false, "print JSON")
		},
		Run: func(ctx context.Context, stdout, _ io.Writer) (int, error) {
			return diagnosis.Print(stdout, examine(ctx, &options, config, parsed), asJSON)
		},
	}
}

// examine goes on after an error in the configuration with what could be read of it.
func examine(
	ctx context.Context, options *runOptions, config *command.ConfigFile, flags *flag.FlagSet,
) []diagnosis.Finding {
	configErr := config.Apply(flags)
	// The check completes the values as well.
	if err := options.check(); configErr == nil && err != nil {
		configErr = config.Explain(err, flags)
	}
	findings := []diagnosis.Finding{thisPhone.Configuration(config.Path, configErr)}

	directory := statedir.New(options.stateDir)
	running, err := directory.Running()
	if err != nil {
		findings = append(findings, thisPhone.Configuration("", err))
	}
	state, stateErr := directory.Load()
	saved, savedErr := directory.LoadCredentials()
	if err := errors.Join(stateErr, savedErr); err != nil {
		findings = append(findings, thisPhone.Unreadable(err))
	}
	if stateErr == nil || !running {
		findings = append(findings, thisPhone.Agent(diagnosis.State{
			Running: running, Known: state != nil, Connected: state != nil && state.Connected, Certificate: saved,
		}))
	}

	findings = append(findings, doctor.Kernel(options.procRoot, tracefsPlaces(options.tracefs))...)
	findings = append(findings, doctor.Storage(tracefsPlaces(options.tracefs))...)
	findings = append(findings, doctor.BackEnds(backEnds(options.places), running)...)
	findings = append(findings, doctor.Permissions(options.procRoot, selinuxRoot, os.Geteuid())...)
	findings = append(findings, diagnosis.Directories(options.stateDir, options.security.Directory)...)
	if options.applications.table != "" {
		_, account := options.applications.classified()
		findings = append(findings, doctor.Applications(account)...)
	}
	link, err := options.currentLink()
	if !options.noFlows {
		findings = append(findings, doctor.Flows(options.probeFlows(link.Interface)))
	}
	findings = append(findings, doctor.WiFi(link.Interface, link.MAC.String(), link.BSSID, link.SSID, err))

	now := time.Now()
	enrolment := diagnosis.Enrolment{
		Device: thisPhone, PlainText: options.security.PlainText, Directory: options.security.Directory,
		Token: options.security.Token, TokenFile: options.security.TokenFile,
	}
	certificate, leaf, device := diagnosis.Certificate(enrolment, now)
	findings = append(findings, diagnosis.Clock(now, leaf, bootTimeError())...)
	findings = append(findings, certificate...)
	options.names.Use()
	if name := options.names.Unresolvable(options.controller.Addresses); name != "" {
		findings = append(findings, diagnosis.Names(name, command.UnresolvableAdvice))
	}
	return append(findings, diagnosis.Connections(ctx, options.controller.Addresses, options.security.Enrolment,
		enrolment, device, now)...)
}

// backEnds are all that there are, whichever the agent would choose.
func backEnds(where places) []doctor.BackEnd {
	options := ebpf.Options{Cgroup: where.backEnd.cgroup, ProcRoot: where.procRoot}
	return []doctor.BackEnd{
		{Name: patched, BackEnd: where.newProcfs()},
		{Name: stock, Probe: func() []apply.Finding { return ebpf.Probe(options) }},
	}
}

func bootTimeError() error {
	var now unix.Timespec
	return unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
}
