// SPDX-License-Identifier: Apache-2.0

// Command airbound-phone is the terminal's agent: it reports the phone's TCP senders to the controller and holds the
// kernel to the cwnd bounds that it is given, for as long as their lease lasts.
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
	exitOK         = 0
	exitError      = 1
	exitUsage      = 2
	exitNotRunning = 3
)

const help = `airbound-phone reports this phone's TCP senders to the Airbound controller and keeps their congestion windows
within the bounds that the controller leases to it. Without a controller the kernel's defaults hold.

Commands:
  run      run the agent until it is told to stop (SIGTERM, SIGINT or SIGHUP)
  status   tell which bounds hold now and why
  cleanup  restore the kernel's defaults, after an agent that could not
  trace    record the history of connections: each change of their windows, each event

Examples:
  airbound-phone run --controller 192.0.2.1:50051 --interface wlan0
  airbound-phone status
  airbound-phone status --json
  airbound-phone cleanup
  airbound-phone trace --seconds 30 --remote 192.0.2.7 --csv --out history.csv

Flags of a command: airbound-phone COMMAND --help
Exit codes: 0 done, or the agent runs; 1 error; 2 wrong usage; 3 no agent runs (status).
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
	commands := map[string]func(context.Context, []string, io.Writer, io.Writer) (int, error){
		"run": runCommand, "status": statusCommand, "cleanup": cleanupCommand,
		"trace": traceCommand,
	}
	name := arguments[0]
	switch name {
	case "--help", "-h", "-help", "help":
		fmt.Fprint(stdout, help)
		return exitOK
	case "--version", "-version", "version":
		fmt.Fprintln(stdout, "airbound-phone", version)
		return exitOK
	}
	command, known := commands[name]
	if !known {
		fmt.Fprintf(stderr, "airbound-phone: no command %q; see airbound-phone --help\n", name)
		return exitUsage
	}
	code, err := command(ctx, arguments[1:], stdout, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "airbound-phone %s: %v\n", name, err)
	}
	return code
}
