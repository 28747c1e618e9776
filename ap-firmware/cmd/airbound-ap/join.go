// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
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

// writeUCI has `uci` write all or nothing.
func writeUCI(join identity.Join) error {
	if _, err := os.Stat(uciProgram); err != nil {
		return fmt.Errorf("this is no OpenWrt (%w): start the agent with --controller %s --enroll %s "+
			"--token-file FILE, a file with what follows the last colon of the string",
			err, join.Controller, join.Enrolment)
	}
	present, err := showUCI()
	if err != nil {
		return err
	}
	// A commit would take these with it.
	waiting, err := uci("", "changes", "airbound")
	if err != nil {
		return err
	}
	if waiting != "" {
		return fmt.Errorf("changes of %s are not committed, of %s: `uci commit airbound` or "+
			"`uci revert airbound` first", uciFile, strings.Join(changedOptions(waiting), ", "))
	}
	for _, step := range joinSteps(join, present) {
		if err := uciStep(step); err != nil {
			return reverted(err)
		}
	}
	return nil
}

// changedOptions are the names of what `uci changes` lists: a value may be a secret.
func changedOptions(changes string) (names []string) {
	for line := range strings.Lines(changes) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "=")
		names = append(names, strings.TrimRight(strings.TrimPrefix(name, "-"), "+-"))
	}
	return names
}

// joinSteps are lines for `uci batch`. ParseJoin lets no value pass that has a quotation mark or a space.
func joinSteps(join identity.Join, present uciOptions) (steps []string) {
	for _, option := range []string{"controller", "enroll", "token_file", "plain_text"} {
		if _, is := present[option]; is {
			steps = append(steps, "delete airbound.main."+option)
		}
	}
	return append(steps,
		fmt.Sprintf("add_list airbound.main.controller='%s'", join.Controller),
		fmt.Sprintf("add_list airbound.main.enroll='%s'", join.Enrolment),
		fmt.Sprintf("set airbound.main.token='%s'", join.Token.Secret()),
		"set airbound.main.enabled='1'", "commit airbound")
}

// uciStep does one step. A batch of it has the token in its standard input, which no other user sees. A batch's exit
// code is 0 whatever fails, so the error is what uci prints (uci's cli.c).
func uciStep(step string) error {
	printed, err := uci(step+"\n", "batch")
	if err == nil && printed != "" {
		err = errors.New(printed)
	}
	if err != nil {
		what, _, _ := strings.Cut(step, "=") // The value may be the token.
		return fmt.Errorf("uci %s: %w", what, err)
	}
	return nil
}

// reverted removes the steps before one that failed: the next `uci commit`, whoever runs it, would take them with it.
func reverted(failed error) error {
	if err := uciStep("revert airbound"); err != nil {
		return fmt.Errorf("%w; the steps before it are still staged: %w", failed, err)
	}
	return fmt.Errorf("%w; %s is as before", failed, uciFile)
}
