// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/internal/identity"
)

// uciFile is OpenWrt's configuration of the agent; the package has made its section main.
const uciFile = "/etc/config/airbound"

// joinCommand does not start the agent: the init script does, as its owner wants it.
func joinCommand() command.Command {
	var argument string
	return command.Command{
		Name:    "join",
		Summary: "write controller and token into OpenWrt's configuration, from the string of `airbound enroll`",
		Notes:   "Other options stay. Options of other controllers and tokens go, and the agent is enabled.",
		Examples: []string{
			"airbound-ap join airbound1:controller.example:50051:50053:TOKEN",
			"airbound-ap join - </tmp/joining",
		},
		Argument: &argument, ArgumentName: "STRING|-",
		Flags: func(*flag.FlagSet) {},
		Run: func(_ context.Context, stdout, _ io.Writer) (int, error) {
			text, err := command.ReadSecret(argument, os.Stdin)
			if err != nil {
				return command.ExitError, err
			}
			join, err := identity.ParseJoin(text)
			if err == nil {
				err = writeUCI(join)
			}
			if err != nil {
				return command.ExitError, err
			}
			fmt.Fprintf(stdout, "%s: controller %s, enrolment at %s, with its token.\n"+
				"Now: service airbound-ap restart\nA device that has a certificate keeps it.\n",
				uciFile, join.Controller, join.Enrolment)
			return command.ExitOK, nil
		},
	}
}

// writeUCI has `uci` write. The token goes by its standard input, which no other user sees.
func writeUCI(join identity.Join) error {
	if _, err := os.Stat(uciProgram); err != nil {
		return fmt.Errorf("this is no OpenWrt (%w): start the agent with --controller %s --enroll %s "+
			"--token-file FILE, a file with what follows the last colon of the string",
			err, join.Controller, join.Enrolment)
	}
	if kind, err := uci("", "get", "airbound.main"); err != nil || kind != "airbound" {
		return fmt.Errorf("%s has no section main of type airbound: install the package airbound-ap again", uciFile)
	}
	said, err := uci(uciBatch(join), "batch")
	if err != nil {
		return fmt.Errorf("uci: %w: %s", err, said)
	}
	// What a batch could not do is no error of it (uci's cli.c).
	if written, err := uci("", "get", "airbound.main.token"); err != nil || written != join.Token.Secret() {
		return fmt.Errorf("uci has not written %s: %s", uciFile, said)
	}
	return nil
}

// uciBatch is what `uci batch` is to do. ParseJoin lets no value pass that has a quotation mark or a space.
func uciBatch(join identity.Join) string {
	return strings.Join([]string{
		"delete airbound.main.controller", "delete airbound.main.enroll", "delete airbound.main.token_file",
		"delete airbound.main.plain_text",
		fmt.Sprintf("add_list airbound.main.controller='%s'", join.Controller),
		fmt.Sprintf("add_list airbound.main.enroll='%s'", join.Enrolment),
		fmt.Sprintf("set airbound.main.token='%s'", join.Token.Secret()),
		"set airbound.main.enabled='1'", "commit airbound", "",
	}, "\n")
}
