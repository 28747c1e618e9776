// SPDX-License-Identifier: Apache-2.0

// Command airbound-ap is the access point's agent: it reports stations, airtime and the channel to the controller,
// and sets EDCA parameters and limits receive windows on its command.
package main

import (
	"github.com/airbound/airbound/internal/command"
)

// version is set by the linker: -ldflags "-X main.version=1.2.3".
var version = "development"

// exitNotRunning is the exit code of `status` and `check` if no agent runs.
const exitNotRunning = 3

const summary = `airbound-ap reports an access point's stations, their airtime and the channel to the Airbound
controller, once a second and at once when a station joins, leaves, begins to send or stops. The controller may set how
long the access point's own queues for best effort and background wait for the air (EDCA parameters), as a lease:
without a controller the access point's own values are in force. As a lease, too, it may have packets from an address to
a station sent as video. With --window-clamp it may also limit what stations have in flight, by the receive windows that
they are offered, as a lease. Nothing else is changed on the access point.`

func main() { program(realKernel()).Main() }

func program(kernel sockets) *command.Program {
	return &command.Program{
		Name: "airbound-ap", Version: version, Summary: summary, Default: "run",
		Commands: []command.Command{
			runCommand(kernel), joinCommand(), onceCommand(kernel), statusCommand(), checkCommand(),
			doctorCommand(kernel), guardCommand(kernel), detachCommand(),
		},
		ExitCodes: "Exit codes: 0 done, stopped by a signal, or the agent runs; 1 error, or something has failed " +
			"(doctor); 2 wrong usage; 3 no agent runs (status, check).",
	}
}
