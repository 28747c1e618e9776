// SPDX-License-Identifier: Apache-2.0

// Command airbound-handover carries a pipe, or the connections of unmodified programs, over phone-agent/handover.
package main

import (
	"github.com/airbound/airbound/internal/command"
)

// version is set by the linker: -ldflags "-X main.version=1.2.3".
var version = "development"

const summary = `airbound-handover carries standard input, or the TCP connections of other programs, between a phone
and a server without TCP's long silence after a handover: it has a second connection ready and switches to it. It
surveys as well how long that silence is on one's own way.`

func main() {
	program().Main()
}

func program() *command.Program {
	return &command.Program{
		Name: "airbound-handover", Version: version, Summary: summary,
		Commands: []command.Command{sendCommand(), receiveCommand(), surveyCommand()},
		ExitCodes: "Exit codes: 0 all was delivered and confirmed; 1 error, or something was not confirmed; " +
			"2 wrong usage.",
	}
}
