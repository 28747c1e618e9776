// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"

	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/identity"
)

// openDevice returns the access point's certificate; nil with --plain-text. Without a state directory it has no status.
func openDevice(options runOptions, state agentState, logger *slog.Logger) (*credentials.Device, error) {
	save := state.directory.SaveCredentials
	if state.unusable {
		save = nil
	}
	security := options.security
	if security.PlainText {
		logger.Warn("connecting in plain text: anybody on the way can set EDCA parameters")
		if save != nil {
			if err := save(identity.Status{PlainText: true}); err != nil {
				logger.Warn("cannot write the status of the certificate", "error", err)
			}
		}
		return nil, nil //nolint:nilnil // no device is an answer
	}
	return credentials.Open(credentials.Config{
		Directory: security.Directory, Role: identity.RoleAccessPoint,
		Token: security.Token, TokenFile: security.TokenFile,
		Controllers: options.controller.Addresses, Enrolment: security.Enrolment, SaveStatus: save, Logger: logger,
	})
}
