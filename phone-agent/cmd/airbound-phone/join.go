// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/internal/identity"
)

// joinCommand does not start the agent: how that is done is the system's.
func joinCommand() command.Command {
	var argument, config string
	return command.Command{
		Name:    "join",
		Summary: "write controller and token into the configuration, from the string of `airbound enroll`",
		Notes: "Other settings stay. Settings of other controllers and tokens go. The token is a secret until the\n" +
			"agent has enrolled: other users of this machine can see an argument, but not standard input.",
		Examples: []string{
			"airbound-phone join airbound1:controller.example:50051:50053:TOKEN",
			"airbound-phone join --config /data/adb/airbound/airbound.conf -",
		},
		Argument: &argument, ArgumentName: "STRING|-",
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&config, command.ConfigFlag, defaultConfigFile,
				"`FILE` of the configuration, made if there is none")
		},
		Check: func() error {
			if config == "" {
				return errors.New("--config is missing")
			}
			return nil
		},
		Run: func(_ context.Context, stdout, _ io.Writer) (int, error) {
			join, err := readJoin(argument, os.Stdin)
			if err == nil {
				err = writeJoin(config, join)
			}
			if err != nil {
				return command.ExitError, err
			}
			fmt.Fprintf(stdout, "%s: controller %s, enrolment at %s, with its token.\n"+
				"Start the agent, or start it again. A device that has a certificate keeps it.\n",
				config, join.Controller, join.Enrolment)
			return command.ExitOK, nil
		},
	}
}

func readJoin(argument string, stdin io.Reader) (identity.Join, error) {
	text, err := command.ReadSecret(argument, stdin)
	if err != nil {
		return identity.Join{}, err
	}
	return identity.ParseJoin(text)
}

func writeJoin(config string, join identity.Join) error {
	settings := []command.Setting{
		{Key: "controller", Value: join.Controller},
		{Key: "enroll", Value: join.Enrolment},
		{Key: "token", Value: join.Token.Secret()},
	}
	replaced := []string{"controller", "enroll", "token", "token-file", "plain-text"}
	return command.EditFile(config, replaced, settings)
}
