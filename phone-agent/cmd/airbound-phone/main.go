// SPDX-License-Identifier: Apache-2.0

// Command airbound-phone is the terminal's agent: it reports the phone's TCP senders to the controller and applies the
// cwnd bounds that the controller sends to the kernel, for as long as their lease lasts.
package main

import (
	"github.com/airbound/airbound/internal/command"
)

// version is set by the linker: -ldflags "-X main.version=1.2.3".
var version = "development"

// exitNotRunning is the exit code of `status` if no agent runs.
const exitNotRunning = 3

const summary = `airbound-phone reports this phone's TCP senders to the Airbound controller and keeps their congestion
windows within the bounds that the controller leases to it. Without a controller the kernel's defaults are in force.`

func main() {
	program := command.Program{
		Name: "airbound-phone", Version: version, Summary: summary,
		Commands: []command.Command{
			runCommand(), joinCommand(), statusCommand(), doctorCommand(), cleanupCommand(), traceCommand(),
			ioCommand(),
			eventsCommand(), arrivedCommand(), guardCommand(), detachCommand(),
		},
		ExitCodes: "Exit codes: 0 done, or the agent runs; 1 error, or something has failed (doctor); 2 wrong usage; " +
			"3 no agent runs (status).",
	}
	program.Main()
}
