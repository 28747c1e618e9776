// SPDX-License-Identifier: Apache-2.0

// Command airbound-ap is the access point's agent: it reports stations, airtime and the channel to the controller.
package main

import (
	"github.com/airbound/airbound/internal/command"
)

// version is set by the linker: -ldflags "-X main.version=1.2.3".
var version = "development"

const summary = `airbound-ap reports an access point's stations, their airtime and the channel to the Airbound
controller, once a second and at once when a station joins or leaves. It changes nothing on the access point.`

func main() { program().Main() }

func program() *command.Program {
	return &command.Program{
		Name: "airbound-ap", Version: version, Summary: summary, Default: "run",
		Commands:  []command.Command{runCommand(), onceCommand()},
		ExitCodes: "Exit codes: 0 done, or stopped by a signal; 1 error; 2 wrong usage.",
	}
}
