// SPDX-License-Identifier: Apache-2.0

// Command airbound-ap is the access point's agent: it reports stations, airtime and the channel to the controller.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker: -ldflags "-X main.version=1.2.3".
var version = "development"

// Exit codes, also told by the help.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

const help = `airbound-ap reports an access point's stations, their airtime and the channel to the Airbound controller, once
a second and at once when a station joins or leaves. It changes nothing on the access point.

Commands:
  run   report until told to stop (SIGTERM, SIGINT or SIGHUP); may be left out
  once  print one report and exit, without a controller

Examples:
  airbound-ap --controller 192.0.2.1:50051 --interface wlan0
  airbound-ap run --controller 192.0.2.1:50051 --interface wlan0 --hostapd-control /var/run/hostapd/wlan0
  airbound-ap once --interface wlan0
  airbound-ap once --interface wlan0 --json

Flags of a command: airbound-ap COMMAND --help
Exit codes: 0 done, or told to stop; 1 error; 2 wrong usage.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	code := dispatch(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func dispatch(ctx context.Context, arguments []string, stdout, stderr io.Writer) int {
	if len(arguments) == 0 {
		fmt.Fprint(stderr, help)
		return exitUsage
	}
	name, rest := arguments[0], arguments[1:]
	switch name {
	case "--help", "-h", "-help", "help":
		fmt.Fprint(stdout, help)
		return exitOK
	case "--version", "-version", "version":
		fmt.Fprintln(stdout, "airbound-ap", version)
		return exitOK
	}
	// Flags alone mean run.
	if name[:min(1, len(name))] == "-" {
		name, rest = "run", arguments
	}
	commands := map[string]func(context.Context, []string, io.Writer, io.Writer) (int, error){
		"run": runCommand, "once": onceCommand,
	}
	command, known := commands[name]
	if !known {
		fmt.Fprintf(stderr, "airbound-ap: no command %q; see airbound-ap --help\n", name)
		return exitUsage
	}
	code, err := command(ctx, rest, stdout, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "airbound-ap %s: %v\n", name, err)
	}
	return code
}
