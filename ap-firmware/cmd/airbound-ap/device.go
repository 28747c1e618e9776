// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"

	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/identity"
)

// openDevice returns the access point's certificate; nil with --plain-text. save gets its status; what it returns is
// logged.
func openDevice(
	options runOptions, save func(identity.Status) error, logger *slog.Logger,
) (*credentials.Device, error) {
	security := options.security
	if security.PlainText {
		logger.Warn("connecting in plain text: anybody on the way can set EDCA parameters")
		if err := save(identity.Status{PlainText: true}); err != nil {
			logger.Warn("cannot write the status of the certificate", "error", err)
		}
		return nil, nil //nolint:nilnil // no device is an answer
	}
	return credentials.Open(credentials.Config{
		Directory: security.Directory, Role: identity.RoleAccessPoint,
		Token: security.Token, TokenFile: security.TokenFile,
		Controllers: options.controller.Addresses, Enrolment: security.Enrolment, SaveStatus: save, Logger: logger,
	})
}
